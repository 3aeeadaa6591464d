// Goal: counters of an accelerator arrive or say why they are absent; what turns moved adds up, and
// a turn without a reading leaves no sum at all.
// Method: the stand-in for NVML of the telemetry tests, and readings made by hand.
#include "engine/device_counters.h"

#include <gtest/gtest.h>

#include "tests/support/inline_device.h"

namespace dlo::engine {
namespace {

Result<telemetry::NvmlDevice> gpu(const std::string& library, const char* bus_id) {
  auto nvml = telemetry::Nvml::load(library);
  return nvml.ok() ? nvml->device(bus_id) : Result<telemetry::NvmlDevice>(nvml.refusal());
}

DeviceCounters reading(std::optional<std::uint64_t> nvlink_bytes, std::string reason = "") {
  return {.nvlink_received_bytes = nvlink_bytes,
          .energy_mj = std::nullopt,
          .energy_ns = std::nullopt,
          .power_limit_mw = std::nullopt,
          .used_bytes = std::nullopt,
          .allocator_peak_bytes = std::nullopt,
          .absent_reason = std::move(reason)};
}

TEST(DeviceCounters, EverythingThere_NeedsNoReason) {
  test::StillClock clock;
  clock.sleep(5 * kSecond);
  const auto counters = read_counters(gpu(DLO_FAKE_NVML, "0000:17:00.0"), clock);
  EXPECT_EQ(counters.nvlink_received_bytes, 7U * 1024);
  EXPECT_EQ(counters.energy_mj, 5'000'000'000U);
  EXPECT_EQ(counters.energy_ns, 5 * kSecond);
  EXPECT_EQ(counters.power_limit_mw, 700'000U);
  EXPECT_EQ(counters.used_bytes, 300U);
  EXPECT_EQ(counters.absent_reason, "");
}

TEST(DeviceCounters, AbsentFigure_SaysWhy) {
  test::StillClock clock;
  const auto no_links = read_counters(gpu(DLO_FAKE_NVML, "0000:18:00.0"), clock);
  EXPECT_FALSE(no_links.nvlink_received_bytes.has_value());
  EXPECT_FALSE(no_links.energy_mj.has_value());
  EXPECT_FALSE(no_links.power_limit_mw.has_value());
  EXPECT_EQ(no_links.used_bytes, 300U);
  EXPECT_NE(no_links.absent_reason.find("NVLink counter: Not Supported"), std::string::npos)
      << no_links.absent_reason;
  const auto no_library =
      read_counters(gpu("libnvidia-ml-that-is-not-there.so.1", "0000:17:00.0"), clock);
  EXPECT_FALSE(no_library.used_bytes.has_value());
  EXPECT_NE(no_library.absent_reason.find("libnvidia-ml-that-is-not-there"), std::string::npos)
      << no_library.absent_reason;
}

TEST(Accumulate, Turns_AddUp) {
  auto sum = reading(0);
  sum = accumulate(sum, reading(1000), reading(1300));
  sum = accumulate(sum, reading(5000), reading(5040));  // what moved between turns is not theirs
  EXPECT_EQ(sum.nvlink_received_bytes, 340U);
  EXPECT_EQ(sum.absent_reason, "");
}

TEST(Accumulate, EnergyOfTurns_AddsUpAndItsLimitIsKept) {
  const auto energy = [](std::uint64_t millijoules) {
    auto counters = reading(0);
    counters.energy_mj = millijoules;
    counters.energy_ns = 10 * millijoules;
    counters.power_limit_mw = 700'000;
    return counters;
  };
  auto sum = energy(0);
  sum = accumulate(sum, energy(100), energy(180));
  sum = accumulate(sum, energy(300), energy(320));
  EXPECT_EQ(sum.energy_mj, 100U);
  EXPECT_EQ(sum.energy_ns, 1000U);
  EXPECT_EQ(sum.power_limit_mw, 700'000U);
  EXPECT_FALSE(accumulate(sum, reading(0), energy(5)).energy_mj.has_value());
}

TEST(Accumulate, MissingReading_VoidsTheFigureForGood) {
  for (const bool first : {true, false}) {
    auto sum = accumulate(reading(0), reading(1000), reading(1300));
    sum = accumulate(sum, reading(first ? std::nullopt : std::optional<std::uint64_t>(2000), "one"),
                     reading(first ? std::optional<std::uint64_t>(2300) : std::nullopt, "two"));
    EXPECT_FALSE(sum.nvlink_received_bytes.has_value());
    sum = accumulate(sum, reading(3000), reading(3300));
    EXPECT_FALSE(sum.nvlink_received_bytes.has_value());
    EXPECT_EQ(sum.absent_reason, "one");
  }
  EXPECT_FALSE(accumulate(reading(0), reading(9), reading(3)).nvlink_received_bytes.has_value())
      << "a counter that went backwards";
}

TEST(Accumulate, Memory_IsTheLargestReading) {
  auto before = reading(0);
  auto after = reading(0);
  after.used_bytes = 70;
  after.allocator_peak_bytes = 30;
  auto sum = accumulate(reading(0), before, after);
  after.used_bytes = 60;
  after.allocator_peak_bytes = std::nullopt;
  sum = accumulate(sum, before, after);
  EXPECT_EQ(sum.used_bytes, 70U);
  EXPECT_EQ(sum.allocator_peak_bytes, 30U);
}

}  // namespace
}  // namespace dlo::engine
