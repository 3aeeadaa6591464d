#include "model/minimax_h3/h3_transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/silu.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "model/config_fields.h"
#include "model/minimax_h3/h3_parameters.h"
#include "model/torch_task.h"

namespace dlo::model {

namespace {

// The class knows no limit on positions; 2^16 a side are far above any video.
constexpr std::int64_t kMostPositions = 1LL << 16U;

// Positions of a layer's weight in the table of the children outside the blocks; its bias follows.
enum : std::size_t {
  kVideoIn = 0,
  kAudioIn = 2,
  kTextIn = 4,
  kTimeIn = 6,
  kTimeOut = 8,
  kFinalNorm = 10,
  kFinalModulation = 11,
  kVideoOut = 13,
  kAudioOut = 15,
  kInverseFrequencies = 17,
};

DitGeometry geometry_of(const H3Config& config) {
  DitGeometry geometry;
  geometry.in_channels = config.video_channels();
  geometry.out_channels = config.video_channels();
  geometry.text_dim = config.text_dim;
  geometry.patch_size = config.patch_size;
  geometry.max_positions = kMostPositions;
  geometry.audio_channels = config.audio_channels;
  return geometry;
}

// A layer that computes in its weights' dtype where these are wider than the arithmetic: the fp32
// edges of a bf16 model.
at::Tensor edge_layer(const at::Tensor& input, const LinearWeights& weights,
                      at::ScalarType compute_dtype) {
  const bool wide = compute_dtype == at::kFloat || weights.weight.scalar_type() == at::kFloat;
  return linear(as_dtype(input, wide ? at::kFloat : compute_dtype), weights);
}

template <typename Value>
at::Tensor moved(const std::vector<Value>& values, at::ScalarType dtype, ComputeDevice device) {
  const auto count = static_cast<std::int64_t>(values.size());
  // The driver has read pageable memory when the copy returns, and torch only reads through this.
  const at::Tensor host =
      at::from_blob(const_cast<Value*>(values.data()), {count}, at::TensorOptions().dtype(dtype));
  return host.to(torch_device(device), dtype, /*non_blocking=*/true, /*copy=*/true);
}

RunError bad_layout(const std::string& what) {
  return RunError(refuse(codes::kShapeMismatch, what, "layout of a forward",
                         "make the layout with make_packed_layout() for these operands"));
}

}  // namespace

H3Transformer::H3Transformer(const H3Config& config, const ModelOptions& options)
    : config_(config),
      device_(options.device),
      compute_dtype_(scalar_type(options.compute_dtype)),
      attention_{options.attention, options.attention_query_chunk},
      geometry_(geometry_of(config)),
      ring_(describe_h3(config, options), options.device),
      refiner_ring_(describe_h3_refiner(config, options), options.device),
      sequence_(options.ring, ring_.blocks()),
      refiner_sequence_(options.ring + 1, refiner_ring_.blocks()),
      refiner_(*this) {
  label_.site = platform::Site::kModel;
  label_.ring = options.ring;
}

void H3Transformer::set_observer(contracts::BlockObserver* observer) {
  sequence_.set_observer(observer);
}

std::vector<const contracts::DitSpec*> H3Transformer::child_rings() const {
  return {&refiner_ring_.spec()};
}

void H3Transformer::set_child_observer(std::size_t child, contracts::BlockObserver* observer) {
  require(child == 0, "the token refiner is the only child ring");
  refiner_sequence_.set_observer(observer);
}

void H3Transformer::check_call(const DitCall& call) const {
  if (call.layout == nullptr) {
    throw bad_layout("a forward has no packed layout");
  }
  const auto& layout = *call.layout;
  const auto rows = [](const std::vector<std::int64_t>& of) {
    return static_cast<std::int64_t>(of.size());
  };
  const std::int64_t total = layout.row_count();
  if (rows(layout.timestep_indices) != total ||
      static_cast<std::int64_t>(layout.positions.size()) != 3 * total ||
      rows(layout.video_rows) + rows(layout.audio_rows) + rows(layout.text_rows) != total) {
    throw bad_layout(fmt::format("the parts of a layout of {} rows do not agree", total));
  }
  check_rank("timestep", call.timestep, 1);
  const auto latest =
      std::max_element(layout.timestep_indices.begin(), layout.timestep_indices.end());
  if (latest == layout.timestep_indices.end() || *latest >= call.timestep.shape[0]) {
    throw bad_layout("a row has a timestep that the forward does not have");
  }
  const std::int64_t video = rows(layout.video_rows);
  const std::int64_t audio = rows(layout.audio_rows);
  check_operand("timestep", call.timestep, call.timestep.shape);
  check_operand("latents", call.latents, {1, video, config_.video_channels()});
  check_operand("output", call.output, {1, video, config_.video_channels()});
  check_operand("audio", call.audio, {1, audio, config_.audio_channels});
  check_operand("audio_output", call.audio_output, {1, audio, config_.audio_channels});
  check_operand("text_states", call.text_states, {1, rows(layout.text_rows), config_.text_dim});
}

template <typename Work>
void H3Transformer::launch(platform::Device& device, Work work) {
  device.launch(
      platform::StreamKind::kCompute,
      [this, work = std::move(work)] { run_torch_task(label_, work); }, label_);
}

void H3Transformer::forward(platform::Device& device, DitCall& call) {
  require(compute_device(device) == device_,
          "a forward was asked of another device than the model's weights are on");
  check_call(call);
  const BlockViewsRef edges = ring_.edges();
  const BlockViewsRef refiner_edges = refiner_ring_.edges();
  launch(device, [this, &call, edges] { embed_text(*edges, call); });
  refiner_sequence_.run(device, refiner_, call);
  launch(device, [this, &call, edges, refiner_edges] { pack(*edges, *refiner_edges, call); });
  sequence_.run(device, *this, call);
  launch(device, [this, &call, edges] {
    write_output(*edges, call);
    state_ = ForwardState{};
  });
}

void H3Transformer::embed_text(const BlockViews& edges, const DitCall& call) {
  state_.layout = &on_device(call.layout);
  state_.text = linear(as_dtype(as_torch(call.text_states, device_), compute_dtype_),
                       pair_at(edges, kTextIn));
  TapView(call.tap).see("text_embeds", state_.text);
}

void H3Transformer::Refiner::compute_block(std::uint32_t block, const BlockViews& views,
                                           DitCall& call) {
  auto& text = owner_.state_.text;
  text = h3_refiner_block(owner_.config_, owner_.attention_, views, text);
  TapView(call.tap).see(fmt::format("refiner.{}", block), text);
}

void H3Transformer::pack(const BlockViews& edges, const BlockViews& refiner_edges,
                         const DitCall& call) {
  const TapView tap(call.tap);
  const at::Tensor text = rms_norm(state_.text, refiner_edges.tensors[0], config_.final_norm_eps);
  tap.see("refiner", text);
  const auto input = [&](const char* name, const DeviceTensor& tensor, std::size_t index) {
    const at::Tensor rows =
        edge_layer(as_torch(tensor, device_), pair_at(edges, index), compute_dtype_);
    tap.see(name, rows);
    return as_dtype(rows, compute_dtype_);
  };
  const at::Tensor video = input("video_embeds", call.latents, kVideoIn);
  const at::Tensor audio = input("audio_embeds", call.audio, kAudioIn);
  const auto& layout = *state_.layout;
  state_.hidden = at::empty({1, layout.table_rows.size(0), config_.hidden_size}, text.options());
  state_.hidden.index_copy_(1, layout.text_rows, text);
  state_.hidden.index_copy_(1, layout.video_rows, video);
  state_.hidden.index_copy_(1, layout.audio_rows, audio);
  state_.text.reset();
  tap.see("packed", state_.hidden);
  embed_time(edges, call);
  make_rope(edges.tensors[kInverseFrequencies], tap);
  state_.conditioning.table_rows = layout.table_rows;
}

void H3Transformer::embed_time(const BlockViews& edges, const DitCall& call) {
  const TapView tap(call.tap);
  const at::Tensor sinusoid = timestep_sinusoid(as_torch(call.timestep, device_), config_.freq_dim);
  tap.see("timestep_sinusoid", sinusoid);
  const at::Tensor inner = at::silu(edge_layer(sinusoid, pair_at(edges, kTimeIn), compute_dtype_));
  const at::Tensor embedding = edge_layer(inner, pair_at(edges, kTimeOut), compute_dtype_);
  tap.see("temb", embedding);
  // The activation at the embedder's precision; only its result is rounded.
  state_.conditioning.embedding = as_dtype(at::silu(embedding), compute_dtype_);
}

void H3Transformer::make_rope(const at::Tensor& inverse_frequencies, const TapView& tap) {
  // [rows, 3, frequencies]: the axes one after the other.
  const at::Tensor angles =
      (state_.layout->positions.unsqueeze(-1) * widen(inverse_frequencies)).flatten(1);
  state_.conditioning.rope = {angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)};
  if (tap.watched()) {
    const auto halves = [](const at::Tensor& table) {
      return at::cat({table.squeeze(1), table.squeeze(1)}, -1);
    };
    tap.see("rope.cos", halves(state_.conditioning.rope.cos));
    tap.see("rope.sin", halves(state_.conditioning.rope.sin));
  }
}

void H3Transformer::compute_block(std::uint32_t block, const BlockViews& views, DitCall& call) {
  state_.hidden = h3_block(config_, attention_, views, state_.conditioning, state_.hidden,
                           TapView(call.tap, fmt::format("block.{}", block)));
}

void H3Transformer::write_output(const BlockViews& edges, const DitCall& call) {
  const TapView tap(call.tap);
  tap.see("before_final_norm", state_.hidden);
  const auto& layout = *state_.layout;
  const std::vector<at::Tensor> table =
      linear(state_.conditioning.embedding, pair_at(edges, kFinalModulation)).chunk(2, -1);
  const auto of_rows = [&](std::size_t part) {
    return at::index_select(table[part], 0, layout.timestep_indices);
  };
  // Shift, then scale.
  const at::Tensor normed =
      rms_norm(state_.hidden, edges.tensors[kFinalNorm], config_.final_norm_eps) *
          (of_rows(1) + 1.0) +
      of_rows(0);
  tap.see("after_final_norm", normed);
  const auto write = [&](const char* name, const DeviceTensor& out, const at::Tensor& rows,
                         std::size_t index) {
    const at::Tensor sample =
        edge_layer(at::index_select(normed, 1, rows), pair_at(edges, index), compute_dtype_);
    as_torch(out, device_).copy_(sample);
    tap.see(name, sample);
  };
  write("sample", call.output, layout.video_rows, kVideoOut);
  write("audio_sample", call.audio_output, layout.audio_rows, kAudioOut);
}

const H3Transformer::DeviceLayout& H3Transformer::on_device(
    const std::shared_ptr<const PackedLayout>& layout) {
  auto found = layouts_.find(layout);
  if (found == layouts_.end()) {
    std::vector<std::int64_t> table_rows;
    for (std::size_t row = 0; row < layout->tags.size(); ++row) {
      table_rows.push_back(layout->timestep_indices[row] * kH3Modalities + layout->tags[row]);
    }
    const auto indices = [this](const std::vector<std::int64_t>& values) {
      return moved(values, at::kLong, device_);
    };
    DeviceLayout made{indices(layout->timestep_indices),
                      indices(table_rows),
                      indices(layout->video_rows),
                      indices(layout->audio_rows),
                      indices(layout->text_rows),
                      moved(layout->positions, at::kFloat, device_).view({-1, 3})};
    found = layouts_.emplace(layout, std::move(made)).first;
  }
  return found->second;
}

Result<std::unique_ptr<DitModel>> make_h3(const nlohmann::json& config,
                                          const ModelOptions& options) {
  if (const auto status = check_model_options(options); !status) {
    return status.refusal();
  }
  const Result<H3Config> parsed = parse_h3_config(config);
  if (!parsed.ok()) {
    return parsed.refusal();
  }
  return std::unique_ptr<DitModel>(std::make_unique<H3Transformer>(*parsed, options));
}

}  // namespace dlo::model
