// Goal: digests are SHA-256 as the standard defines it, in any partition of the input.
// Method: FIPS 180-4 example vectors, and one input fed in pieces.
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace dlo {
namespace {

TEST(Sha256, StandardVectors_MatchFips180) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, InputInPieces_GivesTheSameDigest) {
  const std::string text(1000, 'x');
  for (const std::size_t cut : {0U, 1U, 63U, 64U, 65U, 999U, 1000U}) {
    Sha256 hash;
    hash.update(std::string_view(text).substr(0, cut));
    hash.update(std::string_view(text).substr(cut));
    EXPECT_EQ(hash.hex_digest(), sha256_hex(text)) << cut;
  }
}

TEST(Sha256, BytesAndText_Agree) {
  const std::string text = "bytes";
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span<const char>(text))), sha256_hex(text));
}

TEST(Sha256, Moved_GoesOnWhereItWas) {
  Sha256 first;
  first.update("ab");
  Sha256 second(std::move(first));
  second.update("c");
  EXPECT_EQ(second.hex_digest(), sha256_hex("abc"));
}

}  // namespace
}  // namespace dlo
