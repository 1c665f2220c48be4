// Hit rates of a ranking.

#include "grainscope/gnn/tiers.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "grainscope/core/error.hpp"

namespace grainscope::gnn {
namespace {

using graph::Vertex;

constexpr std::uint64_t kWorthThreads = 65536;

}  // namespace

std::vector<double> hit_rates(std::span<const std::uint32_t> counts, std::span<const Vertex> ranking,
                              std::span<const double> shares) {
  if (ranking.size() != counts.size()) {
    throw UsageError("hit rates of a ranking of " + std::to_string(ranking.size()) +
                     " rows for accesses to " + std::to_string(counts.size()));
  }
  const auto accesses = [&](std::uint64_t first, std::uint64_t last) {
    std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) if (last - first > kWorthThreads)
    for (std::uint64_t i = first; i < last; ++i) {
      sum += counts[ranking[i]];
    }
    return sum;
  };
  const auto all = static_cast<double>(accesses(0, counts.size()));
  std::vector<double> rates;
  rates.reserve(shares.size());
  for (const double share : shares) {
    if (!(share >= 0 && share <= 1)) {
      throw UsageError("hit rates: " + std::to_string(share) + " is no share of rows");
    }
    const auto rows = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(counts.size())));
    rates.push_back(all == 0 ? 0 : static_cast<double>(accesses(0, rows)) / all);
  }
  return rates;
}

std::vector<Vertex> old_to_new(std::span<const Vertex> ranking) {
  std::vector<Vertex> map(ranking.size());
  std::vector<std::uint8_t> seen(ranking.size());
  bool good = true;
#pragma omp parallel for reduction(&& : good) if (ranking.size() > kWorthThreads)
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const bool inside = ranking[i] < ranking.size();
    good = good && inside && std::atomic_ref(seen[ranking[i]]).exchange(1, std::memory_order_relaxed) == 0;
    if (inside) {
      std::atomic_ref(map[ranking[i]]).store(static_cast<Vertex>(i), std::memory_order_relaxed);
    }
  }
  if (!good) {
    throw UsageError("a ranking of " + std::to_string(ranking.size()) +
                     " rows that is no permutation: a row is missing, or there twice");
  }
  return map;
}

}  // namespace grainscope::gnn
