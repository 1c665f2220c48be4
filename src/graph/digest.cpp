#include "grainscope/graph/answers.hpp"
#include "hash.hpp"

namespace grainscope::graph {

Digest digest_of(std::span<const std::uint32_t> answer) {
  constexpr std::size_t kManyWords = 1 << 16;  // that a team of threads is worth
  constexpr std::uint64_t kOther = 0xd1342543de82ef95U;
  std::uint64_t one = answer.size();
  std::uint64_t other = answer.size();
#pragma omp parallel for reduction(+ : one, other) if (answer.size() >= kManyWords)
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const std::uint64_t word = std::uint64_t{i} << 32 | answer[i];
    one += mixed(word);
    other += mixed(word ^ kOther);
  }
  return {one, other};
}

}  // namespace grainscope::graph
