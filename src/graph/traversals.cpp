// Which algorithm a traversal is, and the buffers through which gathered partitions reach the GPU.

#include "traversals.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/cuda/check.hpp"
#include "subway_plan.hpp"

namespace grainscope::graph {
namespace {

void submit(void* to, const void* from, std::uint64_t bytes, const cuda::Stream& stream) {
  cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()), "copy edges to the GPU");
}

}  // namespace

EdgeBuffers::EdgeBuffers(const Csr& graph, const SubwayRequest& request, Edge capacity)
    : graph_(graph),
      request_(request),
      capacity_(capacity),
      buffers_{Buffer(request.gpu, capacity * element_bytes(request)),
               Buffer(request.gpu, capacity * element_bytes(request))} {}

void EdgeBuffers::begin_run() {
  copies_.synchronize();  // a run that failed may have left some
  levels_.clear();
  for (Buffer& buffer : buffers_) {
    buffer.level.reset();
  }
}

SubwayLevel& EdgeBuffers::begin_level() {
  return levels_.emplace_back();
}

GraphView EdgeBuffers::bring(const Partition& partition, const ListSequence& lists,
                             const cuda::Stream& walker) {
  Buffer& buffer = buffers_[next_];
  if (buffer.level) {
    buffer.copied.synchronize();
    levels_[*buffer.level].copy_s += cuda::elapsed_s(buffer.copy_begun, buffer.copied);
  }
  gather(buffer, partition, lists);
  // What is in it has to be walked before it is copied over: no copy could begin earlier.
  account_walk(buffer);
  submit_copy(buffer, partition.elements());
  buffer.level = levels_.size() - 1;
  ++levels_.back().partitions;
  levels_.back().edge_bytes += partition.elements() * element_bytes(request_);
  walker.wait_for(buffer.copied);
  buffer.walk_begun.record(walker);

  GraphView view;
  view.targets = buffer.device.data();
  view.weights = request_.weights ? weights_in(buffer.device.data()) : nullptr;
  view.vertices = graph_.vertices();
  view.edges = partition.elements();
  view.edge_bytes = request_.edge_bytes;
  return view;
}

void EdgeBuffers::gather(const Buffer& buffer, const Partition& partition, const ListSequence& lists) {
  if (partition.elements() > capacity_) {
    throw FailedError("a partition of " + std::to_string(partition.elements()) +
                      " edges is longer than its buffer of " + std::to_string(capacity_));
  }
  const double begun_s = steady_now_s();
  const GatheredEdges to{buffer.host.data(), request_.weights ? weights_in(buffer.host.data()) : nullptr,
                         request_.edge_bytes};
  const std::uint64_t copied = gather_lists(graph_, lists, partition, to);
  levels_.back().gather_s += steady_now_s() - begun_s;
  if (copied != partition.elements()) {
    throw FailedError("of a partition of " + std::to_string(partition.elements()) + " edges " +
                      std::to_string(copied) + " were gathered");
  }
}

void EdgeBuffers::submit_copy(const Buffer& buffer, std::uint64_t elements) {
  buffer.copy_begun.record(copies_);
  submit(buffer.device.data(), buffer.host.data(), elements * static_cast<unsigned>(request_.edge_bytes),
         copies_);
  if (request_.weights) {
    submit(weights_in(buffer.device.data()), weights_in(buffer.host.data()), elements * sizeof(Weight),
           copies_);
  }
  buffer.copied.record(copies_);
}

void EdgeBuffers::walk_submitted(const cuda::Stream& walker) {
  buffers_[next_].walked.record(walker);
  next_ = (next_ + 1) % buffers_.size();
}

void EdgeBuffers::account_walk(Buffer& buffer) {
  if (buffer.level) {
    buffer.walked.synchronize();
    levels_[*buffer.level].walk_s += cuda::elapsed_s(buffer.walk_begun, buffer.walked);
    buffer.level.reset();
  }
}

void EdgeBuffers::finish_run() {
  for (Buffer& buffer : buffers_) {
    if (buffer.level) {
      buffer.copied.synchronize();
      levels_[*buffer.level].copy_s += cuda::elapsed_s(buffer.copy_begun, buffer.copied);
      account_walk(buffer);
    }
  }
}

Weight* EdgeBuffers::weights_in(void* memory) const {
  return reinterpret_cast<Weight*>(static_cast<std::byte*>(memory) +
                                   capacity_ * static_cast<unsigned>(request_.edge_bytes));
}

std::uint64_t EdgeBuffers::gpu_bytes() const {
  return buffers_[0].device.bytes() + buffers_[1].device.bytes();
}

namespace {

// Of the makers of one strategy that of the algorithm.
template <class Maker>
Maker* maker_of(Algorithm algorithm, Maker* bfs, Maker* sssp, Maker* cc, Maker* pr) {
  switch (algorithm) {
    case Algorithm::bfs:
      return bfs;
    case Algorithm::sssp:
      return sssp;
    case Algorithm::cc:
      return cc;
    case Algorithm::pr:
      return pr;
  }
  throw UsageError("no such algorithm");
}

}  // namespace

std::unique_ptr<Traversal> make_traversal(const PlacedGraph& graph, Algorithm algorithm, Access access,
                                          Direction direction) {
  if (graph.view().range != VertexRange{0, graph.view().vertices}) {
    throw UsageError("a part of a graph's lists, where the whole is wanted");
  }
  if (direction == Direction::pull) {
    if (const char* const why = why_no_pull(algorithm, access); why != nullptr) {
      throw UsageError(why);
    }
    return algorithm == Algorithm::bfs ? make_bfs_pull(graph, access) : make_pr_pull(graph, access);
  }
  return maker_of(algorithm, make_bfs, make_sssp, make_cc, make_pr)(graph, access);
}

namespace {

void require_whole(Parts parts) {
  if (parts.empty()) {
    throw UsageError("a traversal over several GPUs of no part");
  }
  const GraphView& first = parts.front()->view();
  Vertex next = 0;
  for (const PlacedGraph* part : parts) {
    const GraphView& view = part->view();
    if (view.vertices != first.vertices || view.edge_bytes != first.edge_bytes || view.range.first != next ||
        part->request().weights != parts.front()->request().weights) {
      throw UsageError("parts of different graphs, or not in their order");
    }
    next = view.range.last;
  }
  if (next != first.vertices) {
    throw UsageError("parts that end at vertex " + std::to_string(next) + " of " +
                     std::to_string(first.vertices));
  }
}

}  // namespace

std::unique_ptr<Traversal> make_traversal(Parts parts, Algorithm algorithm, Access access) {
  require_whole(parts);
  return maker_of(algorithm, make_bfs_divided, make_sssp_divided, make_cc_divided, make_pr_divided)(parts,
                                                                                                    access);
}

namespace {

constexpr std::uint64_t kDefaultShare = 4;        // of all edges and weights, a part this small
constexpr std::uint64_t kLeastDefaultCap = 4096;  // of graphs that are next to nothing

// With the cap told.
SubwayRequest checked(const Csr& graph, SubwayRequest request, Algorithm algorithm) {
  if (request.edge_bytes != 4 && request.edge_bytes != 8) {
    throw UsageError("a neighbour has 4 or 8 bytes, not " + std::to_string(request.edge_bytes));
  }
  if (request.weights && !graph.weighted()) {
    throw UsageError("the graph " + graph.name + " has no weights to gather");
  }
  if (algorithm == Algorithm::sssp && !request.weights) {
    throw UsageError("sssp needs weights, and they were not asked for");
  }
  if (request.cap_bytes == 0) {
    const std::uint64_t bytes = graph.edges() * static_cast<unsigned>(request.edge_bytes) +
                                (request.weights ? graph.weights.bytes() : 0);
    request.cap_bytes = std::max(bytes / kDefaultShare, kLeastDefaultCap);
  }
  return request;
}

}  // namespace

std::unique_ptr<Traversal> make_subway(const Csr& graph, const SubwayRequest& request, Algorithm algorithm) {
  const SubwayRequest whole = checked(graph, request, algorithm);
  return maker_of(algorithm, make_bfs_subway, make_sssp_subway, make_cc_subway, make_pr_subway)(graph, whole);
}

}  // namespace grainscope::graph
