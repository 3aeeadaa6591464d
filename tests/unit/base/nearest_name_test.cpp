// Goal: a misspelt name finds its neighbour, and nonsense finds none.
// Method: names at known edit distances.
#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <array>

namespace dlo {
namespace {

constexpr std::array<std::string_view, 3> kKnown = {"dlo_use_allgather", "pin_cpu_memory",
                                                    "dlo_chunk_bytes"};

TEST(NearestName, OneLetterOff_FindsIt) {
  EXPECT_EQ(nearest_name("dlo_use_algather", kKnown), "dlo_use_allgather");
  EXPECT_EQ(nearest_name("pin_cpu_memry", kKnown), "pin_cpu_memory");
  EXPECT_EQ(nearest_name("dlo-chunk-bytes", kKnown), "dlo_chunk_bytes");
}

TEST(NearestName, ExactName_FindsItself) {
  EXPECT_EQ(nearest_name("dlo_chunk_bytes", kKnown), "dlo_chunk_bytes");
}

TEST(NearestName, NothingNear_IsEmpty) {
  EXPECT_EQ(nearest_name("zzz", kKnown), "");
  EXPECT_EQ(nearest_name("", kKnown), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(NearestName, HalfTheLetters_IsTheLimit) {
  constexpr std::array<std::string_view, 1> kOne = {"abcd"};
  EXPECT_EQ(nearest_name("abxx", kOne), "abcd");
  EXPECT_EQ(nearest_name("axxx", kOne), "");
}

TEST(NearestName, Tie_TakesTheFirst) {
  constexpr std::array<std::string_view, 2> kTwo = {"abcx", "abcy"};
  EXPECT_EQ(nearest_name("abcz", kTwo), "abcx");
}

TEST(SuggestName, NearOrFar_SaysWhatToType) {
  EXPECT_EQ(suggest_name("dlo_chunk_byte", kKnown), "did you mean 'dlo_chunk_bytes'?");
  EXPECT_EQ(suggest_name("zzz", kKnown),
            "known names: dlo_use_allgather, pin_cpu_memory, dlo_chunk_bytes");
}

}  // namespace
}  // namespace dlo
