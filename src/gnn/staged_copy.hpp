#ifndef GRAINSCOPE_SRC_GNN_STAGED_COPY_HPP
#define GRAINSCOPE_SRC_GNN_STAGED_COPY_HPP

// Rows that threads gather on the host, sent to a GPU by its copy engine: how frameworks feed a training
// whose features do not fit into the GPU's memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::gnn {

class StagedCopy {
 public:
  // From a table that the host reads, with `threads` threads, the caller among them, to the current GPU. The
  // others are bound to `cpus`. The view is copied.
  StagedCopy(const TableView& view, int threads, const std::vector<int>& cpus);

  // Rows of u32[count] `rows` (host) to `out` (device), in the stream's order. When it returns all rows have
  // been gathered and the last copies are on their way.
  void enqueue(std::span<const std::uint32_t> rows, std::byte* out, const cuda::Stream& stream);
  // As ThreadTeam's: of the thread that enqueues.
  [[nodiscard]] int callers_cpu() const noexcept { return team_.callers_cpu(); }

 private:
  // Pieces long enough for the copy engine, in buffers few enough for a CPU's cache.
  static constexpr std::uint64_t kPieceBytes = 2 * kMiB;
  static constexpr std::size_t kBuffers = 4;
  struct Buffer {
    explicit Buffer(std::uint64_t bytes) : memory(bytes, cuda::PinnedBuffer::Kind::cached) {}
    cuda::PinnedBuffer memory;
    cuda::Event free;  // when its copy has ended
  };
  class Engine;

  TableView view_;
  std::uint64_t rows_of_piece_;
  ThreadTeam team_;
  std::vector<Buffer> buffers_;
};

}  // namespace grainscope::gnn

#endif
