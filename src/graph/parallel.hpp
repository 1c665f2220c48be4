#ifndef GRAINSCOPE_SRC_GRAPH_PARALLEL_HPP
#define GRAINSCOPE_SRC_GRAPH_PARALLEL_HPP

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

namespace grainscope::graph {

// Calls body(0) … body(count − 1) by all threads, in no order. What the lowest index throws comes out, which
// is the same whatever the number of threads; indices above one that threw may be left out.
template <class Body>
void for_each_index(std::uint64_t count, const Body& body) {
  std::atomic<std::uint64_t> failed{count};
  std::exception_ptr error;
  std::mutex mutex;
#pragma omp parallel for schedule(dynamic) if (count > 1)
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > failed.load(std::memory_order_relaxed)) {
      continue;
    }
    try {
      body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (i < failed) {
        failed = i;
        error = std::current_exception();
      }
    }
  }
  if (error) {
    std::rethrow_exception(error);
  }
}

// body(first, last) for pieces [first, last) of at most `piece` of `count` things, by all threads.
template <class Body>
void for_pieces(std::uint64_t count, std::uint64_t piece, const Body& body) {
  for_each_index(count / piece + (count % piece != 0 ? 1 : 0), [&](std::uint64_t i) {
    const std::uint64_t first = i * piece;
    body(first, count - first < piece ? count : first + piece);
  });
}

}  // namespace grainscope::graph

#endif
