// Goal: the ledger's figures are the calls and bytes that were issued, by site and stream, and the
// decorators pass every operation on unchanged.
// Method: an inline device and a recording communicator below the decorators.
#include "telemetry/copy_ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "tests/support/inline_device.h"

namespace dlo::telemetry {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

struct Gather {
  DeviceSpan input;
  DeviceSpan output;
  StreamKind stream;
  OpLabel label;
};

class RecordingCommunicator : public comm::Communicator {
 public:
  RecordingCommunicator(std::vector<Gather>& gathers, bool& aborted)
      : gathers_(gathers), aborted_(aborted) {}

  [[nodiscard]] int rank() const override { return 1; }
  [[nodiscard]] int size() const override { return 4; }
  void all_gather(platform::Device& /*device*/, StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const OpLabel& label) override {
    gathers_.push_back({input, output, stream, label});
  }
  void abort() noexcept override { aborted_ = true; }

 private:
  std::vector<Gather>& gathers_;
  bool& aborted_;
};

TEST(CopyLedger, New_IsEmpty) {
  const CopyLedger ledger;
  EXPECT_EQ(ledger.at(Site::kPlacement), LedgerEntry{});
  EXPECT_EQ(ledger.at(Site::kDrain), LedgerEntry{});
}

TEST(CopyLedger, SitesAndStreams_AreKeptApartAndSummed) {
  CopyLedger ledger;
  ledger.add(Site::kH2d, StreamKind::kCopy, 100);
  ledger.add(Site::kH2d, StreamKind::kCopy, 20);
  ledger.add(Site::kH2d, StreamKind::kComm, 3);
  ledger.add(Site::kGather, StreamKind::kComm, 7);
  EXPECT_EQ(ledger.at(Site::kH2d, StreamKind::kCopy), (LedgerEntry{2, 120}));
  EXPECT_EQ(ledger.at(Site::kH2d, StreamKind::kComm), (LedgerEntry{1, 3}));
  EXPECT_EQ(ledger.at(Site::kH2d), (LedgerEntry{3, 123}));
  EXPECT_EQ(ledger.at(Site::kGather), (LedgerEntry{1, 7}));
  EXPECT_EQ(ledger.at(Site::kCompute), LedgerEntry{});
}

TEST(LedgerDevice, Copies_AreCountedAndDone) {
  CopyLedger ledger;
  LedgerDevice device(std::make_unique<test::InlineDevice>(), ledger);
  const auto buffer = device.allocate_device(8, platform::MemoryPurpose::kSlot).value();
  const std::array<std::byte, 8> source{std::byte{1}, std::byte{2}, std::byte{3}};
  device.copy_to_device(StreamKind::kCopy, buffer->span(), source, OpLabel{.site = Site::kH2d});
  std::array<std::byte, 8> back{};
  device.copy_to_host(StreamKind::kCompute, back, buffer->span(), OpLabel{.site = Site::kOutput});
  EXPECT_EQ(back, source);
  EXPECT_EQ(ledger.at(Site::kH2d, StreamKind::kCopy), (LedgerEntry{1, 8}));
  EXPECT_EQ(ledger.at(Site::kOutput, StreamKind::kCompute), (LedgerEntry{1, 8}));
}

TEST(LedgerDevice, OtherOperations_PassUncounted) {
  CopyLedger ledger;
  LedgerDevice device(std::make_unique<test::InlineDevice>(), ledger);
  int runs = 0;
  device.launch(
      StreamKind::kCompute, [&runs] { ++runs; }, OpLabel{.site = Site::kCompute});
  const auto event = device.create_event();
  device.record(event, StreamKind::kCompute, OpLabel{.site = Site::kFreeRecord});
  device.wait(StreamKind::kCopy, event, OpLabel{.site = Site::kFreeWait});
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(device.query(event));
  for (const auto site : {Site::kCompute, Site::kFreeRecord, Site::kFreeWait}) {
    EXPECT_EQ(ledger.at(site), LedgerEntry{});
  }
}

TEST(LedgerCommunicator, Gather_CountsWhatPeersSent) {
  CopyLedger ledger;
  std::vector<Gather> gathers;
  bool aborted = false;
  LedgerCommunicator communicator(std::make_unique<RecordingCommunicator>(gathers, aborted),
                                  ledger);
  test::InlineDevice device;
  std::array<std::byte, 1024> memory{};
  const DeviceSpan input{memory.data(), 256};
  const DeviceSpan output{memory.data(), 1024};
  const OpLabel label{.site = Site::kGather, .ring = 0, .block = 2, .slot = 1, .chunk = 3};
  communicator.all_gather(device, StreamKind::kComm, input, output, label);
  EXPECT_EQ(ledger.at(Site::kGather, StreamKind::kComm), (LedgerEntry{1, 768}));
  ASSERT_EQ(gathers.size(), 1U);
  EXPECT_EQ(gathers[0].input, input);
  EXPECT_EQ(gathers[0].output, output);
  EXPECT_EQ(gathers[0].stream, StreamKind::kComm);
  EXPECT_EQ(gathers[0].label, label);
}

TEST(LedgerCommunicator, PlaceAndAbort_AreTheInnerOnes) {
  CopyLedger ledger;
  std::vector<Gather> gathers;
  bool aborted = false;
  LedgerCommunicator communicator(std::make_unique<RecordingCommunicator>(gathers, aborted),
                                  ledger);
  EXPECT_EQ(communicator.rank(), 1);
  EXPECT_EQ(communicator.size(), 4);
  communicator.abort();
  EXPECT_TRUE(aborted);
}

}  // namespace
}  // namespace dlo::telemetry
