// Goal: components that the OffloadPlan names come to the device with their stage and go with it;
// all others come once.
// Method: components that write down what is asked of them.
#include "backend/component_stages.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::backend {
namespace {

class NotingComponent final : public OnDemandComponent {
 public:
  NotingComponent(std::string path, bool can_offload)
      : path_(std::move(path)), can_offload_(can_offload) {}
  [[nodiscard]] std::string_view path() const override { return path_; }
  [[nodiscard]] bool can_offload() const override { return can_offload_; }
  [[nodiscard]] Status load(Deadline) override {
    calls.emplace_back("load");
    return answer;
  }
  [[nodiscard]] Status offload(Deadline) override {
    calls.emplace_back("offload");
    return answer;
  }

  std::vector<std::string> calls;
  Status answer;

 private:
  std::string path_;
  bool can_offload_;
};

using Calls = std::vector<std::string>;

class StagesOfThree : public testing::Test {
 protected:
  NotingComponent encoder_{"text_encoder", true};
  NotingComponent fixed_{"image_encoder", false};
  NotingComponent decoder_{"vae", true};
  ComponentStages stages_{
      contracts::OffloadPlan{.on_demand_component_paths = {"text_encoder", "image_encoder"}},
      {&encoder_, &fixed_, &decoder_}};
};

TEST_F(StagesOfThree, Place_OffloadsWhatIsNamedAndCanGo) {
  ASSERT_TRUE(stages_.place({}).ok());
  EXPECT_EQ(stages_.on_demand(), (std::vector<std::string>{"text_encoder"}));
  EXPECT_EQ(encoder_.calls, Calls{"offload"});
  EXPECT_EQ(fixed_.calls, Calls{"load"}) << "named, but it cannot go";
  EXPECT_EQ(decoder_.calls, Calls{"load"}) << "not named";
}

TEST_F(StagesOfThree, Stage_BringsAndDropsItsComponentAlone) {
  ASSERT_TRUE(stages_.place({}).ok());
  for (const auto* path : {"text_encoder", "vae"}) {
    ASSERT_TRUE(stages_.enter(path, {}).ok());
    ASSERT_TRUE(stages_.leave(path, {}).ok());
  }
  EXPECT_EQ(encoder_.calls, (Calls{"offload", "load", "offload"}));
  EXPECT_EQ(decoder_.calls, Calls{"load"});
}

TEST_F(StagesOfThree, RefusalOfAComponent_EndsPlacementUnderItsCode) {
  fixed_.answer = refuse(codes::kDeviceOutOfMemory, "full", "device", "none");
  const auto status = stages_.place({});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kDeviceOutOfMemory);
  EXPECT_TRUE(decoder_.calls.empty());
}

TEST_F(StagesOfThree, UnknownPath_IsALogicError) {
  EXPECT_THROW(static_cast<void>(stages_.enter("audio_vae", {})), LogicError);
}

}  // namespace
}  // namespace dlo::backend
