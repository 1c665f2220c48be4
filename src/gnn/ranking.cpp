// Ranking by score: a radix sort from the lowest digit up, stable, by all threads.

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/scores.hpp"

namespace grainscope::gnn {
namespace {

using graph::Vertex;

constexpr int kDigitBits = 11;
constexpr std::uint64_t kDigits = std::uint64_t{1} << kDigitBits;
constexpr std::uint64_t kLeastChunk = 8192;
constexpr std::uint64_t kMostChunks = 64;

struct Ranked {
  std::uint32_t key;  // the lower, the earlier
  Vertex vertex;
};

// Entries are cut into chunks, the same for any number of threads.
class Sorter {
 public:
  explicit Sorter(std::uint64_t size)
      : size_(size),
        chunks_(std::clamp<std::uint64_t>(size / kLeastChunk, 1, kMostChunks)),
        counts_(chunks_) {}

  // Sorts `from` by a digit into `to`; false, and nothing is done, where all have the same.
  bool sort(const HostArray<Ranked>& from, const HostArray<Ranked>& to, int shift) {
#pragma omp parallel for schedule(dynamic) if (chunks_ > 1)
    for (std::uint64_t chunk = 0; chunk < chunks_; ++chunk) {
      counts_[chunk].fill(0);
      for (std::uint64_t i = begin(chunk); i < begin(chunk + 1); ++i) {
        ++counts_[chunk][digit(from[i], shift)];
      }
    }
    std::uint64_t sum = 0;
    for (std::uint64_t value = 0; value < kDigits; ++value) {
      const std::uint64_t before = sum;
      for (auto& counts : counts_) {
        sum += std::exchange(counts[value], sum);
      }
      if (sum - before == size_) {
        return false;
      }
    }
#pragma omp parallel for schedule(dynamic) if (chunks_ > 1)
    for (std::uint64_t chunk = 0; chunk < chunks_; ++chunk) {
      for (std::uint64_t i = begin(chunk); i < begin(chunk + 1); ++i) {
        to[counts_[chunk][digit(from[i], shift)]++] = from[i];
      }
    }
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t begin(std::uint64_t chunk) const {
    return size_ * chunk / chunks_;
  }
  static std::uint64_t digit(const Ranked& entry, int shift) {
    return (entry.key >> shift) & (kDigits - 1);
  }

  std::uint64_t size_;
  std::uint64_t chunks_;
  std::vector<std::array<std::uint64_t, kDigits>> counts_;
};

template <class KeyOf>
std::vector<Vertex> ranked(std::uint64_t size, std::span<const Vertex> ties, const KeyOf& key_of) {
  HostArray<Ranked> entries(size);
  HostArray<Ranked> spare(size);
#pragma omp parallel for if (size > kLeastChunk)
  for (std::uint64_t i = 0; i < size; ++i) {
    const auto v = ties.empty() ? static_cast<Vertex>(i) : ties[i];
    entries[i] = {key_of(v), v};
  }
  Sorter sorter(size);
  for (int shift = 0; shift < 32; shift += kDigitBits) {
    if (sorter.sort(entries, spare, shift)) {
      std::swap(entries, spare);
    }
  }
  std::vector<Vertex> order(size);
#pragma omp parallel for if (size > kLeastChunk)
  for (std::uint64_t i = 0; i < size; ++i) {
    order[i] = entries[i].vertex;
  }
  return order;
}

}  // namespace

std::vector<Vertex> ranking(std::span<const std::uint32_t> scores, std::span<const Vertex> ties) {
  if (!ties.empty() && ties.size() != scores.size()) {
    throw UsageError("ranking " + std::to_string(scores.size()) + " scores, ties in an order of " +
                     std::to_string(ties.size()));
  }
  return ranked(scores.size(), ties, [&](Vertex v) { return ~scores[v]; });
}

// Numbers that are not negative are ordered as their bits are.
std::vector<Vertex> ranking(std::span<const float> scores) {
  return ranked(scores.size(), {}, [&](Vertex v) { return ~std::bit_cast<std::uint32_t>(scores[v] + 0.0F); });
}

}  // namespace grainscope::gnn
