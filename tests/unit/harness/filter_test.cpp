#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

const char* const kName = "host/memcpy/node:0/flush:on/bytes:4096";

TEST(Filter, finds_its_expression_anywhere_in_a_name) {
  EXPECT_TRUE(Filter("memcpy").keeps(kName));
  EXPECT_TRUE(Filter("flush:o[nf]").keeps(kName));
  EXPECT_TRUE(Filter("latency|memcpy").keeps(kName));
  EXPECT_FALSE(Filter("latency").keeps(kName));
}

TEST(Filter, anchors_hold_the_ends) {
  EXPECT_TRUE(Filter("^host/").keeps(kName));
  EXPECT_FALSE(Filter("^memcpy").keeps(kName));
  EXPECT_TRUE(Filter("bytes:4096$").keeps(kName));
  EXPECT_FALSE(Filter("bytes:409$").keeps(kName));
}

TEST(Filter, a_leading_minus_turns_it_round) {
  EXPECT_FALSE(Filter("-memcpy").keeps(kName));
  EXPECT_TRUE(Filter("-latency").keeps(kName));
  EXPECT_TRUE(Filter("-bytes:409$").keeps(kName));
}

TEST(Filter, empty_and_all_keep_everything) {
  for (const char* text : {"", "all", "."}) {
    EXPECT_TRUE(Filter(text).keeps(kName)) << text;
  }
  EXPECT_FALSE(Filter("-all").keeps(kName));
}

TEST(Filter, a_size_with_a_unit_is_found_in_bytes) {
  for (const char* text : {"bytes:4KiB", "bytes:4 KiB", "bytes:4kib$", "bytes:4K", "bytes:(1KiB|4KiB)",
                           "bytes:4096B", "^host/.*bytes:4KiB$"}) {
    EXPECT_TRUE(Filter(text).keeps(kName)) << text;
  }
  for (const char* text : {"bytes:1KiB", "bytes:4KB", "bytes:4MiB", "bytes:14KiB", "bytes:[4KiB]x"}) {
    EXPECT_FALSE(Filter(text).keeps(kName)) << text;
  }
  EXPECT_FALSE(Filter("-bytes:4KiB").keeps(kName));
}

TEST(Filter, a_size_at_the_end_ends_there) {
  EXPECT_FALSE(Filter("bytes:4B").keeps(kName));
  EXPECT_TRUE(Filter("bytes:4").keeps(kName));
  EXPECT_TRUE(Filter("bytes:4KiB").keeps("grain/bytes:4096/span:2"));
}

TEST(Filter, a_size_that_names_have_with_its_unit_is_found_as_it_is) {
  EXPECT_TRUE(Filter("pages:4KiB").keeps("host/latency/pages:4KiB/bytes:64"));
  EXPECT_TRUE(Filter("[64K]ages:").keeps("host/latency/pages:4KiB") ==
              Filter("[46K]ages:").keeps("host/latency/pages:4KiB"));
  EXPECT_TRUE(Filter("kron20").keeps("bfs/graph:kron20"));
  EXPECT_TRUE(Filter("fanout:10x25").keeps("graphsage/fanout:10x25/batch:1"));
}

TEST(Filter, two_filters_do_not_mix) {
  const Filter one("memcpy");
  const Filter other("latency");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(one.keeps(kName));
    EXPECT_FALSE(other.keeps(kName));
  }
}

TEST(Filter, of_many_letters_that_may_be_any_takes_no_longer) {
  std::string any;
  for (int i = 0; i < 1000; ++i) {
    any += ".*";
  }
  const Filter filter("^host/" + any + "4096$");
  const double start_s = steady_now_s();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(filter.keeps(kName));
    ASSERT_FALSE(filter.keeps("gather"));
  }
  EXPECT_LT(steady_now_s() - start_s, 2.0);
}

TEST(Filter, keeps_repeats_that_mean_something) {
  EXPECT_FALSE(Filter("^host\\.*.*x").keeps(kName));
  EXPECT_TRUE(Filter("^host/[.*.*m]").keeps(kName));
  EXPECT_TRUE(Filter("^host.*.*?4096$").keeps(kName));
}

TEST(Filter, what_does_not_compile_is_refused_by_name) {
  for (const char* text : {"(", "[a", "a{2", "-(", "*a"}) {
    try {
      Filter{text};
      FAIL() << "'" << text << "' was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("--benchmark_filter"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("regular expression"), std::string::npos) << error.what();
    }
  }
}

// By backtracking each letter of the name would double the time.
TEST(Filter, takes_no_longer_for_stars_within_stars) {
  const std::string name(300, 'a');
  EXPECT_FALSE(Filter("(a*)*b").keeps(name));
  EXPECT_FALSE(Filter("((((a*)*)*)*)*b|(.*)*b").keeps(name));
  EXPECT_TRUE(Filter("((a*)*)*$").keeps(name));
}

TEST(Filter, is_of_4096_letters_at_most) {
  EXPECT_TRUE(Filter(std::string(4096, 'a')).keeps(std::string(4096, 'a')));
  EXPECT_TRUE(Filter(std::string(2047, '(') + "aa" + std::string(2047, ')')).keeps("aa"));
  try {
    Filter{std::string(100'000, 'a')};
    FAIL() << "100,000 letters were accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--benchmark_filter has 100000 letters, more than 4096");
  }
}

TEST(NearNames, the_nearest_comes_first) {
  const std::vector<std::string> names{"host/latency/bytes:4096", "host/memcpy/bytes:4096",
                                       "transfer/memcpy/bytes:64"};
  EXPECT_EQ(near_names("host/memcopy", names, 1), std::vector{names[1]});
  EXPECT_EQ(near_names("transfer/memcpy/bytes:65", names, 1), std::vector{names[2]});
}

TEST(NearNames, gives_no_more_than_asked_for_nor_than_there_are) {
  const std::vector<std::string> names{"a", "b", "c"};
  EXPECT_EQ(near_names("x", names, 2).size(), 2U);
  EXPECT_EQ(near_names("x", names, 9).size(), 3U);
  EXPECT_TRUE(near_names("x", {}, 9).empty());
}

}  // namespace
}  // namespace grainscope::harness
