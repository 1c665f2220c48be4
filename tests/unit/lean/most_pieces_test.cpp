// The room for pieces of long lists: a set of lists that needs more of it would write beyond its end.

#include "most_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

// What a step over these lists hands out.
std::uint64_t handed_out(const Csr& lists, const HotTier* tier, const CompressedLists* compressed,
                         const std::vector<Vertex>& set) {
  return std::accumulate(set.begin(), set.end(), std::uint64_t{0}, [&](std::uint64_t sum, Vertex v) {
    return sum + pieces_of_list(lists, tier, compressed, v, long_list(set.size()));
  });
}

// Any number of lists, at random and the longest ones, of few as of one more than few.
TEST(MostPieces, is_room_for_any_set_of_lists) {
  std::mt19937 random(1);
  for (const char* spec : {"kron:16", "dense:15"}) {
    const Csr lists = graph::make_graph(graph::parse_graph_spec(spec), false);
    const HotTier tier = plan_tier(lists, TierPolicy::lists, lists.edges() / 4);
    const CompressedLists packed = compress(lists, nullptr, false);
    const CompressedLists rest = compress(lists, &tier, false);
    const std::pair<const HotTier*, const CompressedLists*> layouts[] = {
        {nullptr, nullptr}, {&tier, nullptr}, {nullptr, &packed}, {&tier, &rest}};
    std::vector<Vertex> all(lists.vertices());
    std::iota(all.begin(), all.end(), Vertex{0});
    for (const auto& [hot, compressed] : layouts) {
      const std::uint64_t most = most_pieces(lists, hot, compressed);
      std::uint64_t needed = handed_out(lists, hot, compressed, all);
      for (std::uint64_t count = 1; count <= lists.vertices(); count = count * 2 + 1) {
        for (const std::uint64_t size : {count, kFewLists, kFewLists + 1}) {
          std::vector<Vertex> set = all;
          std::shuffle(set.begin(), set.end(), random);
          if (size % 2 == 0) {
            std::sort(set.begin(), set.end(),
                      [&](Vertex a, Vertex b) { return lists.degree(a) > lists.degree(b); });
          }
          set.resize(std::min<std::uint64_t>(size, set.size()));
          needed = std::max(needed, handed_out(lists, hot, compressed, set));
          ASSERT_LE(needed, most) << spec << ", " << size << " lists";
        }
      }
      EXPECT_GE(needed * 4, most) << spec << ": far more room than anything needs";
    }
  }
}

TEST(MostPieces, of_one_list_are_its_lines_cut_in_two_or_eight) {
  Csr lists = graph::make_graph(graph::parse_graph_spec("dense:10"), false);
  Vertex longest = 0;
  for (Vertex v = 0; v < lists.vertices(); ++v) {
    longest = lists.degree(v) > lists.degree(longest) ? v : longest;
  }
  const std::uint64_t words = lists.degree(longest);
  ASSERT_GT(words, kLongOfFew);
  const std::uint64_t few = pieces_of_list(lists, nullptr, nullptr, longest, kLongOfFew);
  EXPECT_GE(few * kLongOfFew, words);
  EXPECT_LE((few - 2) * kLongOfFew, words);
  EXPECT_EQ(pieces_of_list(lists, nullptr, nullptr, longest, words), 0U) << "not longer than that";
}

}  // namespace
}  // namespace grainscope::lean
