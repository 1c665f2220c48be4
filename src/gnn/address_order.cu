// Rows by address: a radix sort of (row, position) pairs.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "pair_sort.hpp"

namespace grainscope::gnn {
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
