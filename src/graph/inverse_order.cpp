#include "inverse_order.hpp"

#include <atomic>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "threads.hpp"

namespace grainscope::graph {
namespace {

[[noreturn]] void throw_no_permutation(std::span<const Vertex> order) {
  std::vector<bool> seen(order.size());
  for (std::size_t v = 0; v < order.size(); ++v) {
    const bool outside = order[v] >= order.size();
    if (outside || seen[order[v]]) {
      throw UsageError("an order that is no permutation: entry " + std::to_string(v) + ", " +
                       std::to_string(order[v]) + (outside ? ", is no vertex" : ", is repeated"));
    }
    seen[order[v]] = true;
  }
  throw FailedError("the order changed while it was read");
}

}  // namespace

HostArray<Vertex> inverse_order(std::span<const Vertex> order) {
  HostArray<Vertex> inverse(order.size());
  bool good = true;
#pragma omp parallel for reduction(&& : good) if (order.size() > kWorthThreads)
  for (std::size_t v = 0; v < order.size(); ++v) {
    if (order[v] < order.size()) {
      std::atomic_ref(inverse[order[v]]).store(static_cast<Vertex>(v), std::memory_order_relaxed);
    }
    good = good && order[v] < order.size();
  }
  if (!good) {
    throw_no_permutation(order);
  }
  // Of a number that is repeated only one entry is found again.
#pragma omp parallel for reduction(&& : good) if (order.size() > kWorthThreads)
  for (std::size_t v = 0; v < order.size(); ++v) {
    good = good && inverse[order[v]] == v;
  }
  if (!good) {
    throw_no_permutation(order);
  }
  return inverse;
}

}  // namespace grainscope::graph
