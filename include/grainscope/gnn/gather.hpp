#ifndef GRAINSCOPE_GNN_GATHER_HPP
#define GRAINSCOPE_GNN_GATHER_HPP

// A gather of rows from a feature store: prepared, timed with all that its mode needs, checked.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/gnn/feature_store.hpp"
#include "grainscope/gnn/modes.hpp"

namespace grainscope::gnn {

struct GatherRequest {
  Mode mode = Mode::masked;
  std::uint32_t width = 4;  // bytes of a load, of kernels
  int blocks = 0;           // of 256 threads at most; 0: as many as the GPU holds
  int threads = 1;          // that gather, of cpu_gather and cpu_gather_dma
};

// What samples ask for, in turn: each list is a window of mini-batches behind one another, all of one length.
using RowLists = std::vector<std::vector<std::uint32_t>>;

// A gather of the next list in turn, in the order asked, into the GPU's memory (of cpu_gather into the
// host's). Before each sample the output is overwritten, and so is the GPU's L2 cache; after it the whole
// output is checked. Describes how long the sort takes alone (`sort_s`), of modes that sort, and of a managed
// store the bytes that left the host in a sample, the median, where the system tells (`link_bytes`).
// The store outlives the gather. Threads of the CPU's modes are bound to the CPUs of the calling one. Throws
// UsageError, naming it, for an index that is not in the table, for no lists or unequal ones, for a mode that
// cannot read the store or load so wide; SkipError where the GPU has no room for output, lists and sort; in a
// build without CUDA SkipError, but for cpu_gather.
[[nodiscard]] std::unique_ptr<Operation> make_gather(FeatureStore& store, RowLists lists,
                                                     const GatherRequest& request);

// Bytes of the GPU's memory that a gather takes beside its store, about.
[[nodiscard]] std::uint64_t gather_bytes(Mode mode, std::uint64_t rows, std::uint64_t row_bytes,
                                         std::size_t lists);

}  // namespace grainscope::gnn

#endif
