// Where the edge list lies that a GPU walks: copied, and widened, to host memory or to that of GPUs.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

// Elements [first, last) of an array of an edge list, which lie within pages as in the whole array; never of
// no bytes, so that they have an address.
class PlacedArray {
 public:
  PlacedArray(const PlacementRequest& request, Edge first, Edge last, std::uint64_t element_bytes,
              const cuda::Surroundings& surroundings)
      : before_(first * element_bytes),
        into_page_(before_ % kPage),
        bytes_(std::max<std::uint64_t>(into_page_ + (last - first) * element_bytes, 8)) {
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
      case EdgePlacement::peer:
        mapped_.emplace(
            cuda::MappedRequest{
                .kind = cuda::MemoryKind::peer, .gpu = request.gpu, .home = request.gpus.front()},
            bytes_, surroundings);
        device_ = mapped_->device_data();
        return;
      case EdgePlacement::interleaved:
        interleaved_.emplace(request.gpus, bytes_);
        device_ = interleaved_->data();
        return;
    }
  }
  [[nodiscard]] void* host() const { return host_; }  // null: there is none
  [[nodiscard]] void* device() const { return device_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Where the elements begin, of those two.
  [[nodiscard]] void* host_elements() const { return static_cast<std::byte*>(host_) + into_page_; }
  [[nodiscard]] void* device_elements() const { return static_cast<std::byte*>(device_) + into_page_; }
  // Where the whole array would begin, for the GPU.
  [[nodiscard]] const void* whole() const {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(device_elements()) - before_);
  }
  void expect_on_host() const {
    if (mapped_) {
      mapped_->expect_on_host();
    }
  }

 private:
  static constexpr std::uint64_t kPage = 4096;

  std::uint64_t before_;  // bytes of the elements before them
  std::uint64_t into_page_;
  std::uint64_t bytes_;
  std::optional<cuda::MappedMemory> mapped_;
  std::optional<cuda::InterleavedBuffer> interleaved_;
  std::optional<cuda::ManagedBuffer> managed_;
  std::optional<cuda::DeviceBuffer> memory_;
  void* host_ = nullptr;
  void* device_ = nullptr;
};

class CudaPlacedGraph final : public PlacedGraph {
 public:
  CudaPlacedGraph(const Csr& graph, const PlacementRequest& request, const cuda::Surroundings& surroundings)
      : PlacedGraph(request),
        range_(range_of_part(graph, request.division, request.part, request.parts)),
        first_(graph.offsets.empty() ? 0 : graph.offsets[range_.first]),
        last_(graph.offsets.empty() ? 0 : graph.offsets[range_.last]),
        guard_(request.gpu),
        offsets_(request.gpu, (range_.last - range_.first + std::uint64_t{1}) * sizeof(Edge)),
        targets_(request, first_, last_, static_cast<std::uint64_t>(request.edge_bytes), surroundings) {
    if (request.weights) {
      weights_.emplace(request, first_, last_, sizeof(Weight), surroundings);
    }
    if (!graph.offsets.empty()) {
      cuda::check(cudaMemcpy(offsets_.data(), graph.offsets.data() + range_.first, offsets_.bytes(),
                             cudaMemcpyDefault),
                  "copy offsets to the GPU");
    }
    fill_targets(graph);
    if (weights_) {
      fill(graph.weights.data(), *weights_);
    }
    view_.offsets = reinterpret_cast<const std::uint64_t*>(reinterpret_cast<std::uintptr_t>(offsets_.data()) -
                                                           range_.first * sizeof(Edge));
    view_.targets = targets_.whole();
    view_.weights = weights_ ? static_cast<const Weight*>(weights_->whole()) : nullptr;
    view_.vertices = graph.vertices();
    view_.edges = last_ - first_;
    view_.range = range_;
    view_.edge_bytes = request.edge_bytes;
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
      cuda::take_back_hint(array.device(), array.bytes(), request().hint, request().gpu, stream_);
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
    // Of edges that lie on other GPUs, there.
    const bool there =
        request().placement != EdgePlacement::mapped && request().placement != EdgePlacement::managed;
    return offsets_.bytes() + (there ? targets_.bytes() + (weights_ ? weights_->bytes() : 0) : 0);
  }

 private:
  // From the whole array.
  template <class T>
  void fill(const T* from, const PlacedArray& to) {
    if (to.host() != nullptr) {
      copy_all(from + first_, static_cast<T*>(to.host_elements()), last_ - first_);
    } else {
      cuda::check(
          cudaMemcpy(to.device_elements(), from + first_, (last_ - first_) * sizeof(T), cudaMemcpyDefault),
          "copy edges to the GPU");
    }
  }

  void fill_targets(const Csr& graph) {
    if (request().edge_bytes == 4) {
      fill(graph.targets.data(), targets_);
    } else if (targets_.host() != nullptr) {
      copy_all(graph.targets.data() + first_, static_cast<std::uint64_t*>(targets_.host_elements()),
               last_ - first_);
    } else {
      const std::uint64_t bytes = (last_ - first_) * sizeof(Vertex);
      const cuda::DeviceBuffer narrow(request().gpu, std::max<std::uint64_t>(8, bytes));
      cuda::check(cudaMemcpy(narrow.data(), graph.targets.data() + first_, bytes, cudaMemcpyDefault),
                  "copy edges to the GPU");
      widen_on_gpu(static_cast<const Vertex*>(narrow.data()),
                   static_cast<std::uint64_t*>(targets_.device_elements()), last_ - first_);
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

  VertexRange range_;  // whose lists are placed
  Edge first_;         // their entries
  Edge last_;
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
  if (request.placement == EdgePlacement::interleaved &&
      std::find(request.gpus.begin(), request.gpus.end(), request.gpu) == request.gpus.end()) {
    throw UsageError("edges are interleaved over GPUs of which the one that reads them is one");
  }
  if (request.placement == EdgePlacement::peer && request.gpus.size() != 1) {
    throw UsageError("edges in the memory of a peer, which is one GPU, not " +
                     std::to_string(request.gpus.size()));
  }
  return std::make_unique<CudaPlacedGraph>(graph, request, surroundings);
}

}  // namespace grainscope::graph
