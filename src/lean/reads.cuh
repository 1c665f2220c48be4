#ifndef GRAINSCOPE_SRC_LEAN_READS_CUH
#define GRAINSCOPE_SRC_LEAN_READS_CUH

// What kernels count of their own reads, in runs that are not timed. By all lanes of a warp together.

#include <cstdint>

#include "../cuda/launch.cuh"
#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {

inline constexpr unsigned kAllLanes = 0xffffffffU;

struct ReadNote {
  unsigned long long sectors;   // over the link, no cache
  unsigned long long elements;  // neighbours over the link
  unsigned long long hot;       // neighbours from GPU memory
};

__device__ inline void add_lanes(unsigned long long* sum, bool mine) {
  const unsigned lanes = __ballot_sync(kAllLanes, mine);
  if (cuda::lane_of_warp() == 0 && lanes != 0) {
    atomicAdd(sum, static_cast<unsigned long long>(__popc(lanes)));
  }
}

// The sectors of one load of a word each by the lanes that `reads`.
__device__ inline void count_sectors(ReadNote* note, bool reads, std::uint64_t word) {
  // Idle lanes have sectors of their own.
  const unsigned long long sector = reads ? word / kSectorElements : ~0ULL - cuda::lane_of_warp();
  const unsigned same = __match_any_sync(kAllLanes, sector);
  add_lanes(&note->sectors, reads && __ffs(static_cast<int>(same)) - 1 == cuda::lane_of_warp());
}

}  // namespace grainscope::lean

#endif
