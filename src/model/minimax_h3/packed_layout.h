// Owns: PackedLayout, which row of MiniMax-H3's packed sequence is what: kind, timestep and
// position of each row, and where the rows of each operand lie; and the layout of a request. Must
// not own: the rows. A plain value, free of torch. Source: models.md 4.3.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace dlo::model {

// A row's kind, as the modulation tables count them.
enum class H3Modality : std::uint8_t { kVideo, kText, kAudio };

// Vectors "by row" have one entry a row of the sequence; positions have three.
struct PackedLayout {
  std::vector<std::int64_t> timestep_indices;  // by row: into the timesteps of a forward
  std::vector<std::int64_t> tags;              // by row: H3Modality
  std::vector<float> positions;                // by row: frame, row and column
  // Rows of each operand in its own order.
  std::vector<std::int64_t> video_rows;
  std::vector<std::int64_t> audio_rows;
  std::vector<std::int64_t> text_rows;

  [[nodiscard]] std::int64_t row_count() const { return static_cast<std::int64_t>(tags.size()); }
  friend bool operator==(const PackedLayout&, const PackedLayout&) = default;
};

// Which timestep of a forward belongs to whom.
struct H3Times {
  static constexpr std::int64_t kVideo = 0;  // text too
  static constexpr std::int64_t kAudio = 1;
  static constexpr std::int64_t kConditioning = 2;
  static constexpr std::int64_t kCount = 3;
};

struct PackedRequest {
  std::int64_t text_rows = 0;
  std::array<std::int64_t, 2> conditioning_grid =
      {};  // rows and columns of one frame; may be empty
  std::int64_t audio_rows = 0;
  std::array<std::int64_t, 3> video_grid = {};  // patches along frames, height and width
};

// Text, conditioning frame, audio, video, in this order; video rows are the conditioning frame's,
// then the video's. Text counts frames from 0; conditioning and audio begin where it ends, audio at
// two rows a frame; the video begins one frame later.
[[nodiscard]] std::shared_ptr<const PackedLayout> make_packed_layout(const PackedRequest& request);

}  // namespace dlo::model
