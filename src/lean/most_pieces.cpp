#include "most_pieces.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {

using graph::Vertex;

std::uint64_t pieces_of_list(const graph::Csr& lists, const HotTier* tier, const CompressedLists* compressed,
                             Vertex vertex, std::uint64_t longer) {
  const Step words = words_of(lists, tier, compressed, vertex);
  const std::uint64_t cold =
      words.to - words.from > longer ? pieces_of(words.from, words.to, piece_elements(longer)) : 0;
  return cold + hot_pieces_of(tier != nullptr ? tier->of(vertex) : 0, longer);
}

std::uint64_t most_pieces(const graph::Csr& lists, const HotTier* tier, const CompressedLists* compressed) {
  std::uint64_t of_all = 0;
  std::vector<std::uint64_t> of_few;
#pragma omp parallel reduction(+ : of_all)
  {
    std::vector<std::uint64_t> mine;
#pragma omp for
    for (std::uint64_t v = 0; v < lists.vertices(); ++v) {
      const auto vertex = static_cast<Vertex>(v);
      of_all += pieces_of_list(lists, tier, compressed, vertex, kLongList);
      const std::uint64_t pieces = pieces_of_list(lists, tier, compressed, vertex, kLongOfFew);
      if (pieces > 0) {
        mine.push_back(pieces);
      }
    }
#pragma omp critical
    of_few.insert(of_few.end(), mine.begin(), mine.end());
  }
  if (of_few.size() > kFewLists) {
    std::nth_element(of_few.begin(), of_few.begin() + kFewLists, of_few.end(), std::greater<>());
    of_few.resize(kFewLists);
  }
  return std::max(of_all, std::accumulate(of_few.begin(), of_few.end(), std::uint64_t{0}));
}

}  // namespace grainscope::lean
