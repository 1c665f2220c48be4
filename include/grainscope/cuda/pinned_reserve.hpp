#ifndef GRAINSCOPE_CUDA_PINNED_RESERVE_HPP
#define GRAINSCOPE_CUDA_PINNED_RESERVE_HPP

// Pinned host memory that was given back and waits to be taken again: to lock a GiB takes half a second, and
// most cases use it for milliseconds.

#include <cstdint>
#include <memory>

namespace grainscope::cuda {

class PinnedBuffer;

// Not thread-safe.
class PinnedReserve {
 public:
  PinnedReserve();
  ~PinnedReserve();
  PinnedReserve(const PinnedReserve&) = delete;
  PinnedReserve& operator=(const PinnedReserve&) = delete;

  // At least so many bytes on a node, where the calling thread is bound: given back before, or new. Holds
  // whatever the last user left in it. Throws as PinnedBuffer.
  [[nodiscard]] PinnedBuffer take(std::uint64_t bytes, int node);
  // Keeps the two largest of each node that were given back, of at most 1 GiB each.
  void give_back(PinnedBuffer buffer, int node);
  // Frees all: whoever takes next gets other pages.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grainscope::cuda

#endif
