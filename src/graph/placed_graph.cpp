// Where the edge list lies that a GPU walks: copied, and widened, to page-locked, managed or device memory.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/graph/traversal.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/placement.hpp"
#include "traversals.hpp"

namespace grainscope::graph {
namespace {

// By all threads: pages come to lie where the memory policy says.
template <class From, class To>
void copy_all(const From* from, To* to, std::uint64_t count) {
#pragma omp parallel for
  for (std::uint64_t i = 0; i < count; ++i) {
    to[i] = from[i];
  }
}

// One array of an edge list; never of no bytes, so that it has an address.
class PlacedArray {
 public:
  PlacedArray(const PlacementRequest& request, std::uint64_t bytes, const cuda::Surroundings& surroundings)
      : bytes_(std::max<std::uint64_t>(bytes, 8)) {
    switch (request.placement) {
      case EdgePlacement::mapped:
        mapped_.emplace(cuda::MappedRequest{.kind = request.memory, .gpu = request.gpu, .home = request.node},
                        bytes_, surroundings);
        host_ = mapped_->host_data();
        device_ = mapped_->device_data();
        return;
      case EdgePlacement::managed:
        if (surroundings.managed == nullptr) {
          throw FailedError("managed memory was asked for without a budget");
        }
        managed_.emplace(*surroundings.managed, request.gpu, bytes_);
        host_ = managed_->data();
        device_ = managed_->data();
        return;
      case EdgePlacement::device:
        memory_.emplace(request.gpu, bytes_);
        device_ = memory_->data();
        return;
    }
  }
  [[nodiscard]] void* host() const { return host_; }  // null: there is none
  [[nodiscard]] void* device() const { return device_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  void expect_on_host() const {
    if (mapped_) {
      mapped_->expect_on_host();
    }
  }

 private:
  std::uint64_t bytes_;
  std::optional<cuda::MappedMemory> mapped_;
  std::optional<cuda::ManagedBuffer> managed_;
  std::optional<cuda::DeviceBuffer> memory_;
  void* host_ = nullptr;
  void* device_ = nullptr;
};

class CudaPlacedGraph final : public PlacedGraph {
 public:
  CudaPlacedGraph(const Csr& graph, const PlacementRequest& request, const cuda::Surroundings& surroundings)
      : PlacedGraph(request),
        guard_(request.gpu),
        offsets_(request.gpu, graph.offsets.bytes()),
        targets_(request, graph.edges() * static_cast<std::uint64_t>(request.edge_bytes), surroundings) {
    if (request.weights) {
      weights_.emplace(request, graph.edges() * sizeof(Weight), surroundings);
    }
    cuda::check(cudaMemcpy(offsets_.data(), graph.offsets.data(), graph.offsets.bytes(), cudaMemcpyDefault),
                "copy offsets to the GPU");
    fill_targets(graph);
    if (weights_) {
      fill(graph.weights.data(), *weights_, graph.edges());
    }
    view_ = {static_cast<const std::uint64_t*>(offsets_.data()),
             targets_.device(),
             weights_ ? static_cast<const Weight*>(weights_->device()) : nullptr,
             graph.vertices(),
             graph.edges(),
             request.edge_bytes};
    if (is_managed()) {
      for_each_array([&](const PlacedArray& array) {
        cuda::give_hint(array.device(), array.bytes(), request.hint, request.gpu);
      });
    }
  }

  void make_cold() override {
    if (!is_managed()) {
      return;
    }
    // A page that is read-mostly keeps its copy on the GPU until somebody writes to it or takes the advice
    // back.
    for_each_array([&](const PlacedArray& array) {
      cuda::take_back_hint(array.device(), array.bytes(), request().hint, request().gpu);
    });
    if (const std::uint64_t elsewhere = bring_pages([this] { return bring_to_host(); }); elsewhere > 0) {
      throw FailedError("managed edges did not go back to the host before a trial: " +
                        std::to_string(elsewhere) + " of the pages looked at are elsewhere");
    }
    for_each_array([&](const PlacedArray& array) {
      cuda::give_hint(array.device(), array.bytes(), request().hint, request().gpu);
    });
  }

  void begin(const cuda::Stream& stream) const override {
    if (!is_managed() || request().hint != cuda::Hint::prefetch) {
      return;
    }
    for_each_array([&](const PlacedArray& array) {
      cuda::check(
          cuda::prefetch(array.device(), array.bytes(), cuda::Location::gpu(request().gpu), stream.get()),
          "prefetch managed edges to the GPU");
    });
  }

  void expect_on_host() const override {
    for_each_array([](const PlacedArray& array) { array.expect_on_host(); });
    if (!is_managed() || !cuda::is_read_in_place(request().hint)) {
      return;
    }
    const auto moved = moved_bytes();
    if (!moved) {
      throw FailedError(
          "/proc/self/pagemap cannot be read: nothing shows that managed edges are read in place");
    }
    if (*moved > 0) {
      throw FailedError("managed edges that are to be read in place have left the host: " +
                        format_bytes(*moved));
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> moved_bytes() const override {
    constexpr std::size_t kAllPages = 0;
    std::optional<std::uint64_t> moved;
    if (is_managed()) {
      moved = 0;
      for_each_array([&](const PlacedArray& array) {
        const auto pages = pages_present(array.host(), array.bytes(), kAllPages);
        moved = moved && pages ? std::optional(*moved + pages->absent * base_page_bytes()) : std::nullopt;
      });
    }
    return moved;
  }

  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    const bool there = request().placement == EdgePlacement::device;
    return offsets_.bytes() + (there ? targets_.bytes() + (weights_ ? weights_->bytes() : 0) : 0);
  }

 private:
  template <class T>
  void fill(const T* from, const PlacedArray& to, std::uint64_t count) {
    if (to.host() != nullptr) {
      copy_all(from, static_cast<T*>(to.host()), count);
    } else {
      cuda::check(cudaMemcpy(to.device(), from, count * sizeof(T), cudaMemcpyDefault),
                  "copy edges to the GPU");
    }
  }

  void fill_targets(const Csr& graph) {
    if (request().edge_bytes == 4) {
      fill(graph.targets.data(), targets_, graph.edges());
    } else if (targets_.host() != nullptr) {
      copy_all(graph.targets.data(), static_cast<std::uint64_t*>(targets_.host()), graph.edges());
    } else {
      const cuda::DeviceBuffer narrow(request().gpu, std::max<std::uint64_t>(8, graph.targets.bytes()));
      cuda::check(cudaMemcpy(narrow.data(), graph.targets.data(), graph.targets.bytes(), cudaMemcpyDefault),
                  "copy edges to the GPU");
      widen_on_gpu(static_cast<const Vertex*>(narrow.data()), static_cast<std::uint64_t*>(targets_.device()),
                   graph.edges());
    }
  }

  template <class Function>
  void for_each_array(const Function& function) const {
    function(targets_);
    if (weights_) {
      function(*weights_);
    }
  }

  [[nodiscard]] bool is_managed() const { return request().placement == EdgePlacement::managed; }

  // Pages that are elsewhere all the same, of those looked at.
  std::uint64_t bring_to_host() {
    for_each_array([&](const PlacedArray& array) {
      cuda::check(cuda::prefetch(array.device(), array.bytes(), cuda::Location::host(), stream_.get()),
                  "bring managed edges back to the host");
    });
    stream_.synchronize();
    std::uint64_t elsewhere = 0;
    for_each_array([&](const PlacedArray& array) { elsewhere += settle_on_host(array); });
    return elsewhere;
  }

  // The host owns and maps a page only once it has written to it. Pages that are elsewhere all the same.
  static std::uint64_t settle_on_host(const PlacedArray& array) {
    constexpr std::uint64_t kPage = 4096;
    auto* bytes = static_cast<volatile std::byte*>(array.host());
#pragma omp parallel for
    for (std::uint64_t at = 0; at < array.bytes(); at += kPage) {
      bytes[at] = bytes[at];
    }
    const auto pages = pages_present(array.host(), array.bytes());
    return pages ? pages->absent : 0;
  }

  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::DeviceBuffer offsets_;
  PlacedArray targets_;
  std::optional<PlacedArray> weights_;
};

}  // namespace

std::unique_ptr<PlacedGraph> place_graph(const Csr& graph, const PlacementRequest& request,
                                         const cuda::Surroundings& surroundings) {
  if (request.edge_bytes != 4 && request.edge_bytes != 8) {
    throw UsageError("a neighbour has 4 or 8 bytes, not " + std::to_string(request.edge_bytes));
  }
  if (request.weights && !graph.weighted()) {
    throw UsageError("the graph " + graph.name + " has no weights to place");
  }
  return std::make_unique<CudaPlacedGraph>(graph, request, surroundings);
}

}  // namespace grainscope::graph
