#include "certified_answers.hpp"

namespace grainscope::harness {
namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit of the result depends on every
// bit of the word.
std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9U;
  word = (word ^ word >> 27) * 0x94d049bb133111ebU;
  return word ^ word >> 31;
}

constexpr std::size_t kManyWords = 1 << 16;  // that a team of threads is worth

}  // namespace

Digest digest_of(std::span<const std::uint32_t> answer) {
  constexpr std::uint64_t kOther = 0x9e3779b97f4a7c15U;
  std::uint64_t one = answer.size();
  std::uint64_t other = answer.size();
#pragma omp parallel for reduction(+ : one, other) if (answer.size() >= kManyWords)
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const std::uint64_t word = static_cast<std::uint64_t>(i) << 32 | answer[i];
    one += mixed(word);
    other += mixed(word + kOther);
  }
  return {one, other};
}

const Verdict* CertifiedAnswers::find(graph::Algorithm algorithm, graph::Vertex source,
                                      const Digest& digest) const {
  const auto found = answers_.find({algorithm, source});
  return found != answers_.end() && found->second.first == digest ? &found->second.second : nullptr;
}

void CertifiedAnswers::keep(graph::Algorithm algorithm, graph::Vertex source, const Digest& digest,
                            const Verdict& verdict) {
  answers_[{algorithm, source}] = {digest, verdict};
}

}  // namespace grainscope::harness
