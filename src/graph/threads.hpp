#ifndef GRAINSCOPE_SRC_GRAPH_THREADS_HPP
#define GRAINSCOPE_SRC_GRAPH_THREADS_HPP

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace grainscope::graph {

// Waking a thread is worth while for so many things.
inline constexpr std::uint64_t kWorthThreads = std::uint64_t{1} << 14;

// As many threads as `count` things are worth.
[[nodiscard]] inline int threads_for(std::uint64_t count) {
  return static_cast<int>(std::min<std::uint64_t>(omp_get_max_threads(), 1 + count / kWorthThreads));
}

}  // namespace grainscope::graph

#endif
