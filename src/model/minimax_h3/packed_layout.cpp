#include "model/minimax_h3/packed_layout.h"

namespace dlo::model {

namespace {

constexpr float kAudioStep = 0.5F;

class LayoutWriter {
 public:
  // Appends one row and returns its place.
  std::int64_t row(H3Modality kind, std::int64_t time, std::array<float, 3> position) {
    layout.tags.push_back(static_cast<std::int64_t>(kind));
    layout.timestep_indices.push_back(time);
    layout.positions.insert(layout.positions.end(), position.begin(), position.end());
    return layout.row_count() - 1;
  }

  void frame(float frame, std::int64_t rows, std::int64_t columns, std::int64_t time) {
    for (std::int64_t y = 0; y < rows; ++y) {
      for (std::int64_t x = 0; x < columns; ++x) {
        layout.video_rows.push_back(
            row(H3Modality::kVideo, time, {frame, static_cast<float>(y), static_cast<float>(x)}));
      }
    }
  }

  PackedLayout layout;
};

}  // namespace

std::shared_ptr<const PackedLayout> make_packed_layout(const PackedRequest& request) {
  LayoutWriter writer;
  for (std::int64_t i = 0; i < request.text_rows; ++i) {
    writer.layout.text_rows.push_back(
        writer.row(H3Modality::kText, H3Times::kVideo, {static_cast<float>(i), 0.0F, 0.0F}));
  }
  const auto start = static_cast<float>(request.text_rows);
  writer.frame(start, request.conditioning_grid[0], request.conditioning_grid[1],
               H3Times::kConditioning);
  for (std::int64_t i = 0; i < request.audio_rows; ++i) {
    const float position = start + kAudioStep * static_cast<float>(i);
    writer.layout.audio_rows.push_back(
        writer.row(H3Modality::kAudio, H3Times::kAudio, {position, 0.0F, 0.0F}));
  }
  for (std::int64_t i = 0; i < request.video_grid[0]; ++i) {
    writer.frame(start + 1.0F + static_cast<float>(i), request.video_grid[1], request.video_grid[2],
                 H3Times::kVideo);
  }
  return std::make_shared<const PackedLayout>(std::move(writer.layout));
}

}  // namespace dlo::model
