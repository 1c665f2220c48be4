// A bag's lanes stand side by side on a row, 16 bytes each, and have eight of its rows in flight.

#include "bag_kernels.hpp"

#include <bit>

#include "gather_rows.cuh"

namespace grainscope::gnn {
namespace {

constexpr int kInFlight = 8;
constexpr int kCheckBlocks = 1024;
constexpr int kCheckThreads = 256;

struct Group {
  std::uint32_t units;  // of a row, 16 bytes each
  std::uint32_t lanes;  // that a bag has: a power of two up to 32
};

__device__ float element(std::uint32_t word) {
  return __uint_as_float(bag_element_bits(word));
}

template <class View>
__global__ void __launch_bounds__(kGatherThreads)
    pool_bags(const __grid_constant__ View view, Group group, BagLists lists) {
  const std::uint64_t groups = std::uint64_t{gridDim.x} * kGatherThreads / group.lanes;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kGatherThreads + threadIdx.x;
  for (std::uint64_t bag = thread / group.lanes; bag < lists.outputs; bag += groups) {
    const std::uint32_t* rows = lists.rows + bag * lists.pooling;
    for (std::uint32_t unit = threadIdx.x % group.lanes; unit < group.units; unit += group.lanes) {
      float4 sum = make_float4(0, 0, 0, 0);
      for (std::uint32_t first = 0; first < lists.pooling; first += kInFlight) {
        uint4 values[kInFlight];
#pragma unroll
        for (int k = 0; k < kInFlight; ++k) {
          if (first + k < lists.pooling) {
            values[k] = __ldcg(reinterpret_cast<const uint4*>(view.row(__ldg(rows + first + k))) + unit);
          }
        }
#pragma unroll
        for (int k = 0; k < kInFlight; ++k) {
          if (first + k < lists.pooling) {
            sum.x += element(values[k].x);
            sum.y += element(values[k].y);
            sum.z += element(values[k].z);
            sum.w += element(values[k].w);
          }
        }
      }
      __stcs(reinterpret_cast<float4*>(lists.out) + bag * group.units + unit, sum);
    }
  }
}

// The sum of the steps of 1/256 is a whole number, so the order of adding does not matter here either.
__global__ void check(const BagLists lists, const __grid_constant__ TableShape table,
                      unsigned long long* first_wrong) {
  const std::uint64_t elements = table.row_bytes / sizeof(float);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < lists.outputs * elements;
       i += stride) {
    const std::uint32_t* rows = lists.rows + i / elements * lists.pooling;
    std::uint32_t steps = 0;
    for (std::uint32_t k = 0; k < lists.pooling; ++k) {
      const TableShape::Contents contents = table.contents(rows[k]);
      steps += pattern_word(contents.first_byte / sizeof(float) + i % elements, contents.seed) >> 24;
    }
    const float expected = static_cast<float>(lists.pooling) + static_cast<float>(steps) / 256.0F;
    if (lists.out[i] != expected) {
      atomicMin(first_wrong, static_cast<unsigned long long>(i));
    }
  }
}

template <class View>
std::function<void(const BagLists&, cudaStream_t)> bind_bags(const View& view, const Group& group, int gpu) {
  const auto most = static_cast<std::uint64_t>(most_blocks(pool_bags<View>, {gpu, 0, 0}));
  return [=](const BagLists& lists, cudaStream_t stream) {
    const std::uint64_t wanted = (lists.outputs * group.lanes + kGatherThreads - 1) / kGatherThreads;
    pool_bags<View>
        <<<static_cast<unsigned>(std::min<std::uint64_t>(most, wanted)), kGatherThreads, 0, stream>>>(
            view, group, lists);
    cuda::check_launch("pool_bags");
  };
}

}  // namespace

std::function<void(const BagLists&, cudaStream_t)> bag_function(const TableView& view, int gpu) {
  const auto units = static_cast<std::uint32_t>(view.shape.row_bytes / sizeof(uint4));
  const Group group{units, std::min<std::uint32_t>(std::bit_ceil(units), kWarpLanes)};
  if (const auto flat = flat_view(view)) {
    return bind_bags(*flat, group, gpu);
  }
  return bind_bags(view, group, gpu);
}

void check_bags(const BagLists& lists, const TableShape& table, unsigned long long* first_wrong,
                cudaStream_t stream) {
  check<<<kCheckBlocks, kCheckThreads, 0, stream>>>(lists, table, first_wrong);
  cuda::check_launch("check_bags");
}

}  // namespace grainscope::gnn
