// Goal: whatever ends a task, its refusal has the right code and says where.
// Method: each kind of exception thrown and turned.
#include "base/thrown_refusal.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "base/codes.h"
#include "base/error.h"

namespace dlo {
namespace {

template <typename Thrown>
Refusal refusal_of(const Thrown& thrown) {
  return thrown_refusal(std::make_exception_ptr(thrown), "block 5");
}

TEST(ThrownRefusal, RunError_KeepsItsOwn) {
  const auto refusal = refusal_of(RunError(refuse(codes::kStaleSlot, "what", "slot 1", "act")));
  EXPECT_EQ(refusal.code, codes::kStaleSlot);
  EXPECT_EQ(refusal.where, "slot 1");
}

TEST(ThrownRefusal, KnownError_KeepsItsCodeAndNamesItsSite) {
  const auto refusal = refusal_of(SystemError(codes::kFileUnreadable, "cannot read", 5));
  EXPECT_EQ(refusal.code, codes::kFileUnreadable);
  EXPECT_NE(refusal.where.find("block 5"), std::string::npos);
  EXPECT_NE(refusal.where.find("thrown_refusal_test.cpp"), std::string::npos);
}

TEST(ThrownRefusal, RefusedHostMemory_IsHostOutOfMemory) {
  EXPECT_EQ(refusal_of(std::bad_alloc()).code, codes::kHostOutOfMemory);
}

TEST(ThrownRefusal, AnythingElse_IsInternal) {
  EXPECT_EQ(refusal_of(std::runtime_error("odd")).code, codes::kInternal);
  EXPECT_EQ(refusal_of(std::runtime_error("odd")).what, "odd");
  EXPECT_EQ(refusal_of(7).code, codes::kInternal);
}

}  // namespace
}  // namespace dlo
