// address_ordered: masked, over rows that are sorted by address.
// Repeated rows stand behind one another then, and all but the first come from the first-level cache.
//
// Memory behind the translation wall is reached in granules, of which few are known at once. So as few rows
// are under way as fill a link, in the order of the list: blocks are begun one after another, each takes a
// few rows, and no more of them are there at once than needed. Blocks that stay and stride through the list
// would drift apart, and ask for more granules at once.

#include "gather_rows.cuh"

namespace grainscope::gnn {
namespace {

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

}  // namespace

GatherFunction sorted_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return bind_masked<InOrder>(view, width, grid);
}

}  // namespace grainscope::gnn
