#include "vertex_bits.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <vector>

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kBlockWords = 2048;  // what one thread counts and writes at a time

}  // namespace

VertexBits::VertexBits(Vertex vertices) : words_((std::uint64_t{vertices} + 63) / 64), listed_(vertices) {}

bool VertexBits::has(Vertex v) const {
  return (std::atomic_ref(words_[v / 64]).load(std::memory_order_relaxed) >> (v % 64) & 1U) != 0;
}

void VertexBits::add(Vertex v) {
  if (!has(v)) {
    std::atomic_ref(words_[v / 64]).fetch_or(std::uint64_t{1} << (v % 64), std::memory_order_relaxed);
  }
}

std::span<const Vertex> VertexBits::list() {
  const std::uint64_t blocks = (words_.size() + kBlockWords - 1) / kBlockWords;
  const auto words_of = [&](std::uint64_t block) {
    const std::uint64_t first = block * kBlockWords;
    return words_.span().subspan(first, std::min(kBlockWords, words_.size() - first));
  };
  std::vector<std::uint64_t> starts(blocks + 1);
#pragma omp parallel for if (blocks > 1)
  for (std::uint64_t block = 0; block < blocks; ++block) {
    std::uint64_t count = 0;
    for (const std::uint64_t word : words_of(block)) {
      count += static_cast<std::uint64_t>(std::popcount(word));
    }
    starts[block + 1] = count;
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
#pragma omp parallel for if (blocks > 1)
  for (std::uint64_t block = 0; block < blocks; ++block) {
    Vertex* next = listed_.data() + starts[block];
    std::uint64_t base = block * kBlockWords * 64;
    for (std::uint64_t word : words_of(block)) {
      for (; word != 0; word &= word - 1) {
        *next++ = static_cast<Vertex>(base + static_cast<std::uint64_t>(std::countr_zero(word)));
      }
      base += 64;
    }
  }
  return {listed_.data(), starts[blocks]};
}

void VertexBits::clear() {
  std::fill(words_.begin(), words_.end(), 0);
}

void VertexBits::add_all(const VertexBits& other) {
  for (std::uint64_t i = 0; i < words_.size(); ++i) {
    words_[i] |= other.words_[i];
  }
}

}  // namespace grainscope::graph
