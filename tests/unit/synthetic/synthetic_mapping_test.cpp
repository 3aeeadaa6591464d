// Goal: the double of mapped tensors shows the same bytes as the private ones, run by run, some of
// them out of the file's order, and knows what was let go.
// Method: both doubles over one table, compared tensor by tensor.
#include "synthetic/synthetic_mapping.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "synthetic/synthetic_model.h"
#include "synthetic/synthetic_weights.h"

namespace dlo::synthetic {
namespace {

TEST(SyntheticMapping, RunsOfEveryTensor_AreItsBytesInOrder) {
  const SyntheticModel model(draw_shape(3, {4, 5}));
  const SyntheticMapping mapping(model.table(), model.seed());
  std::size_t reordered = 0;
  for (const auto* spec : model.table().tensors()) {
    std::vector<std::byte> seen;
    const std::byte* last = nullptr;
    mapping.for_each_run(spec->name, [&](std::uint64_t offset_bytes, ConstByteSpan bytes) {
      EXPECT_EQ(offset_bytes, seen.size()) << spec->name;
      reordered += last != nullptr && bytes.data() < last ? 1U : 0U;
      last = bytes.data();
      seen.insert(seen.end(), bytes.begin(), bytes.end());
    });
    EXPECT_EQ(seen, tensor_content(model.seed(), *spec)) << spec->name;
    EXPECT_TRUE(std::ranges::equal(mapping.view(spec->name).bytes, seen)) << spec->name;
  }
  EXPECT_GT(reordered, 0U) << "no tensor is stored in groups of another order";
  EXPECT_GT(mapping.held_bytes(), 0U) << "views are private copies";
}

TEST(SyntheticMapping, ReleasedTensor_IsUnmappedAndCannotBeRead) {
  const SyntheticModel model(draw_shape(3, {2}));
  SyntheticMapping mapping(model.table(), model.seed());
  const auto& name = model.table().tensors().front()->name;
  const auto all = mapping.mapped_count();
  mapping.release(name);
  mapping.release(name);
  EXPECT_EQ(mapping.mapped_count(), all - 1);
  EXPECT_THROW(static_cast<void>(mapping.view(name)), LogicError);
}

TEST(SyntheticMapping, Truncated_IsNoLongerIntact) {
  const SyntheticModel model(draw_shape(3, {2}));
  SyntheticMapping mapping(model.table(), model.seed());
  EXPECT_TRUE(mapping.intact());
  mapping.truncate();
  EXPECT_FALSE(mapping.intact());
}

}  // namespace
}  // namespace dlo::synthetic
