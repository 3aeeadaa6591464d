// Owns: InjectedFaults, what a scenario asks to go wrong on one rank, as decorators over the seams
// of that rank: device, world, configuration.
// Must not own: reactions to faults; nothing else in the engine knows that there are any.
// Threading: launching thread. Failure: none of its own.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"
#include "config/offload_config.h"
#include "engine/run_report.h"
#include "platform/device.h"
#include "platform/fault/fault_plan.h"
#include "platform/fault/faulting_executor.h"
#include "platform/fault/faulting_file_system.h"

namespace dlo::engine {

class InjectedFaults {
 public:
  // Everything passed outlives the object; `before_crash` may be empty.
  InjectedFaults(const PlatformSpec& spec, comm::World& world, platform::FileSystem& files,
                 platform::Clock& clock, std::function<void()> before_crash);

  // The world whose groups and communicators fail as planned, or whose gathers are slow.
  [[nodiscard]] comm::World& world() { return *world_; }
  // Files whose reads fail as planned, or are slow.
  [[nodiscard]] const platform::FileSystem& files() const { return files_; }
  // Workers whose submissions or tasks fail as planned. `inner` outlives the result.
  [[nodiscard]] platform::FaultingExecutor executor(platform::Executor& inner) {
    return {inner, injector_};
  }
  [[nodiscard]] std::unique_ptr<platform::Device> decorate(
      std::unique_ptr<platform::Device> device);
  // The configuration as this rank believes it to be.
  [[nodiscard]] config::OffloadConfig adjust(config::OffloadConfig config) const;

  // How often a rule of the plan struck on this rank.
  [[nodiscard]] std::uint64_t strike_count() const { return injector_.strike_count(); }

 private:
  const PlatformSpec* spec_;
  int rank_;
  std::function<void()> before_crash_;
  platform::FaultInjector injector_;
  platform::FaultingFileSystem files_;
  std::unique_ptr<comm::World> slow_world_;      // null without slow gathers
  std::unique_ptr<comm::World> faulting_world_;  // null without a plan
  comm::World* world_;
};

}  // namespace dlo::engine
