// Goal: what is given up without memory is kept all the same, and neither destroyed nor waited for.
// Method: operator new fails meanwhile; a weak pointer tells whether the packer is there.
#include "backend/given_up_buffers.h"

#include <gtest/gtest.h>

#include <new>
#include <utility>
#include <vector>

#include "tests/support/allocation_counter.h"
#include "tests/support/sound_tensors.h"

namespace dlo::backend {
namespace {

TEST(GivenUp, PackerWhileThereIsNoMemory_IsKept) {
  static const test::SoundTensors tensors;
  auto holder = std::make_unique<std::shared_ptr<hot_path::ChunkPacker>>(
      std::make_shared<hot_path::ChunkPacker>(hot_path::StagedSources{}, tensors, nullptr));
  const std::weak_ptr<hot_path::ChunkPacker> packer = *holder;
  static const auto* reachable = holder.get();  // there is no memory for the list that holds it
  {
    const test_support::NoMemory none;
    EXPECT_THROW(static_cast<void>(::operator new(8)), std::bad_alloc);
    give_up(std::move(holder));
  }
  EXPECT_FALSE(packer.expired());
  EXPECT_EQ(*reachable, packer.lock());
}

TEST(GivenUp, NothingToGiveUp_IsNoMistake) {
  give_up(PackerHolder());
  give_up(std::unique_ptr<platform::HostBuffer>());
}

}  // namespace
}  // namespace dlo::backend
