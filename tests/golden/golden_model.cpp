#include "tests/golden/golden_model.h"

#include <ATen/core/Tensor.h>

#include <cstring>

#include "base/error.h"
#include "contracts/copy_recipe.h"
#include "host_weights/dtype_conversion.h"

namespace dlo::golden {

namespace {

// Fills a tensor from the checkpoint by its recipe, or under its own name without the component's
// prefix.
class CheckpointValues {
 public:
  CheckpointValues(const host_weights::ComponentCheckpoint& checkpoint,
                   const contracts::DitSpec& dit, const std::string& component)
      : checkpoint_(checkpoint), dit_(dit), component_(component) {}

  void operator()(const contracts::TensorSpec& spec, ByteSpan out) const {
    const auto found = dit_.loading.recipes.find(spec.name);
    const auto recipe =
        found != dit_.loading.recipes.end()
            ? found->second
            : contracts::CopyRecipe::identity(spec.name.substr(component_.size() + 1), spec.shape);
    check(contracts::check_recipe(recipe, spec.shape));
    for (const auto& copy : recipe.copies) {
      const auto view = checkpoint_.view(copy.source_key);
      check(view.ok() ? Status{} : Status{view.refusal()});
      std::vector<std::byte> converted(tensor_bytes(view->shape, spec.dtype).value());
      host_weights::convert_elements(view->bytes, view->dtype, ByteSpan(converted), spec.dtype,
                                     element_count(view->shape).value());
      const TensorView source{spec.dtype, view->shape, ConstByteSpan(converted)};
      check(contracts::execute_copy(copy, source, spec.shape, spec.dtype, out));
    }
  }

 private:
  static void check(const Status& status) {
    if (!status.ok()) {
      throw RunError(status.refusal());
    }
  }

  const host_weights::ComponentCheckpoint& checkpoint_;
  const contracts::DitSpec& dit_;
  const std::string& component_;
};

std::vector<const contracts::DitSpec*> rings(const model::DitModel& model) {
  std::vector<const contracts::DitSpec*> all = {&model.spec()};
  const auto children = model.child_rings();
  all.insert(all.end(), children.begin(), children.end());
  return all;
}

}  // namespace

GoldenOperand::GoldenOperand(platform::Device& device, const Shape& shape) {
  const auto bytes = tensor_bytes(shape, DType::kF32);
  require(bytes.has_value(), "an operand has an impossible shape");
  buffer_ = device.allocate_device(*bytes, platform::MemoryPurpose::kOther).value();
  tensor_ = {buffer_->span(), DType::kF32, shape};
}

GoldenOperand::GoldenOperand(platform::Device& device, const GoldenTensor& value)
    : GoldenOperand(device, value.shape) {
  std::memcpy(tensor_.span.data, value.values.data(), value.values.size() * sizeof(float));
}

GoldenTensor GoldenOperand::value() const {
  GoldenTensor out{tensor_.shape, std::vector<float>(element_count(tensor_.shape).value())};
  std::memcpy(out.values.data(), tensor_.span.data, out.values.size() * sizeof(float));
  return out;
}

void CollectingTap::see(std::string_view name, const at::Tensor& tensor) {
  const at::Tensor contiguous = tensor.to(at::kFloat).contiguous();
  GoldenTensor value{contiguous.sizes().vec(), {}};
  const float* data = contiguous.const_data_ptr<float>();
  value.values.assign(data, data + contiguous.numel());
  out_.insert_or_assign(prefix_ + std::string(name), std::move(value));
}

GoldenTensor row(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return GoldenTensor{{count}, std::move(values)};
}

void require_success(platform::Device& device) {
  if (const auto failure = device.failure()) {
    throw RunError(*failure);
  }
}

Result<std::unique_ptr<GoldenModel>> GoldenModel::open(const platform::FileSystem& files,
                                                       platform::Device& device,
                                                       const platform::Path& component,
                                                       MakeModel make,
                                                       const model::ModelOptions& options) {
  const auto checkpoint = host_weights::ComponentCheckpoint::open(files, component);
  if (!checkpoint.ok()) {
    return checkpoint.refusal();
  }
  auto made = make(read_json(files, component / "config.json"), options);
  if (!made.ok()) {
    return made.refusal();
  }
  std::unique_ptr<GoldenModel> golden(new GoldenModel());
  golden->model_ = std::move(made).value();
  for (const auto* ring : rings(*golden->model_)) {
    golden->weights_.push_back(std::make_unique<test::ResidentWeights>(
        device, *ring, CheckpointValues(*checkpoint, *ring, options.component)));
  }
  return golden;
}

contracts::ParameterTable GoldenModel::table() const {
  contracts::ParameterTable table;
  for (const auto* ring : rings(*model_)) {
    table.dits.push_back(*ring);
  }
  contracts::check_table(table);
  return table;
}

ByteSpan GoldenModel::bytes(const std::string& name) const {
  const auto all = rings(*model_);
  for (std::size_t ring = 0; ring < all.size(); ++ring) {
    contracts::ParameterTable table;
    table.dits.push_back(*all[ring]);
    for (const auto* spec : table.tensors()) {
      if (spec->name == name) {
        return weights_[ring]->bytes(name);
      }
    }
  }
  throw LogicError("the model has no tensor '" + name + "'");
}

}  // namespace dlo::golden
