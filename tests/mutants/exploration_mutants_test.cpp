// Goal: removing or moving any one event wait or event record of the hot path, or one byte of a
// copy, is found by exploration within a stated number of seeds.
// Method: decorators between the backend and the simulated device, one mutant a test.
#include <gtest/gtest.h>

#include "tests/mutants/exploration_proof.h"
#include "tests/support/moving_device.h"
#include "tests/support/mutant_device.h"

namespace dlo::test {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using test_support::Mutation;

test_support::LabelPredicate at(Site site) {
  return [site](const OpLabel& label) { return label.site == site; };
}

engine::DeviceDecorator mutated(const Mutation& mutation) {
  return [mutation](std::unique_ptr<platform::Device> device, int /*rank*/) {
    return std::make_unique<test_support::MutantDevice>(std::move(device), mutation);
  };
}

engine::DeviceDecorator moved(Site site, StreamKind stream) {
  return [site, stream](std::unique_ptr<platform::Device> device, int /*rank*/) {
    return std::make_unique<test_support::MovingDevice>(std::move(device), site, stream);
  };
}

struct SiteMove {
  Site site;
  StreamKind stream;
};

std::string name_of(std::string_view what, Site site) {
  return std::string(what) + " " + std::string(platform::site_name(site));
}

class DroppedWait : public testing::TestWithParam<Site> {};
class DroppedRecord : public testing::TestWithParam<Site> {};
class MovedSite : public testing::TestWithParam<SiteMove> {};

TEST_P(DroppedWait, Exploration_FindsIt) {
  expect_killed(name_of("drop", GetParam()), mutated(Mutation{at(GetParam()), {}, {}}));
}

TEST_P(DroppedRecord, Exploration_FindsIt) {
  expect_killed(name_of("drop", GetParam()), mutated(Mutation{{}, at(GetParam()), {}}));
}

TEST_P(MovedSite, Exploration_FindsIt) {
  const auto [site, stream] = GetParam();
  expect_killed(name_of("move", site) + " to " + std::string(platform::stream_name(stream)),
                moved(site, stream));
}

TEST(CorruptedCopy, Exploration_FindsIt) {
  expect_killed("one wrong byte in a copy", mutated(Mutation{{}, {}, at(Site::kH2d)}));
}

INSTANTIATE_TEST_SUITE_P(Waits, DroppedWait,
                         testing::Values(Site::kReadyWait, Site::kFreeWait, Site::kLandedWait,
                                         Site::kInputFreeWait));
INSTANTIATE_TEST_SUITE_P(Records, DroppedRecord,
                         testing::Values(Site::kReadyRecord, Site::kFreeRecord, Site::kLandedRecord,
                                         Site::kInputFreeRecord));
INSTANTIATE_TEST_SUITE_P(Moves, MovedSite,
                         testing::Values(SiteMove{Site::kReadyWait, StreamKind::kCopy},
                                         SiteMove{Site::kFreeWait, StreamKind::kCompute},
                                         SiteMove{Site::kLandedWait, StreamKind::kCopy},
                                         SiteMove{Site::kInputFreeWait, StreamKind::kComm},
                                         SiteMove{Site::kReadyRecord, StreamKind::kCompute},
                                         SiteMove{Site::kFreeRecord, StreamKind::kCopy},
                                         SiteMove{Site::kLandedRecord, StreamKind::kCompute},
                                         SiteMove{Site::kInputFreeRecord, StreamKind::kCopy}));

}  // namespace
}  // namespace dlo::test
