#ifndef GRAINSCOPE_SRC_GRAPH_GATHER_EXCHANGE_CUH
#define GRAINSCOPE_SRC_GRAPH_GATHER_EXCHANGE_CUH

// How gathering blocks even out their work and learn that there is none left (GraphPEG's exchange unit and
// control processor). Every member is called by all lanes of a warp, each with its list of the block's table.

#include "../cuda/launch.cuh"
#include "gather_table.cuh"
#include "vertex_list.cuh"

namespace grainscope::graph {

inline constexpr std::uint32_t kImbalancedBy = 512;  // edges; the paper's

class BlockExchange {
 public:
  __device__ BlockExchange(const GatherView& board, int element_bytes)
      : board_(board), element_bytes_(element_bytes) {}

  // What another block gave, if anything, becomes the list of the first lane that has none.
  __device__ void receive(WorkingList& mine) const {
    const unsigned empty = __ballot_sync(~0U, !mine.valid());
    if (static_cast<int>(lane_) != __ffs(static_cast<int>(empty)) - 1) {
      return;
    }
    BlockPost& post = own_post();
    const OfDevice<PostState> state(post.state);
    if (state.load(::cuda::memory_order_acquire) == PostState::full) {
      mine = {post.start, post.end, post.vertex, ListStatus::ready, 0, 0};
      state.store(PostState::empty, ::cuda::memory_order_release);
    }
  }

  // Of a block without lists: until another gives it one. Returns false, to all, once every list of `count`
  // is done, or where blocks gave up.
  __device__ bool wait(std::uint64_t count) const {
    const unsigned given = lane_ == 0 && wait_alone(count) ? 1 : 0;
    return __shfl_sync(~0U, given, 0) != 0;
  }

  // Tells how many edges are pending here, and gives half of the largest list away where another block has
  // 512 less. An interval is one call.
  __device__ void balance(WorkingList& mine, std::uint32_t pending) {
    if (lane_ == 0) {
      OfDevice<std::uint32_t>(own_post().pending).store(pending, ::cuda::memory_order_relaxed);
    }
    ++intervals_;
    if (pending <= kImbalancedBy) {
      return;
    }
    const std::uint32_t other = asked();
    const std::uint32_t theirs = pending_of(other);
    const std::uint32_t least = __reduce_min_sync(~0U, theirs);
    if (least >= pending - kImbalancedBy) {
      return;
    }
    const int receiver = __ffs(static_cast<int>(__ballot_sync(~0U, theirs == least))) - 1;
    BlockPost& post = board_.posts[__shfl_sync(~0U, other, receiver)];
    const auto rest = static_cast<std::uint32_t>(mine.rest());
    const std::uint32_t most = __reduce_max_sync(~0U, rest);
    if (static_cast<int>(lane_) == __ffs(static_cast<int>(__ballot_sync(~0U, rest == most))) - 1) {
      give(mine, post);
    }
  }

 private:
  static constexpr unsigned kNapNs = 200;

  [[nodiscard]] __device__ BlockPost& own_post() const { return board_.posts[blockIdx.x]; }

  __device__ bool wait_alone(std::uint64_t count) const {
    OfDevice<std::uint32_t>(own_post().pending).store(0, ::cuda::memory_order_relaxed);
    const OfDevice<PostState> state(own_post().state);
    const OfDevice<unsigned long long> surplus(*board_.surplus);
    const OfDevice<std::uint32_t> timed_out(*board_.timed_out);
    unsigned long long seen = surplus.load(::cuda::memory_order_relaxed);
    std::uint64_t since = cuda::global_timer_ns();
    while (state.load(::cuda::memory_order_acquire) != PostState::full) {
      const unsigned long long now = surplus.load(::cuda::memory_order_relaxed);
      if (now + count == 0 || timed_out.load(::cuda::memory_order_relaxed) != 0) {
        return false;
      }
      if (now != seen) {
        seen = now;
        since = cuda::global_timer_ns();
      } else if (cuda::global_timer_ns() - since > board_.patience_ns) {
        timed_out.store(1, ::cuda::memory_order_relaxed);
        return false;
      }
      __nanosleep(kNapNs);
    }
    return true;
  }

  // The block that this lane asks in this interval: 32 others in turn.
  [[nodiscard]] __device__ std::uint32_t asked() const {
    return (blockIdx.x + 1 + intervals_ * kWarpLanes + lane_) % gridDim.x;
  }
  // UINT32_MAX where it cannot be given anything now.
  [[nodiscard]] __device__ std::uint32_t pending_of(std::uint32_t block) const {
    BlockPost& post = board_.posts[block];
    const bool free = OfDevice<PostState>(post.state).load(::cuda::memory_order_relaxed) == PostState::empty;
    return free && block != blockIdx.x
               ? OfDevice<std::uint32_t>(post.pending).load(::cuda::memory_order_relaxed)
               : UINT32_MAX;
  }

  // By one lane: the second half of its list, from the end of a step on.
  __device__ void give(WorkingList& mine, BlockPost& post) const {
    const std::uint32_t keep = cut_to_steps(mine.start, mine.rest() / 2, element_bytes_);
    const OfDevice<PostState> state(post.state);
    PostState expected = PostState::empty;
    if (keep == 0 ||
        !state.compare_exchange_strong(expected, PostState::claimed, ::cuda::memory_order_acquire,
                                       ::cuda::memory_order_relaxed)) {
      return;
    }
    // Before anybody can be done with it: as long as this block has its half, nobody takes all for done.
    OfDevice<unsigned long long>(*board_.surplus).fetch_add(1, ::cuda::memory_order_relaxed);
    post.vertex = mine.vertex;
    post.start = mine.start + keep;
    post.end = mine.end;
    state.store(PostState::full, ::cuda::memory_order_release);
    mine.end = mine.start + keep;
    mine.whole = 0;
  }

  const GatherView& board_;
  int element_bytes_;
  std::uint32_t lane_ = threadIdx.x % kWarpLanes;
  std::uint32_t intervals_ = 0;
};

}  // namespace grainscope::graph

#endif
