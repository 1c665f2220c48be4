#ifndef GRAINSCOPE_GNN_GATHER_KERNEL_HPP
#define GRAINSCOPE_GNN_GATHER_KERNEL_HPP

// The gather kernels as something that can be enqueued: on any stream, with any number of blocks. For code
// that overlaps gathers with other work; make_gather (gather.hpp) times them alone.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "grainscope/cuda/device.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::gnn {

// What one launch gathers.
struct GatherLists {
  const std::uint32_t* rows = nullptr;  // u32[count], device: row numbers of the table, all in it
  const std::uint32_t* positions =
      nullptr;               // u32[count], device: of each the row of the output; null: its own
  std::uint64_t count = 0;   // below 2³²
  std::byte* out = nullptr;  // row_bytes × outputs, device, at a boundary of 128 bytes
};

inline constexpr int kGatherThreads = 256;  // a block

class GatherKernel {
 public:
  // Loads the kernel on `gpu`, which is current: it may then stand behind a gate. `width`: bytes of a load.
  // `blocks` of kGatherThreads at most; 0: as many as `sms` multiprocessors hold, of which 0 are all of the
  // GPU's. Neither binds graphbolt, whose grid follows from the rows; nor has address_ordered a most where
  // no `blocks` are given: as few of its blocks are there at once as fill a link. Throws UsageError for a
  // mode that is no kernel or cannot load so much.
  GatherKernel(const TableView& view, Mode mode, std::uint32_t width, int gpu, int blocks = 0, int sms = 0);

  // Enqueues; does not wait. A mode that sorts is given rows that are sorted already.
  void launch(const GatherLists& lists, const cuda::Stream& stream) const { launch_(lists, stream.get()); }

  // Blocks of a launch at most; 0: they follow from the rows.
  [[nodiscard]] int most_blocks() const noexcept { return most_blocks_; }

 private:
  std::function<void(const GatherLists&, cudaStream_t)> launch_;
  int most_blocks_ = 0;
};

// Sorts lists of rows by number, which is by address within each tier. Owns the scratch memory.
class AddressOrder {
 public:
  // For lists of up to `count` rows of a table. Throws SkipError where the GPU has no room.
  AddressOrder(int gpu, std::uint64_t count, std::uint32_t table_rows);
  ~AddressOrder();
  AddressOrder(const AddressOrder&) = delete;
  AddressOrder& operator=(const AddressOrder&) = delete;

  // Enqueues the sort of u32[count] `rows` (device, untouched) and returns the lists that a gather kernel
  // takes, which hold until the next sort; `out` is passed on.
  [[nodiscard]] GatherLists sort(const std::uint32_t* rows, std::uint64_t count, std::byte* out,
                                 const cuda::Stream& stream);

 private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace grainscope::gnn

#endif
