// Goal: every exception says what happened, under which code, where it was thrown.
// Method: each class of the hierarchy is thrown and read back.
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/codes.h"

namespace dlo {
namespace {

TEST(Error, Message_EndsWithItsCode) {
  const Error error(codes::kPinFailed, "cannot pin 5 bytes");
  EXPECT_STREQ(error.what(), "cannot pin 5 bytes [pin_failed]");
  EXPECT_EQ(error.code(), "pin_failed");
}

TEST(Error, Site_IsTheThrowingLine) {
  const Error error(codes::kInternal, "x");
  EXPECT_EQ(error.site_text(), "error_test.cpp:" + std::to_string(__LINE__ - 1));
}

TEST(ConfigError, FromRefusal_KeepsCodeAndEveryPart) {
  const ConfigError error(refuse("CFG-04", "what", "where", "action"));
  EXPECT_EQ(error.code(), "CFG-04");
  EXPECT_STREQ(error.what(), "what (where); action [CFG-04]");
}

TEST(RunError, FromRefusal_LeavesEmptyPartsOut) {
  const RunError error(refuse(codes::kStaleSlot, "slot 1 is stale", "", ""));
  EXPECT_STREQ(error.what(), "slot 1 is stale [stale_slot]");
  EXPECT_EQ(error.refusal().what, "slot 1 is stale");
}

TEST(SystemError, Errno_IsNumberAndName) {
  const SystemError error(codes::kFileNotFound, "open '/nowhere'", ENOENT);
  EXPECT_EQ(error.number(), ENOENT);
  EXPECT_EQ(error.number_name(), "ENOENT");
  EXPECT_STREQ(error.what(), "open '/nowhere': ENOENT (2) [file_not_found]");
}

TEST(ErrnoName, UnknownNumber_IsStillReadable) {
  EXPECT_EQ(errno_name(4242), "errno 4242");
}

TEST(Require, BrokenCondition_ThrowsLogicErrorWithCallersLine) {
  EXPECT_NO_THROW(require(true, "fine"));
  try {
    require(false, "broken");
    FAIL() << "require(false) returned";
  } catch (const LogicError& error) {
    EXPECT_EQ(error.code(), codes::kInternal);
    EXPECT_EQ(error.site_text(), "error_test.cpp:" + std::to_string(__LINE__ - 4));
  }
}

TEST(Hierarchy, EveryKind_IsAnError) {
  EXPECT_THROW(throw LogicError("a"), Error);
  EXPECT_THROW(throw ConfigError(Refusal{}), Error);
  EXPECT_THROW(throw RunError(Refusal{}), Error);
  EXPECT_THROW(throw SystemError("c", "t", EIO), NumberedError);
}

}  // namespace
}  // namespace dlo
