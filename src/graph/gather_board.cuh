#ifndef GRAINSCOPE_SRC_GRAPH_GATHER_BOARD_CUH
#define GRAINSCOPE_SRC_GRAPH_GATHER_BOARD_CUH

// What the persistent blocks of edge_gather.cuh share in GPU memory: how far the vertex list has been taken,
// whether all lists are done, and a post for each block through which another gives it part of a list. In
// GraphPEG that is the control processor's part.

#include <algorithm>
#include <cstdint>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::graph {

enum class PostState : std::uint32_t { empty, claimed, full };

// Of one block; a sector of memory. Others read `pending` and `state` at any time; what is given is theirs
// who made `state` claimed, and the block's own once it is full.
struct BlockPost {
  std::uint32_t pending;  // edges that the block's table has yet to gather
  PostState state;
  std::uint32_t vertex;  // whose list, and which part of it, is given
  std::uint32_t unused;
  std::uint64_t start;
  std::uint64_t end;
};

// Addresses in GPU memory, of one level.
struct GatherView {
  unsigned long long* popped = nullptr;  // items of the vertex list that have been taken, or asked for
  // Lists that arose where one was cut, less lists that are done, modulo 2⁶⁴: with the count of items it is 0
  // once no edge is left anywhere.
  unsigned long long* surplus = nullptr;
  std::uint32_t* timed_out = nullptr;  // set by a block that waited in vain: all leave
  BlockPost* posts = nullptr;          // [grid]
  std::uint64_t patience_ns = 0;       // for which a block waits while no list gets done
};

class GatherBoard {
 public:
  GatherBoard(int gpu, unsigned blocks, double patience_s = 10)
      : memory_(gpu, kPosts + blocks * sizeof(BlockPost)),
        timed_out_(gpu, sizeof(std::uint32_t)),
        patience_ns_(static_cast<std::uint64_t>(patience_s * 1e9)) {
    forget();
  }

  // Before each level: nothing taken, nothing given.
  void clear(const cuda::Stream& stream) const {
    cuda::check(cudaMemsetAsync(memory_.data(), 0, memory_.bytes(), stream.get()),
                "clear what gathering blocks share");
  }
  [[nodiscard]] GatherView view() const {
    auto* bytes = static_cast<std::byte*>(memory_.data());
    return {reinterpret_cast<unsigned long long*>(bytes), reinterpret_cast<unsigned long long*>(bytes) + 1,
            static_cast<std::uint32_t*>(timed_out_.data()), reinterpret_cast<BlockPost*>(bytes + kPosts),
            patience_ns_};
  }
  // After a traversal: throws FailedError where blocks gave up waiting. That is then forgotten.
  void check() const {
    std::uint32_t timed_out = 0;
    cuda::check(cudaMemcpy(&timed_out, timed_out_.data(), sizeof(timed_out), cudaMemcpyDefault),
                "ask whether gathering blocks gave up");
    if (timed_out != 0) {
      forget();
      throw FailedError("blocks that gather edges waited " + std::to_string(patience_ns_ / 1'000'000) +
                        " ms for lists of which none got done: the traversal is not complete");
    }
  }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes() + timed_out_.bytes(); }

 private:
  static constexpr std::uint64_t kPosts = 128;  // where they begin

  void forget() const {
    cuda::check(cudaMemset(timed_out_.data(), 0, timed_out_.bytes()), "clear a time-out");
  }

  cuda::DeviceBuffer memory_;
  cuda::DeviceBuffer timed_out_;  // outlives levels
  std::uint64_t patience_ns_;
};

}  // namespace grainscope::graph

#endif
