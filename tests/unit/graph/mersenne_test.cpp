#include "mersenne.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "permutation.hpp"

namespace grainscope::graph {
namespace {

TEST(Mersenne, draws_what_the_standard_engine_draws) {
  for (const std::uint32_t seed : {0U, 1U, 27491095U, UINT32_MAX}) {
    std::mt19937 standard(seed);
    Mersenne singly(seed);
    Mersenne by_batches(seed);
    for (int batch = 0; batch < 5; ++batch) {
      for (const std::uint32_t draw : by_batches.next_batch()) {
        const auto expected = static_cast<std::uint32_t>(standard());
        ASSERT_EQ(draw, expected);
        ASSERT_EQ(singly(), expected);
      }
    }
  }
}

// Hands out given numbers.
struct Given {
  std::vector<std::uint64_t> draws;
  std::size_t next = 0;
  std::uint64_t operator()() { return draws.at(next++); }
};

TEST(GapUniform, takes_every_draw_below_a_power_of_two) {
  Given given{{UINT32_MAX, 0, 1024}};
  const GapUniform uniform(UINT32_MAX, 1024);
  EXPECT_EQ(uniform(given), 1023);
  EXPECT_EQ(uniform(given), 0);
  EXPECT_EQ(uniform(given), 0);
}

TEST(GapUniform, draws_again_where_the_last_stretch_is_incomplete) {
  // (2^32 - 1) mod 255 is 0: of the weights' draws only the largest is drawn again.
  Given weights{{UINT32_MAX, UINT32_MAX - 1, 7}};
  EXPECT_EQ(GapUniform(UINT32_MAX, 255)(weights), (UINT32_MAX - 1) % 255);
  // (2^32 - 1) mod 1000 is 295.
  Given thousand{{UINT32_MAX - 295, UINT32_MAX - 296}};
  EXPECT_EQ(GapUniform(UINT32_MAX, 1000)(thousand), (UINT32_MAX - 296) % 1000);
}

TEST(GapUniform, narrows_a_wide_engine_as_gap_does) {
  // (2^64 - 1) mod 1000 is 615: draws are cut to 32 bits, and from 2^32 - 1 - 615 on drawn again.
  Given given{{(std::uint64_t{5} << 32) + UINT32_MAX - 615, (std::uint64_t{9} << 32) + UINT32_MAX - 616}};
  EXPECT_EQ(GapUniform(UINT64_MAX, 1000)(given), (UINT32_MAX - 616) % 1000);
}

TEST(Permutation, is_the_standard_librarys_shuffle) {
#if !defined(_GLIBCXX_RELEASE) || _GLIBCXX_RELEASE < 11
  GTEST_SKIP() << "the shuffle that GAP's graphs are known by is that of libstdc++ 11 and later";
#endif
  for (const std::uint32_t size : {1U, 2U, 3U, 4U, 1000U, 32768U, 65535U, 65536U, 65537U, 300001U}) {
    std::vector<Vertex> expected(size);
    std::iota(expected.begin(), expected.end(), 0);
    std::shuffle(expected.begin(), expected.end(), std::mt19937(27491095));
    const HostArray<Vertex> found = shuffled_identity(size, 27491095);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin(), found.end())) << size;
  }
}

}  // namespace
}  // namespace grainscope::graph
