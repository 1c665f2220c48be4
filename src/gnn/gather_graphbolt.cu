// The baseline: what DGL's GraphBolt does on the GPU for rows in host memory, after its index_select_impl.cu
// (UVAIndexSelectImpl): rows sorted with their positions, units as wide as rows allow, blocks of 512 threads
// over as few columns as the row has, one unit of a thread at a time, and above 128 bytes from the line
// boundary before the row.

#include "gather_rows.cuh"

namespace grainscope::gnn {
namespace {

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
  cudaFuncAttributes attributes{};
  cuda::check(cudaFuncGetAttributes(&attributes, graphbolt_rows<kWidth, View>),
              "load GraphBolt's kernel that gathers rows");
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

}  // namespace

GatherFunction graphbolt_gather(const TableView& view, std::uint32_t width) {
  return with_width(width, [&](auto bytes) -> GatherFunction {
    if (const auto flat = flat_view(view)) {
      return bind_graphbolt<bytes()>(*flat, view.shape.row_bytes);
    }
    return bind_graphbolt<bytes()>(view, view.shape.row_bytes);
  });
}

}  // namespace grainscope::gnn
