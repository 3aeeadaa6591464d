// Goal: a Result is a value or a refusal, and reading the wrong side is an error with a name.
// Method: both sides of Result<T> and Status, with a move-only value too.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace dlo {
namespace {

TEST(Result, Value_IsReadable) {
  Result<std::string> result(std::string("text"));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, "text");
  EXPECT_EQ(result->size(), 4U);
  EXPECT_THROW(static_cast<void>(result.refusal()), LogicError);
}

TEST(Result, Refusal_IsReadableAndValueThrowsWithItsMessage) {
  const Result<int> result(refuse("code_x", "no", "here", "do y"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.refusal().code, "code_x");
  try {
    static_cast<void>(result.value());
    FAIL() << "value() of a refusal returned";
  } catch (const LogicError& error) {
    EXPECT_NE(std::string(error.what()).find("no [code_x] (here); do y"), std::string::npos);
  }
}

TEST(Result, MoveOnlyValue_MovesOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, ValueOfRefusalType_KeepsSidesApart) {
  EXPECT_TRUE(Result<int>(0).ok());
  EXPECT_FALSE(Result<int>(Refusal{}).ok());
}

TEST(Status, Default_IsOk) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_THROW(static_cast<void>(status.refusal()), LogicError);
}

TEST(Status, FromRefusal_IsNotOk) {
  const Status status = refuse("c", "w", "", "");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.refusal(), (Refusal{"c", "w", "", ""}));
}

TEST(Refusal, Message_LeavesEmptyPartsOut) {
  EXPECT_EQ((Refusal{"c", "w", "x", "a"}.message()), "w [c] (x); a");
  EXPECT_EQ((Refusal{"c", "w", "", ""}.message()), "w [c]");
  EXPECT_EQ((Refusal{"c", "w", "x", ""}.message()), "w [c] (x)");
}

}  // namespace
}  // namespace dlo
