#ifndef GRAINSCOPE_SRC_GRAPH_TRAVERSALS_HPP
#define GRAINSCOPE_SRC_GRAPH_TRAVERSALS_HPP

// Where the parts of GPU traversals meet: a maker for each algorithm and strategy, and the buffers of
// compacted copies.

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/graph/traversal.hpp"
#include "subway_plan.hpp"

namespace grainscope::graph {

[[nodiscard]] std::unique_ptr<Traversal> make_bfs(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_sssp(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_cc(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_pr(const PlacedGraph& graph, Access access);

// By pull.
[[nodiscard]] std::unique_ptr<Traversal> make_bfs_pull(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_pr_pull(const PlacedGraph& graph, Access access);

// The same over several GPUs.
using Parts = std::span<const PlacedGraph* const>;
[[nodiscard]] std::unique_ptr<Traversal> make_bfs_divided(Parts parts, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_sssp_divided(Parts parts, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_cc_divided(Parts parts, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_pr_divided(Parts parts, Access access);

// The same over compacted copies.
[[nodiscard]] std::unique_ptr<Traversal> make_bfs_subway(const Csr& graph, const SubwayRequest& request);
[[nodiscard]] std::unique_ptr<Traversal> make_sssp_subway(const Csr& graph, const SubwayRequest& request);
[[nodiscard]] std::unique_ptr<Traversal> make_cc_subway(const Csr& graph, const SubwayRequest& request);
[[nodiscard]] std::unique_ptr<Traversal> make_pr_subway(const Csr& graph, const SubwayRequest& request);

// Two pairs of buffers through which gathered partitions reach the GPU: while one is walked, the other is
// copied, and the host gathers into whichever has been copied.

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

// Neighbours of 4 bytes to such of 8, both in device memory of the current GPU: [count]. Has ended on return.
void widen_on_gpu(const Vertex* from, std::uint64_t* to, std::uint64_t count);

}  // namespace grainscope::graph

#endif
