// Goal: NVML's figures arrive in bytes and under their names, and each that is missing is missing
// for a stated reason. Method: stand-ins for the library, loaded as the real one is: one that
// answers (fake_nvml.cpp), one without functions, none at all.

#include "telemetry/nvml.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/shared_library.h"
#include "telemetry/process_resources.h"

namespace dlo::telemetry {
namespace {

constexpr const char* kFull = "0000:17:00.0";
constexpr const char* kBare = "0000:18:00.0";

NvmlDevice gpu(const char* bus_id) {
  return Nvml::load(DLO_FAKE_NVML).value().device(bus_id).value();
}

std::uint64_t event_descriptors() {
  const auto counted = count_resources(platform::PosixFileSystem(), {});
  return counted.value().event_descriptors;
}

TEST(Nvml, DeviceWithEverything_TellsBytesAndPower) {
  const NvmlDevice device = gpu(kFull);
  EXPECT_EQ(device.used_bytes().value(), 300U);
  EXPECT_EQ(device.nvlink_received_bytes().value(), 7U * 1024);
  EXPECT_EQ(device.energy_mj().value(), 5'000'000'000U) << "more than 32 bits hold";
  EXPECT_EQ(device.power_limit_mw().value(), 700'000U);
}

TEST(Nvml, FigureThatIsNotSupported_IsRefusedWithNvmlsReason) {
  EXPECT_EQ(gpu(kBare).used_bytes().value(), 300U);
  const auto links = gpu(kBare).nvlink_received_bytes();
  ASSERT_FALSE(links.ok());
  EXPECT_EQ(links.refusal().code, codes::kNvmlFailed);
  EXPECT_EQ(links.refusal().what, "NVLink counter: Not Supported (NVML 3)");
  EXPECT_EQ(links.refusal().where, kBare);
  EXPECT_EQ(gpu(kBare).energy_mj().refusal().what, "energy: Not Supported (NVML 3)");
  EXPECT_EQ(gpu(kBare).power_limit_mw().refusal().what, "power limit: Not Supported (NVML 3)");
}

TEST(Nvml, LibraryWithoutFunctionsForPower_TellsTheRest) {
  const auto device = Nvml::load(DLO_FAKE_OLD_NVML).value().device(kFull).value();
  EXPECT_EQ(device.used_bytes().value(), 300U);
  EXPECT_EQ(device.energy_mj().refusal().what, "energy: this NVML has no function for it");
  EXPECT_EQ(device.power_limit_mw().refusal().code, codes::kNvmlFailed);
}

TEST(Nvml, LoadedAgain_LeavesNoMoreDescriptors) {
  ASSERT_TRUE(Nvml::load(DLO_FAKE_NVML).ok());
  const auto open = event_descriptors();
  EXPECT_GE(open, 1U) << "the stand-in leaves one a start";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(gpu(kFull).used_bytes().value(), 300U);
  }
  EXPECT_EQ(event_descriptors(), open);
}

TEST(Nvml, UnknownBusId_IsAcceleratorMissing) {
  const auto device = Nvml::load(DLO_FAKE_NVML).value().device("0000:99:00.0");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.refusal().code, codes::kAcceleratorMissing);
}

TEST(Nvml, NoLibrary_IsLibraryMissingByName) {
  const auto nvml = Nvml::load("libnvidia-ml-that-is-not-there.so.1");
  ASSERT_FALSE(nvml.ok());
  EXPECT_EQ(nvml.refusal().code, codes::kLibraryMissing);
  EXPECT_EQ(nvml.refusal().where, "libnvidia-ml-that-is-not-there.so.1");
}

TEST(Nvml, LibraryWithoutTheFunctions_IsLibraryMissingNamingTheFirst) {
  const auto nvml = Nvml::load("libm.so.6");
  ASSERT_FALSE(nvml.ok());
  EXPECT_EQ(nvml.refusal().code, codes::kLibraryMissing);
  EXPECT_EQ(nvml.refusal().what, "has no function nvmlInit_v2");
}

TEST(SharedLibrary, Function_CanBeCalled) {
  const auto library = platform::SharedLibrary::load("libm.so.6").value();
  const auto root = reinterpret_cast<double (*)(double)>(library.address("sqrt").value());
  EXPECT_EQ(root(9.0), 3.0);
}

TEST(SharedLibrary, FindLoaded_LoadsNothing) {
  constexpr const char* kOfNobody = "libBrokenLocale.so.1";  // of the C library's package
  EXPECT_EQ(platform::SharedLibrary::find_loaded(kOfNobody).refusal().code, codes::kLibraryMissing);
  const auto library = platform::SharedLibrary::load(kOfNobody).value();
  EXPECT_TRUE(platform::SharedLibrary::find_loaded(kOfNobody).ok());
}

}  // namespace
}  // namespace dlo::telemetry
