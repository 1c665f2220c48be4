#ifndef GRAINSCOPE_SRC_GRAPH_EDGE_BUFFERS_HPP
#define GRAINSCOPE_SRC_GRAPH_EDGE_BUFFERS_HPP

// Two pairs of buffers through which gathered partitions reach the GPU: while one is walked, the other is
// copied, and the host gathers into whichever has been copied.

#include <array>
#include <optional>
#include <vector>

#include "gather_lists.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/graph/subway.hpp"

namespace grainscope::graph {

// Of an edge with its weight.
inline std::uint64_t element_bytes(const SubwayRequest& request) {
  return static_cast<std::uint64_t>(request.edge_bytes) + (request.weights ? sizeof(Weight) : 0);
}

class EdgeBuffers {
 public:
  // `capacity`: elements of one buffer. `graph` outlives them.
  EdgeBuffers(const Csr& graph, const SubwayRequest& request, Edge capacity);

  // Where the levels of the run that begins now note what they took.
  void begin_run();
  SubwayLevel& begin_level();
  // Gathers a partition on the calling thread's team and submits its copy; what is submitted to `walker` next
  // comes after the copy. Returns the partition as kernels see it, from its first element on.
  [[nodiscard]] GraphView bring(const Partition& partition, const ListSequence& lists,
                                const cuda::Stream& walker);
  // The walk of that partition has been submitted to `walker`.
  void walk_submitted(const cuda::Stream& walker);
  // Waits for all that was submitted; then the levels are complete.
  void finish_run();
  [[nodiscard]] const std::vector<SubwayLevel>& levels() const { return levels_; }

  [[nodiscard]] std::uint64_t gpu_bytes() const;

 private:
  struct Buffer {
    Buffer(int gpu, std::uint64_t bytes)
        : host(bytes, cuda::PinnedBuffer::Kind::cached), device(gpu, bytes) {}
    cuda::PinnedBuffer host;
    cuda::DeviceBuffer device;
    cuda::Event copy_begun;
    cuda::Event copied;
    cuda::Event walk_begun;
    cuda::Event walked;
    std::optional<std::size_t> level;  // whose partition is in it, not yet accounted for
  };

  void gather(const Buffer& buffer, const Partition& partition, const ListSequence& lists);
  void submit_copy(const Buffer& buffer, std::uint64_t elements);
  void account_walk(Buffer& buffer);
  [[nodiscard]] Weight* weights_in(void* memory) const;

  const Csr& graph_;
  SubwayRequest request_;
  Edge capacity_;
  std::array<Buffer, 2> buffers_;
  std::size_t next_ = 0;
  cuda::Stream copies_;
  std::vector<SubwayLevel> levels_;
};

}  // namespace grainscope::graph

#endif
