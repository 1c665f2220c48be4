// The gather kernels, chosen by mode, and the sort that address_ordered has before its own.

#include "grainscope/gnn/gather_kernel.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "../cuda/bulk.cuh"
#include "../cuda/launch.cuh"
#include "gather_rows.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "pair_sort.hpp"

namespace grainscope::gnn {
namespace {

// naive and vector: a flat grid over the output.
GatherFunction flat_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return bind_rows<AnyOrder<Naive>>(view, width, grid);
}

GatherFunction shifted_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return bind_rows<AnyOrder<CircularShift>>(view, width, grid);
}

// Warps, or parts of them, walk rows from the line boundary before them.
GatherFunction masked_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return bind_masked<AnyOrder<Masked>>(view, width, grid);
}

// address_ordered: masked, over rows that are sorted by address.
// Repeated rows stand behind one another then, and all but the first come from the first-level cache.
//
// Memory behind the translation wall is reached in granules, of which few are known at once. So as few rows
// are under way as fill a link, in the order of the list: blocks are begun one after another, each takes a
// few rows, and no more of them are there at once than needed. Blocks that stay and stride through the list
// would drift apart, and ask for more granules at once.

// With 16 bytes a lane a MiB is under way: many times what fills a link.
constexpr int kBlocksAtOnce = 256;
constexpr int loads_of(int width) {
  return 16 / width;
}

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  cuda::check(cudaDeviceGetAttribute(&value, which, gpu), "ask for a GPU's shared memory");
  return value;
}

// Shared memory of a block with which a multiprocessor holds its share of the blocks and no more.
int shared_bytes(const GatherGrid& grid) {
  const int sms = grid.sms > 0 ? grid.sms : cuda::sm_count(grid.gpu);
  const int held = (kBlocksAtOnce + sms - 1) / sms;
  const int of_block = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, grid.gpu) / held -
                       attribute(cudaDevAttrReservedSharedMemoryPerBlock, grid.gpu);
  return std::clamp(of_block, 0, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, grid.gpu));
}

struct InOrder {
  template <int kWidth, bool kStraddles, class View>
  static GatherFunction bind(const View& view, std::uint32_t row_bytes, const GatherGrid& grid) {
    const auto kernel = gather_rows<kWidth, loads_of(kWidth), true, kStraddles, Masked, View>;
    const int most = most_blocks(kernel, grid);
    if (grid.blocks > 0) {
      return launch_rows<kWidth, loads_of(kWidth), true, kStraddles, Masked>(view, row_bytes, most, 0);
    }
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, grid.gpu)),
                "let blocks have much shared memory");
    return launch_rows<kWidth, loads_of(kWidth), true, kStraddles, Masked>(view, row_bytes, 0,
                                                                           shared_bytes(grid));
  }
};

GatherFunction sorted_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return bind_masked<InOrder>(view, width, grid);
}

// The baseline: what DGL's GraphBolt does on the GPU for rows in host memory, after its index_select_impl.cu
// (UVAIndexSelectImpl): rows sorted with their positions, units as wide as rows allow, blocks of 512 threads
// over as few columns as the row has, one unit of a thread at a time, and above 128 bytes from the line
// boundary before the row.

template <int kWidth, class View>
__global__ void graphbolt_rows(const __grid_constant__ View view, std::uint32_t units, bool aligns,
                               GatherLists lists) {
  using Unit = typename UnitOf<kWidth>::Type;
  const std::uint64_t stride = std::uint64_t{blockDim.y} * gridDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.y + threadIdx.y; i < lists.count; i += stride) {
    const auto* row = reinterpret_cast<const Unit*>(view.row(lists.rows[i]));
    const std::uint64_t to = lists.positions != nullptr ? lists.positions[i] : i;
    Unit* out = reinterpret_cast<Unit*>(lists.out) + to * units;
    std::int64_t column = threadIdx.x;
    if (aligns) {
      column -= static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(row) % kLineBytes / kWidth);
    }
    for (; column < static_cast<std::int64_t>(units); column += blockDim.x) {
      if (column >= 0) {
        out[column] = row[column];
      }
    }
  }
}

template <int kWidth, class View>
GatherFunction bind_graphbolt(const View& view, std::uint32_t row_bytes) {
  cuda::load_kernel(graphbolt_rows<kWidth, View>, "load GraphBolt's kernel that gathers rows");
  const auto launch = [=](const GatherLists& lists, cudaStream_t stream) {
    if (lists.count == 0) {
      return;
    }
    const GraphBolt policy(RowShape(lists.count, row_bytes, kWidth));
    const dim3 block(policy.across, GraphBolt::kBlockThreads / policy.across);
    const auto blocks = static_cast<unsigned>((lists.count + block.y - 1) / block.y);
    graphbolt_rows<kWidth><<<blocks, block, 0, stream>>>(view, policy.shape.units, policy.aligns, lists);
    cuda::check_launch("graphbolt_rows");
  };
  return {launch, 0};
}

GatherFunction graphbolt_gather(const TableView& view, std::uint32_t width) {
  return with_width(width, [&](auto bytes) -> GatherFunction {
    if (const auto flat = flat_view(view)) {
      return bind_graphbolt<bytes()>(*flat, view.shape.row_bytes);
    }
    return bind_graphbolt<bytes()>(view, view.shape.row_bytes);
  });
}

// bulk: each warp has a tile of rows copied in bulk into its stage, and from there to the output.

constexpr std::uint32_t kStageBytes = 8192;  // three blocks of eight stages fill a multiprocessor

// What rows are divided into: several of them, or parts of one that is longer than a stage.
struct BulkTiles {
  std::uint32_t row_bytes = 0;
  std::uint32_t rows = 1;   // of a tile at most
  std::uint32_t parts = 1;  // of a row: one, unless `rows` is
  std::uint64_t count = 0;

  BulkTiles(std::uint64_t all, std::uint32_t bytes)
      : row_bytes(bytes),
        rows(std::max(1U, kStageBytes / bytes)),
        parts((bytes + kStageBytes - 1) / kStageBytes),
        count((all + rows - 1) / rows * parts) {}
};

template <class View>
__global__ void __launch_bounds__(kGatherThreads)
    bulk_rows(const __grid_constant__ View view, const __grid_constant__ BulkTiles tiles, GatherLists lists) {
  cuda::BulkStage stage(kStageBytes);
  const auto lane = static_cast<std::uint32_t>(cuda::lane_of_warp());
  for (std::uint64_t tile = cuda::stage_of_grid(); tile < tiles.count; tile += cuda::stages_of_grid()) {
    const std::uint64_t whole = tile / tiles.parts;
    const std::uint64_t first = whole * tiles.rows;
    const auto rows = static_cast<std::uint32_t>(min(std::uint64_t{tiles.rows}, lists.count - first));
    const std::uint32_t at = static_cast<std::uint32_t>(tile - whole * tiles.parts) * kStageBytes;
    const std::uint32_t size = min(kStageBytes, tiles.row_bytes - at);  // of each row
    if (lane == 0) {
      stage.expect(rows * size);
    }
    __syncwarp();
    for (std::uint32_t row = lane; row < rows; row += kWarpLanes) {
      const std::uint64_t address = listed_row(view, lists, first + row).address;
      stage.load(row * size, reinterpret_cast<const std::byte*>(address) + at, size);
    }
    stage.wait();
    std::byte* const out = lists.out + at;
    if (lists.positions != nullptr) {
      for (std::uint32_t row = lane; row < rows; row += kWarpLanes) {
        const std::uint64_t to = __ldg(lists.positions + first + row);
        cuda::bulk_store(out + to * tiles.row_bytes, stage.chunk() + row * size, size);
      }
    } else if (lane == 0) {
      cuda::bulk_store(out + first * tiles.row_bytes, stage.chunk(), rows * size);
    }
    cuda::bulk_commit();
    cuda::bulk_wait_read<0>();
    __syncwarp();
  }
  cuda::bulk_wait_stored();
}

template <class View>
GatherFunction bind_bulk(const View& view, std::uint32_t row_bytes, const GatherGrid& grid) {
  const std::uint64_t shared = cuda::BulkStage::shared_bytes(kStageBytes, kGatherThreads / kWarpLanes);
  cuda::load_bulk_kernel(bulk_rows<View>, shared, grid.gpu);
  const int most = most_blocks(bulk_rows<View>, grid, shared);
  const auto launch = [=](const GatherLists& lists, cudaStream_t stream) {
    const BulkTiles tiles(lists.count, row_bytes);
    constexpr std::uint64_t kTilesOfBlock = kGatherThreads / kWarpLanes;
    const std::uint64_t blocks =
        std::min((tiles.count + kTilesOfBlock - 1) / kTilesOfBlock, static_cast<std::uint64_t>(most));
    if (blocks == 0) {
      return;
    }
    bulk_rows<<<static_cast<unsigned>(blocks), kGatherThreads, shared, stream>>>(view, tiles, lists);
    cuda::check_launch("bulk_rows");
  };
  return {launch, most};
}

bool at_bulk_unit(const std::byte* part) {
  return reinterpret_cast<std::uintptr_t>(part) % kBulkUnitBytes == 0;
}

GatherFunction bulk_gather(const TableView& view, const GatherGrid& grid) {
  if (!at_bulk_unit(view.local) ||
      !std::all_of(std::begin(view.spread), std::end(view.spread), at_bulk_unit) ||
      !std::all_of(std::begin(view.chunks), std::end(view.chunks), at_bulk_unit)) {
    throw SkipError("rows are copied in bulk where the table begins at a boundary of " +
                    std::to_string(kBulkUnitBytes) + " bytes: this one does not");
  }
  if (const auto flat = flat_view(view)) {
    return bind_bulk(*flat, view.shape.row_bytes, grid);
  }
  return bind_bulk(view, view.shape.row_bytes, grid);
}

GatherFunction function_of(const TableView& view, Mode mode, std::uint32_t width, const GatherGrid& grid) {
  switch (mode) {
    case Mode::circular_shift:
      return shifted_gather(view, width, grid);
    case Mode::masked:
      return masked_gather(view, width, grid);
    case Mode::address_ordered:
      return sorted_gather(view, width, grid);
    case Mode::graphbolt:
      return graphbolt_gather(view, width);
    case Mode::bulk:
      return bulk_gather(view, grid);
    default:
      return flat_gather(view, width, grid);
  }
}

}  // namespace

GatherKernel::GatherKernel(const TableView& view, Mode mode, std::uint32_t width, int gpu, int blocks,
                           int sms) {
  const std::uint32_t row_bytes = view.shape.row_bytes;
  const std::uint32_t element = mode == Mode::naive || mode == Mode::circular_shift ? width : 2;
  if (!may_load(mode, row_bytes, element, width)) {
    throw UsageError(std::string(name(mode)) + " cannot load " + std::to_string(width) +
                     " bytes at once from rows of " + std::to_string(row_bytes));
  }
  GatherFunction function = function_of(view, mode, width, {gpu, blocks, sms});
  launch_ = std::move(function.launch);
  most_blocks_ = function.most_blocks;
}

// Rows by address: a radix sort of (row, position) pairs.

namespace {

constexpr int kBlocks = 1024;
constexpr int kThreads = 256;

__global__ void count_up(std::uint32_t* positions, std::uint64_t count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    positions[i] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace

struct AddressOrder::Scratch {
  Scratch(int gpu, std::uint64_t most, std::uint32_t table_rows)
      : bits(std::max(1, static_cast<int>(std::bit_width(table_rows - 1)))),
        list_bytes(std::max<std::uint64_t>(most, 1) * sizeof(std::uint32_t)),
        positions(gpu, list_bytes),
        sorted_rows(gpu, list_bytes),
        sorted_positions(gpu, list_bytes),
        sort_memory(gpu, pair_sort_bytes(std::max<std::uint64_t>(most, 1), bits)) {}

  int bits;
  std::uint64_t list_bytes;
  cuda::DeviceBuffer positions;  // 0, 1, 2, …
  cuda::DeviceBuffer sorted_rows;
  cuda::DeviceBuffer sorted_positions;
  cuda::DeviceBuffer sort_memory;
};

AddressOrder::AddressOrder(int gpu, std::uint64_t count, std::uint32_t table_rows)
    : scratch_(std::make_unique<Scratch>(gpu, count, table_rows)) {
  const cuda::DeviceGuard guard(gpu);
  const cuda::Stream stream;
  count_up<<<kBlocks, kThreads, 0, stream.get()>>>(static_cast<std::uint32_t*>(scratch_->positions.data()),
                                                   count);
  cuda::check_launch("count_up");
  // Once, so that the kernels of the sort are loaded before they stand behind a gate.
  static_cast<void>(
      sort(static_cast<const std::uint32_t*>(scratch_->positions.data()), count, nullptr, stream));
  stream.synchronize();
}

AddressOrder::~AddressOrder() = default;

GatherLists AddressOrder::sort(const std::uint32_t* rows, std::uint64_t count, std::byte* out,
                               const cuda::Stream& stream) {
  auto* sorted_rows = static_cast<std::uint32_t*>(scratch_->sorted_rows.data());
  auto* sorted_positions = static_cast<std::uint32_t*>(scratch_->sorted_positions.data());
  sort_pairs(scratch_->sort_memory.data(), scratch_->sort_memory.bytes(),
             {rows, static_cast<const std::uint32_t*>(scratch_->positions.data())},
             {sorted_rows, sorted_positions}, count, scratch_->bits, stream.get(), "sort rows by address");
  return {sorted_rows, sorted_positions, count, out};
}

}  // namespace grainscope::gnn
