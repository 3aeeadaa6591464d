// Goal: the loader's steps run once each in the stated order, a plan skips exactly the DiTs'
// sources, whatever changes a tensor is seen by everything after it, and every failure ends the
// load. Method: small pipelines in memory; hooks that write down when they are called.
#include "host_weights/weight_loader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/failure_signal.h"
#include "host_weights/plan_consumer.h"
#include "host_weights/preflight.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "tests/unit/host_weights/mapping/mapping_fixtures.h"

namespace dlo::host_weights {
namespace {

using test::DitSpec;
using test::kNorm;
using Events = std::vector<std::string>;

// A T5 encoder of one block, as UMT5's checkpoints name it.
std::vector<contracts::TensorSpec> shallow_umt5() {
  const std::string attention = "text_encoder.encoder.block.0.layer.0.";
  const std::string feed_forward = "text_encoder.encoder.block.0.layer.1.";
  return {
      test::spec("text_encoder.shared.weight", {8, 4}, DType::kF32),
      test::spec(attention + "SelfAttention.q.weight", {4, 4}, DType::kF32),
      test::spec(attention + "SelfAttention.relative_attention_bias.weight", {3, 2}, DType::kF32),
      test::spec(attention + "layer_norm.weight", {4}, DType::kF32),
      test::spec(feed_forward + "DenseReluDense.wi_0.weight", {6, 4}, DType::kF32),
      test::spec("text_encoder.encoder.final_layer_norm.weight", {4}, DType::kF32)};
}

class WeightLoaderTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_sharded(files_, "/m/transformer", test::stored_as_it_runs(dit_));
    std::vector<test::StoredTensor> encoder;
    for (const auto& tensor : umt5_) {
      encoder.push_back(test::drawn_tensor(tensor.name.substr(std::string("text_encoder.").size()),
                                           tensor.dtype, tensor.shape));
      request_.others.push_back(&tensor);
    }
    test_support::write_safetensors(files_, "/m/text_encoder/model.safetensors", encoder);
    request_.dits = {&dit_};
    request_.sources = {{"/m", "transformer", "transformer.", {}},
                        {"/m", "text_encoder", "text_encoder.", {}}};
    request_.hooks = noting_hooks();
  }
  LoadHooks noting_hooks() {
    const auto note = [this](const char* name) {
      return [this, name](EditableTensors&) {
        calls_.emplace_back(name);
        return Status{};
      };
    };
    return {note("callbacks"), note("post_load"), note("validate"), note("calibrate"),
            [this] { calls_.emplace_back("eval"); }};
  }
  Result<WeightLoadResult> load() { return load_weights(files_, *device_, executor_, request_); }
  Result<std::unique_ptr<MappedTensors>> consume(WeightLoadResult& loaded) {
    return consume_plan(files_, *device_, loaded.plan.take(),
                        {request_.dits, nullptr, request_.hooks}, loaded.events);
  }

  const DitSpec dit_ = test::grouped_dit();
  const std::vector<contracts::TensorSpec> umt5_ = shallow_umt5();
  test::MemoryFileSystem files_;
  platform::ThreadExecutor executor_{2};
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<platform::Device> device_ = platform::make_cpu_device({}, clock_, *signal_);
  WeightLoadRequest request_;
  Events calls_;
};

TEST_F(WeightLoaderTest, WithoutOffload_EveryStepRunsInOrderAndNobodyAsksThePreflight) {
  request_.offload = false;
  const auto loaded = load();
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_EQ(calls_, (Events{"callbacks", "post_load", "validate", "calibrate", "eval"}));
  EXPECT_EQ(loaded->events,
            (Events{"load", "callbacks", "post_load", "validate", "calibrate", "eval"}));
  EXPECT_FALSE(loaded->fallback.has_value());
  EXPECT_FALSE(loaded->plan.holds_plan());
}

TEST_F(WeightLoaderTest, Plan_SkipsTheTransformersSourceAlone) {
  auto loaded = load();
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_EQ(loaded->events, (Events{"preflight: planned", "load"}));
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(loaded->report.tensor_count, umt5_.size());
  EXPECT_TRUE(loaded->tensors->holds("text_encoder.shared.weight"));
  EXPECT_FALSE(loaded->tensors->holds(kNorm));
  const auto mapped = consume(*loaded);
  ASSERT_TRUE(mapped.ok()) << mapped.refusal().message();
  EXPECT_EQ(calls_, (Events{"post_load", "validate", "calibrate", "eval"}));
  EXPECT_EQ(loaded->events, (Events{"preflight: planned", "load", "map", "post_load", "validate",
                                    "calibrate", "eval"}));
  EXPECT_TRUE((*mapped)->holds(kNorm));
}

TEST_F(WeightLoaderTest, PlanTakenTwice_IsAProgrammersError) {
  auto loaded = load();
  ASSERT_TRUE(consume(*loaded).ok());
  EXPECT_THROW(static_cast<void>(loaded->plan.take()), LogicError);
}

TEST_F(WeightLoaderTest, EncoderOutsideThePlan_StillCountsInStrictCoverage) {
  const auto unfilled = test::spec("text_encoder.missing.weight", {1}, DType::kF32);
  request_.others.push_back(&unfilled);
  const auto loaded = load();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.refusal().code, codes::kMissingTensor);
  EXPECT_NE(loaded.refusal().what.find("text_encoder.missing.weight"), std::string::npos);
}

TEST_F(WeightLoaderTest, PreflightSaysNo_TheReasonIsReportedAndEverythingIsLoaded) {
  request_.tensor_parallel_size = 2;
  const auto loaded = load();
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  ASSERT_TRUE(loaded->fallback.has_value());
  EXPECT_EQ(loaded->fallback->code, codes::kUnsupportedTp);
  EXPECT_EQ(loaded->events.front(), "preflight: unsupported_tp: TP=2 requires the ordinary loader");
  EXPECT_TRUE(loaded->tensors->holds(kNorm));
  EXPECT_EQ(calls_.size(), 5U);
}

TEST_F(WeightLoaderTest, MappingSwitchedOff_IsWhatWasAskedForAndNoFallback) {
  request_.map_checkpoint = false;
  const auto loaded = load();
  ASSERT_TRUE(loaded.ok());
  EXPECT_FALSE(loaded->fallback.has_value());
  EXPECT_EQ(loaded->events.front(), "preflight: not asked");
  EXPECT_TRUE(loaded->tensors->holds(kNorm));
}

TEST_F(WeightLoaderTest, CalibrationThatChangesOneTensor_IsSeenAfterwardsOnBothWays) {
  for (const bool map : {true, false}) {
    request_.map_checkpoint = map;
    request_.hooks.calibrate = [](EditableTensors& tensors) {
      const auto bytes = tensors.edit(kNorm);
      std::fill(bytes->begin(), bytes->end(), std::byte{0x40});
      return Status{};
    };
    auto loaded = load();
    ASSERT_TRUE(loaded.ok());
    std::unique_ptr<EditableTensors> tensors;
    if (map) {
      tensors = std::move(consume(*loaded)).value();
      EXPECT_EQ(tensors->held_bytes(), tensors->view(kNorm).bytes.size());
    } else {
      tensors = std::move(loaded->tensors);
    }
    tensors->for_each_run(kNorm, [](std::uint64_t, ConstByteSpan run) {
      EXPECT_TRUE(std::all_of(run.begin(), run.end(),
                              [](std::byte byte) { return byte == std::byte{0x40}; }));
    });
  }
}

// Bug case PL-6: a post-load hook casts one tensor; the cast holds on both ways.
TEST_F(WeightLoaderTest, PostLoadCast_IsHonouredOnce) {
  const std::string qkv = "transformer.blocks.0.attn.qkv_proj.weight";
  std::vector<std::vector<std::byte>> results;
  for (const bool map : {true, false}) {
    int runs = 0;
    request_.map_checkpoint = map;
    request_.hooks.post_load = [&](EditableTensors& tensors) {
      ++runs;
      return tensors.recast(qkv, DType::kF32);
    };
    auto loaded = load();
    ASSERT_TRUE(loaded.ok());
    std::unique_ptr<EditableTensors> tensors;
    if (map) {
      tensors = std::move(consume(*loaded)).value();
    } else {
      tensors = std::move(loaded->tensors);
    }
    EXPECT_EQ(runs, 1);
    const auto view = tensors->view(qkv);
    EXPECT_EQ(view.dtype, DType::kF32);
    results.emplace_back(view.bytes.begin(), view.bytes.end());
  }
  // The deferred reorder went into the cast tensor, as it does into the loaded one.
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(WeightLoaderTest, FailingStep_EndsTheLoadThere) {
  for (const bool map : {true, false}) {
    calls_.clear();
    request_.map_checkpoint = map;
    request_.hooks = noting_hooks();
    request_.hooks.validate = [](EditableTensors&) {
      return Status(refuse(codes::kCheckpointInvalid, "a weight is NaN", "test", "none"));
    };
    auto loaded = load();
    const auto refusal = map ? consume(*loaded).refusal() : loaded.refusal();
    EXPECT_EQ(refusal.code, codes::kCheckpointInvalid);
    EXPECT_EQ(std::count(calls_.begin(), calls_.end(), "calibrate"), 0);
    EXPECT_EQ(device_->pageable_memory().now_bytes, map ? loaded->tensors->held_bytes() : 0U);
  }
}

TEST_F(WeightLoaderTest, PlanWhoseFileIsGone_IsAStartUpError) {
  auto loaded = load();
  ASSERT_TRUE(loaded.ok());
  ASSERT_TRUE(files_.remove_file("/m/transformer/model-00001-of-00002.safetensors").ok());
  EXPECT_EQ(consume(*loaded).refusal().code, codes::kFileNotFound);
}

TEST_F(WeightLoaderTest, PlanOfAnotherModel_NamesWhatHasNoBytes) {
  auto loaded = load();
  DitSpec larger = test::grouped_dit();
  for (int i = 0; i < 7; ++i) {
    larger.non_block.tensors.push_back(
        test::spec("transformer.extra." + std::to_string(i), {1}, DType::kF32));
  }
  request_.dits = {&larger};
  const auto mapped = consume(*loaded);
  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.refusal().code, codes::kMissingTensor);
  EXPECT_NE(mapped.refusal().what.find("7 tensors"), std::string::npos);
  EXPECT_NE(mapped.refusal().what.find("and 2 more"), std::string::npos);
}

// A DiT inside another: letting go of the parent's storage takes the child's along.
class NestedStorage : public ModelStorage {
 public:
  NestedStorage() {
    buffers_["transformer.rope"] = {std::byte{1}, std::byte{2}};
    buffers_["transformer.language_model.rope"] = {std::byte{3}, std::byte{4}};
  }
  [[nodiscard]] std::vector<std::string> computed_buffers() const override {
    return {"transformer.rope", "transformer.language_model.rope"};
  }
  [[nodiscard]] TensorView computed_buffer(const std::string& name) const override {
    return {DType::kU8, {2}, buffers_.at(name)};
  }
  void discard(const std::string& name) override {
    discarded.push_back(name);
    for (auto& [buffer, bytes] : buffers_) {
      if (buffer.starts_with(name + ".")) {
        bytes.assign(2, std::byte{0xEE});
      }
    }
  }
  void restore(const std::string& name, const TensorView& buffer) override {
    buffers_[name].assign(buffer.bytes.begin(), buffer.bytes.end());
  }

  Events discarded;

 private:
  std::map<std::string, std::vector<std::byte>> buffers_;
};

TEST_F(WeightLoaderTest, PlanOfMoreThanTheModel_IsRefusedBeforeAnythingIsLetGo) {
  auto loaded = load();
  DitSpec smaller = test::grouped_dit();
  smaller.blocks.pop_back();
  NestedStorage storage;
  const auto mapped = consume_plan(files_, *device_, loaded->plan.take(),
                                   {{&smaller}, &storage, request_.hooks}, loaded->events);
  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.refusal().code, codes::kMissingTensor);
  EXPECT_NE(mapped.refusal().what.find("3 tensors of the plan"), std::string::npos)
      << mapped.refusal().what;
  EXPECT_TRUE(storage.discarded.empty());
}

TEST_F(WeightLoaderTest, HookThatLetsGoOfATensor_IsAStartUpError) {
  request_.hooks.post_load = [](EditableTensors& tensors) {
    tensors.release(kNorm);
    return Status{};
  };
  auto loaded = load();
  const auto mapped = consume(*loaded);
  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.refusal().code, codes::kMissingTensor);
  EXPECT_NE(mapped.refusal().what.find(kNorm), std::string::npos) << mapped.refusal().what;
}

TEST_F(WeightLoaderTest, FileCutWhileHooksRun_IsNamed) {
  request_.hooks.calibrate = [this](EditableTensors&) {
    files_.truncate("/m/transformer/model-00001-of-00002.safetensors", 8);
    return Status{};
  };
  auto loaded = load();
  const auto refused = consume(*loaded);
  EXPECT_EQ(refused.refusal().code, codes::kMappingTruncated);
  EXPECT_EQ(refused.refusal().where, "/m/transformer/model-00001-of-00002.safetensors");
}

TEST_F(WeightLoaderTest, NestedTransformers_KeepTheirComputedBuffers) {
  DitSpec child = test::plain_dit("transformer.language_model");
  auto stored = test::stored_as_it_runs(dit_);
  for (auto tensor : test::stored_as_it_runs(child)) {
    tensor.name = "language_model." + tensor.name;
    stored.push_back(std::move(tensor));
  }
  test::MemoryFileSystem files;
  test::write_sharded(files, "/m/transformer", stored);
  request_.dits = {&dit_, &child};
  request_.others.clear();
  request_.sources.resize(1);
  auto loaded = load_weights(files, *device_, executor_, request_);
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  ASSERT_TRUE(loaded->plan.holds_plan());
  NestedStorage storage;
  const auto mapped = consume_plan(files, *device_, loaded->plan.take(),
                                   {request_.dits, &storage, request_.hooks}, loaded->events);
  ASSERT_TRUE(mapped.ok()) << mapped.refusal().message();
  EXPECT_EQ(storage.discarded, (Events{"transformer", "transformer.language_model"}));
  EXPECT_EQ(storage.computed_buffer("transformer.rope").bytes[1], std::byte{2});
  EXPECT_EQ(storage.computed_buffer("transformer.language_model.rope").bytes[0], std::byte{3});
  EXPECT_TRUE((*mapped)->holds("transformer.language_model.proj.weight"));
}

}  // namespace
}  // namespace dlo::host_weights
