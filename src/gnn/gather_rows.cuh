#ifndef GRAINSCOPE_SRC_GNN_GATHER_ROWS_CUH
#define GRAINSCOPE_SRC_GNN_GATHER_ROWS_CUH

// The kernel that walks a policy of gnn/access.hpp, and how it is launched.

#include <cuda_runtime.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/gnn/gather_kernel.hpp"

namespace grainscope::gnn {

struct GatherFunction {
  std::function<void(const GatherLists&, cudaStream_t)> launch;
  int most_blocks = 0;  // of a grid; 0: it follows from the rows
};

struct GatherGrid {
  int gpu = 0;
  int blocks = 0;  // at most; 0: as many as the multiprocessors hold
  int sms = 0;     // multiprocessors to fill; 0: all of the GPU's
};

// Of a table that lies in one piece; empty for any other.
[[nodiscard]] inline std::optional<FlatView> flat_view(const TableView& view) {
  const TableShape& shape = view.shape;
  if (shape.local_rows == shape.rows) {
    return FlatView{view.local, shape.row_bytes};
  }
  if (shape.host_rows() == shape.rows && shape.rows <= shape.by_chunk_rows.divisor) {
    return FlatView{view.chunks[0], shape.row_bytes};
  }
  return std::nullopt;
}

template <int kWidth>
struct UnitOf;
template <>
struct UnitOf<2> {
  using Type = unsigned short;
};
template <>
struct UnitOf<4> {
  using Type = unsigned int;
};
template <>
struct UnitOf<8> {
  using Type = uint2;
};
template <>
struct UnitOf<16> {
  using Type = uint4;
};

// The row at a position of the lists: where it lies, and which row of the output it becomes. Beyond their end
// the table's first.
struct ListedRow {
  std::uint64_t address;
  std::uint32_t to;
};
template <class View>
__device__ ListedRow listed_row(const View& view, const GatherLists& lists, std::uint64_t position) {
  const bool listed = position < lists.count;
  return {reinterpret_cast<std::uint64_t>(view.row(listed ? __ldg(lists.rows + position) : 0)),
          listed && lists.positions != nullptr ? __ldg(lists.positions + position)
                                               : static_cast<std::uint32_t>(position)};
}

// Where a table lies in several memories, to find a row takes more instructions than to ask for a unit of it.
// Then each lane of a warp finds one of the tile's rows for all of them, unless there are more rows than
// lanes.
template <class View>
inline constexpr bool kFindsOnce = std::is_same_v<View, TableView>;
inline constexpr unsigned kWholeWarp = 0xffffffff;

// Of a unit that begins `before` bytes before the row's byte `at`, what is the row's, element by element: an
// odd number of float16 leaves every second row of the output, too, no wider boundary.
__device__ inline void store_part(std::byte* row, std::uint32_t row_bytes, std::uint32_t at,
                                  std::uint32_t before, unsigned int value) {
#pragma unroll
  for (std::uint32_t half = 0; half < kStraddlingLoad; half += 2) {
    const std::uint32_t byte = at + half - before;
    if (at + half >= before && byte < row_bytes) {
      __stcs(reinterpret_cast<unsigned short*>(row + byte), static_cast<unsigned short>(value >> (8 * half)));
    }
  }
}

// A lane asks for all units of its tile, `kLoads` of them, before it stores the first. Loads go past the
// first-level cache, so that each is a request of its own, unless rows that are asked for several times stand
// behind one another (`kSorted`). What is stored is not kept in the second. `kStraddles`: the width does not
// divide the row.
template <int kWidth, int kLoads, bool kSorted, bool kStraddles, class Policy, class View>
__global__ void __launch_bounds__(kGatherThreads)
    gather_rows(const __grid_constant__ View view, const __grid_constant__ Policy policy, GatherLists lists) {
  using Unit = typename UnitOf<kWidth>::Type;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kGatherThreads / kWarpLanes);
  const std::uint64_t first =
      std::uint64_t{blockIdx.x} * (kGatherThreads / kWarpLanes) + threadIdx.x / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const std::uint32_t units = policy.shape.units;
  const std::uint64_t tiles = policy.tiles(kLoads);
  const bool found_once = kFindsOnce<View> && policy.most_rows(kLoads) <= kWarpLanes;
  for (std::uint64_t tile = first; tile < tiles; tile += warps) {
    const TileBase base = policy.base(tile, kLoads);
    std::uint64_t rows[kLoads];  // addresses
    std::uint32_t to[kLoads];
    if (found_once) {
      const ListedRow own = listed_row(view, lists, base.position + static_cast<std::uint32_t>(lane));
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const auto from = static_cast<int>(policy.place(base, k, lane).position - base.position);
        rows[k] = __shfl_sync(kWholeWarp, own.address, from);
        to[k] = __shfl_sync(kWholeWarp, own.to, from);
      }
    } else {
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const ListedRow row = listed_row(view, lists, policy.place(base, k, lane).position);
        rows[k] = row.address;
        to[k] = row.to;
      }
    }
    std::uint32_t elements[kLoads];
    std::uint32_t before[kLoads];  // bytes of the first unit that are not the row's
    Unit values[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const Place place = policy.place(base, k, lane);
      const std::uint32_t element = policy.element(place, policy.phase(rows[k]));
      before[k] = kStraddles ? static_cast<std::uint32_t>(rows[k] % kWidth) : 0;
      // As RowShape::holds.
      const bool holds =
          element < units && (!kStraddles || element * kWidth < policy.shape.row_bytes + before[k]);
      elements[k] = place.position < lists.count && holds ? element : units;
      if (elements[k] < units) {
        const Unit* const unit = reinterpret_cast<const Unit*>(rows[k] - before[k]) + element;
        values[k] = kSorted ? __ldg(unit) : __ldcg(unit);
      }
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (elements[k] < units) {
        if constexpr (kStraddles) {
          const std::uint32_t row_bytes = policy.shape.row_bytes;
          store_part(lists.out + std::uint64_t{to[k]} * row_bytes, row_bytes, elements[k] * kWidth, before[k],
                     values[k]);
        } else {
          __stcs(reinterpret_cast<Unit*>(lists.out) + std::uint64_t{to[k]} * units + elements[k], values[k]);
        }
      }
    }
  }
}

// As many blocks, each with `shared` bytes of shared memory, as the multiprocessors hold at once, or the cap.
// Loads the kernel, which must be there before a gate closes.
template <class Kernel>
int most_blocks(Kernel kernel, const GatherGrid& grid, std::uint64_t shared = 0) {
  cuda::load_kernel(kernel, "load a kernel that gathers rows");
  const int blocks = cuda::blocks_on_multiprocessor(kernel, kGatherThreads, shared);
  const int full = std::max(1, blocks * (grid.sms > 0 ? grid.sms : cuda::sm_count(grid.gpu)));
  return grid.blocks > 0 ? std::min(grid.blocks, full) : full;
}

// `most` blocks, 0: one for every few tiles; each with `shared` bytes of shared memory, which it does not
// use.
template <int kWidth, int kLoads, bool kSorted, bool kStraddles, class Policy, class View>
GatherFunction launch_rows(const View& view, std::uint32_t row_bytes, int most, int shared) {
  const auto launch = [=](const GatherLists& lists, cudaStream_t stream) {
    const Policy policy(RowShape(lists.count, row_bytes, kWidth));
    constexpr std::uint64_t kTilesOfBlock = kGatherThreads / kWarpLanes;
    std::uint64_t blocks = (policy.tiles(kLoads) + kTilesOfBlock - 1) / kTilesOfBlock;
    if (most > 0) {
      blocks = std::min(blocks, static_cast<std::uint64_t>(most));
    }
    if (blocks == 0) {
      return;
    }
    gather_rows<kWidth, kLoads, kSorted, kStraddles>
        <<<static_cast<unsigned>(blocks), kGatherThreads, static_cast<unsigned>(shared), stream>>>(
            view, policy, lists);
    cuda::check_launch("gather_rows");
  };
  return {launch, most};
}

// Several loads under way in each lane, and blocks that stay: the most requests at once.
template <class Policy>
struct AnyOrder {
  template <int kWidth, bool kStraddles, class View>
  static GatherFunction bind(const View& view, std::uint32_t row_bytes, const GatherGrid& grid) {
    constexpr int kLoads = loads_of_tile(kWidth);
    return launch_rows<kWidth, kLoads, false, kStraddles, Policy>(
        view, row_bytes, most_blocks(gather_rows<kWidth, kLoads, false, kStraddles, Policy, View>, grid), 0);
  }
};

// Calls `bind` with the width as a constant.
template <class Bind>
GatherFunction with_width(std::uint32_t width, const Bind& bind) {
  switch (width) {
    case 2:
      return bind(std::integral_constant<int, 2>{});
    case 4:
      return bind(std::integral_constant<int, 4>{});
    case 8:
      return bind(std::integral_constant<int, 8>{});
    case 16:
      return bind(std::integral_constant<int, 16>{});
    default:
      throw UsageError("a lane loads 2, 4, 8 or 16 bytes, not " + std::to_string(width));
  }
}

// The same for a table in one piece, and for any other.
template <class Binding, int kWidth, bool kStraddles>
GatherFunction bind_width(const TableView& view, const GatherGrid& grid) {
  const std::uint32_t row_bytes = view.shape.row_bytes;
  if (const auto flat = flat_view(view)) {
    return Binding::template bind<kWidth, kStraddles>(*flat, row_bytes, grid);
  }
  return Binding::template bind<kWidth, kStraddles>(view, row_bytes, grid);
}
template <class Binding>
GatherFunction bind_rows(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return with_width(width, [&](auto bytes) { return bind_width<Binding, bytes(), false>(view, grid); });
}
// Of masked walks, also where the width does not divide the row.
template <class Binding>
GatherFunction bind_masked(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return width == kStraddlingLoad && view.shape.row_bytes % width != 0
             ? bind_width<Binding, static_cast<int>(kStraddlingLoad), true>(view, grid)
             : bind_rows<Binding>(view, width, grid);
}

}  // namespace grainscope::gnn

#endif
