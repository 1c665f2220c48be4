// Where the adjacency lists lie that a GPU samples from.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <set>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "list_view.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint64_t kPieceBytes = kPieceEntries * sizeof(Vertex);

void copy_to_gpu(void* to, const void* from, std::uint64_t bytes) {
  cuda::check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copy a graph to the GPU");
}

class CudaPlacedLists final : public ViewedLists {
 public:
  CudaPlacedLists(const Csr& graph, const ListRequest& request, const cuda::Surroundings& surroundings,
                  const ViewedLists* of_another)
      : request_(request) {
    const cuda::DeviceGuard guard(request.gpu);
    view_.vertices = graph.vertices();
    view_.edges = graph.edges();
    const auto* const offsets =
        static_cast<const std::uint64_t*>(on_gpu(request.gpu, (std::uint64_t{graph.vertices()} + 1) * 8));
    if (!graph.offsets.empty()) {
      copy_to_gpu(memory_.back().data(), graph.offsets.data(), graph.offsets.bytes());
    }
    view_.offsets = offsets;
    switch (request.placement) {
      case ListPlacement::device:
        view_.parts_of[0] = static_cast<const Vertex*>(on_gpu(request.gpu, graph.targets.bytes()));
        copy_to_gpu(memory_.back().data(), graph.targets.data(), graph.targets.bytes());
        return;
      case ListPlacement::mapped:
        map(graph, surroundings);
        return;
      case ListPlacement::interleaved:
        interleave(graph, of_another);
        return;
    }
  }

  [[nodiscard]] const ListRequest& request() const override { return request_; }
  [[nodiscard]] Vertex vertices() const override { return view_.vertices; }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return gpu_bytes_; }
  void expect_on_host() const override {
    if (mapped_) {
      mapped_->expect_on_host();
    }
  }

 private:
  // Memory of a GPU; never of no bytes, so that it has an address.
  void* on_gpu(int gpu, std::uint64_t bytes) {
    memory_.emplace_back(gpu, std::max<std::uint64_t>(bytes, 8));
    gpu_bytes_ += gpu == request_.gpu ? memory_.back().bytes() : 0;
    return memory_.back().data();
  }

  // By all threads: pages come to lie where the memory policy says.
  void map(const Csr& graph, const cuda::Surroundings& surroundings) {
    mapped_.emplace(cuda::MappedRequest{.kind = request_.memory, .gpu = request_.gpu, .home = request_.node},
                    std::max<std::uint64_t>(graph.targets.bytes(), 8), surroundings);
    auto* const to = static_cast<Vertex*>(mapped_->host_data());
#pragma omp parallel for
    for (std::uint64_t i = 0; i < graph.edges(); ++i) {
      to[i] = graph.targets[i];
    }
    view_.parts_of[0] = static_cast<const Vertex*>(mapped_->device_data());
  }

  void interleave(const Csr& graph, const ViewedLists* of_another) {
    const std::uint64_t parts = request_.gpus.size();
    for (const int peer : std::set(request_.gpus.begin(), request_.gpus.end())) {
      if (peer != request_.gpu) {
        access_.push_back(std::make_unique<cuda::PeerAccess>(request_.gpu, peer));
      }
    }
    view_.parts = static_cast<int>(parts);
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t pieces = pieces_of(graph.edges(), part, parts);
      if (of_another != nullptr) {
        view_.parts_of[part] = of_another->view().parts_of[part];
        gpu_bytes_ += request_.gpus[part] == request_.gpu ? pieces * kPieceBytes : 0;
        continue;
      }
      void* const to = on_gpu(request_.gpus[part], pieces * kPieceBytes);
      view_.parts_of[part] = static_cast<const Vertex*>(to);
      fill_part(graph, part, pieces, static_cast<std::byte*>(to));
    }
  }

  // Whole pieces at once; the last of the list may be shorter.
  void fill_part(const Csr& graph, std::uint64_t part, std::uint64_t pieces, std::byte* to) const {
    if (pieces == 0) {
      return;
    }
    const std::uint64_t parts = request_.gpus.size();
    const Vertex* const from = graph.targets.data() + part * kPieceEntries;
    const std::uint64_t last = (part + (pieces - 1) * parts) * kPieceEntries;
    const std::uint64_t in_last = std::min(kPieceEntries, graph.edges() - last);
    if (pieces > 1) {
      cuda::check(cudaMemcpy2D(to, kPieceBytes, from, parts * kPieceBytes, kPieceBytes, pieces - 1,
                               cudaMemcpyDefault),
                  "copy a part of a graph to a GPU");
    }
    copy_to_gpu(to + (pieces - 1) * kPieceBytes, graph.targets.data() + last, in_last * sizeof(Vertex));
  }

  ListRequest request_;
  std::vector<std::unique_ptr<cuda::PeerAccess>> access_;
  std::vector<cuda::DeviceBuffer> memory_;
  std::optional<cuda::MappedMemory> mapped_;
  std::uint64_t gpu_bytes_ = 0;
};

}  // namespace

std::unique_ptr<PlacedLists> place_lists(const Csr& neighbours, const ListRequest& request,
                                         const cuda::Surroundings& surroundings,
                                         const PlacedLists* of_another) {
  const bool interleaved = request.placement == ListPlacement::interleaved;
  if (interleaved && (request.gpus.empty() || request.gpus.size() > kMostGpus)) {
    throw UsageError("lists are interleaved over 1 to " + std::to_string(kMostGpus) + " GPUs, not " +
                     std::to_string(request.gpus.size()));
  }
  if (neighbours.vertices() == 0) {
    throw UsageError("placing a graph without vertices");
  }
  const auto* const shared = dynamic_cast<const ViewedLists*>(of_another);
  if (of_another != nullptr &&
      (shared == nullptr || !interleaved || of_another->request().placement != request.placement ||
       of_another->request().gpus != request.gpus || shared->view().edges != neighbours.edges())) {
    throw UsageError("lists of another GPU serve this one where both are of one graph and request");
  }
  return std::make_unique<CudaPlacedLists>(neighbours, request, surroundings, shared);
}

}  // namespace grainscope::gnn
