// Where lean lists lie: host memory that the GPU reads, and the tier in its own.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/lean/run.hpp"
#include "view.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

void copy_to_gpu(const cuda::DeviceBuffer& to, const void* from) {
  cuda::check(cudaMemcpy(to.data(), from, to.bytes(), cudaMemcpyHostToDevice), "copy lists to the GPU");
}

// Where one direction's lists come from.
struct ListSource {
  const Csr& graph;
  const HotTier* tier;                // null: nothing is hot
  const CompressedLists* compressed;  // of what is not hot; null: they are placed as they are
  const Firsts* firsts;               // of these lists, beside them; null: not placed
};

// A neighbour as it is placed: with its weight in the bits above it, where there are such.
struct Joined {
  const Csr& graph;
  int bits;
  [[nodiscard]] std::uint32_t operator()(std::uint64_t edge) const {
    return bits < 32 ? graph.targets[edge] | graph.weights[edge] << bits : graph.targets[edge];
  }
};

// How and from what host memory is taken.
struct HostSide {
  cuda::MappedRequest request;
  const cuda::Surroundings& surroundings;
};

// Host memory for `count` words, each by `of(i)`.
template <class Of>
cuda::MappedMemory on_host(const HostSide& host, std::uint64_t count, const Of& of) {
  cuda::MappedMemory memory(host.request, std::max<std::uint64_t>(count * sizeof(std::uint32_t), 8),
                            host.surroundings);
  auto* const words = static_cast<std::uint32_t*>(memory.host_data());
#pragma omp parallel for
  for (std::uint64_t i = 0; i < count; ++i) {
    words[i] = of(i);
  }
  return memory;
}

// Beginnings of lists in GPU memory, each neighbour by `of(edge)`.
template <class Of>
cuda::DeviceBuffer beginnings(const ListSource& source, int gpu, const Of& of) {
  const HotTier& tier = *source.tier;
  HostArray<std::uint32_t> hot(tier.elements());
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::uint64_t v = 0; v < source.graph.vertices(); ++v) {
    for (std::uint64_t i = 0; i < tier.of(static_cast<Vertex>(v)); ++i) {
      hot[tier.offsets[v] + i] = of(source.graph.offsets[v] + i);
    }
  }
  cuda::DeviceBuffer memory(gpu, hot.bytes());
  copy_to_gpu(memory, hot.data());
  return memory;
}

// Offsets and tier on the GPU, the rest on the host: of one direction.
class PlacedDirection {
 public:
  // `elsewhere`: the same lists, placed for another GPU, whose host memory is read; null: it takes its own.
  PlacedDirection(const ListSource& source, const HostSide& host, bool weights, bool apart,
                  const PlacedDirection* elsewhere)
      : offsets_(host.request.gpu, source.graph.offsets.bytes()), joined_{source.graph, 32} {
    const Taken taken{host, elsewhere};
    const bool joins = weights && !apart && packs_weights(source.graph);
    const bool beside = weights && !joins;
    copy_to_gpu(offsets_, source.graph.offsets.data());
    view_.offsets = static_cast<const std::uint64_t*>(offsets_.data());
    view_.joined_bits = joined_.bits = joins ? vertex_bits(source.graph) : 32;
    if (source.compressed != nullptr) {
      place_compressed(*source.compressed, taken);
    } else {
      view_.coding = joins ? Coding::joined : beside ? Coding::beside : Coding::plain;
      words_count_ = source.graph.edges();
      words_ = taken.words(&PlacedDirection::words_, words_count_, joined_);
    }
    view_.words = static_cast<const std::uint32_t*>(words_->device_data());
    if (view_.coding == Coding::beside) {
      weights_ = taken.words(&PlacedDirection::weights_, source.graph.edges(),
                             [&](std::uint64_t edge) { return source.graph.weights[edge]; });
      view_.weights = static_cast<const std::uint32_t*>(weights_->device_data());
    }
    if (source.tier != nullptr && source.tier->elements() > 0) {
      place_tier(source, host.request.gpu, beside);
    }
    if (source.firsts != nullptr) {
      place_firsts(*source.firsts, taken);
    }
  }

  [[nodiscard]] const ListsView& view() const { return view_; }
  // Without what begins where.
  [[nodiscard]] PlacedSegments words() const {
    return {static_cast<const std::uint32_t*>(words_->host_data()), view_.words, words_count_, {}};
  }
  void expect_on_host() const {
    for (const auto* memory : {&words_, &weights_, &firsts_}) {
      if (*memory) {
        (*memory)->expect_on_host();
      }
    }
  }
  [[nodiscard]] std::uint64_t hot_bytes() const {
    return hot_ ? hot_->bytes() + hot_offsets_->bytes() + (hot_weights_ ? hot_weights_->bytes() : 0) : 0;
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const {
    return offsets_.bytes() + (places_ ? places_->bytes() : 0) +
           (first_blocks_ ? first_blocks_->bytes() : 0) + hot_bytes();
  }

 private:
  using Shared = std::shared_ptr<const cuda::MappedMemory>;
  // Where host memory is taken from.
  struct Taken {
    const HostSide& host;
    const PlacedDirection* elsewhere;
    // What the other GPU's lists have of these words, or memory for them.
    template <class Of>
    [[nodiscard]] Shared words(Shared PlacedDirection::*member, std::uint64_t count, const Of& of) const {
      if (elsewhere == nullptr) {
        return std::make_shared<const cuda::MappedMemory>(on_host(host, count, of));
      }
      if (elsewhere->*member == nullptr) {
        throw UsageError("lists are placed beside those that are placed in the same way alone");
      }
      return elsewhere->*member;
    }
  };

  void place_compressed(const CompressedLists& lists, const Taken& taken) {
    places_.emplace(taken.host.request.gpu, std::max<std::uint64_t>(lists.places.bytes(), sizeof(ListPlace)));
    if (!lists.places.empty()) {
      copy_to_gpu(*places_, lists.places.data());
    }
    words_count_ = lists.words.size();
    words_ =
        taken.words(&PlacedDirection::words_, words_count_, [&](std::uint64_t i) { return lists.words[i]; });
    view_.coding = lists.weights.given() ? Coding::compressed_weighted : Coding::compressed;
    view_.places = static_cast<const ListPlace*>(places_->data());
    view_.id_bits = lists.id_bits;
    view_.weight_code = lists.weights;
  }

  void place_firsts(const Firsts& firsts, const Taken& taken) {
    if (firsts.packed()) {
      first_blocks_.emplace(taken.host.request.gpu, firsts.blocks.bytes());
      copy_to_gpu(*first_blocks_, firsts.blocks.data());
      view_.first_blocks = static_cast<const FirstsBlock*>(first_blocks_->data());
    }
    firsts_ = taken.words(&PlacedDirection::firsts_, firsts.words.size(),
                          [&](std::uint64_t i) { return firsts.words[i]; });
    view_.firsts = static_cast<const std::uint32_t*>(firsts_->device_data());
  }

  void place_tier(const ListSource& source, int gpu, bool beside) {
    hot_offsets_.emplace(gpu, source.tier->offsets.bytes());
    copy_to_gpu(*hot_offsets_, source.tier->offsets.data());
    hot_.emplace(beginnings(source, gpu, joined_));
    view_.hot_offsets = static_cast<const std::uint32_t*>(hot_offsets_->data());
    view_.hot = static_cast<const std::uint32_t*>(hot_->data());
    if (beside) {
      hot_weights_.emplace(
          beginnings(source, gpu, [&](std::uint64_t edge) { return source.graph.weights[edge]; }));
      view_.hot_weights = static_cast<const std::uint32_t*>(hot_weights_->data());
    }
  }

  cuda::DeviceBuffer offsets_;
  Joined joined_;
  std::uint64_t words_count_ = 0;
  Shared words_;
  Shared weights_;  // null where there are none; so are first neighbours
  Shared firsts_;
  std::optional<cuda::DeviceBuffer> places_;
  std::optional<cuda::DeviceBuffer> first_blocks_;
  std::optional<cuda::DeviceBuffer> hot_offsets_;
  std::optional<cuda::DeviceBuffer> hot_;
  std::optional<cuda::DeviceBuffer> hot_weights_;
  ListsView view_;
};

// Which lists begin in which segment.
PlacedSegments segments_of_lists(const ListSource& source, const PlacedDirection& placed) {
  PlacedSegments segments = placed.words();
  const std::uint64_t count = segments_of(segments.words);
  segments.first_vertex.reserve(count + 1);
  for (Vertex v = 0; v < source.graph.vertices(); ++v) {
    const std::uint64_t begin = words_of(source.graph, source.tier, source.compressed, v).from;
    while (segments.first_vertex.size() <= begin / kSegmentWords && segments.first_vertex.size() <= count) {
      segments.first_vertex.push_back(v);
    }
  }
  segments.first_vertex.resize(count + 1, source.graph.vertices());
  segments.first_vertex[count] = source.graph.vertices();
  return segments;
}

// One more than the last vertex that has neighbours.
Vertex lists_end_of(const Csr& graph) {
  Vertex end = graph.vertices();
  while (end > 0 && graph.degree(end - 1) == 0) {
    --end;
  }
  return end;
}

std::uint64_t most_pieces_of(const ListSource& source) {
  return most_pieces(source.graph, source.tier, source.compressed);
}

ListSource pushed(const LeanPlacement& placement) {
  return {*placement.graph, placement.tier, placement.compressed,
          placement.graph->directed ? nullptr : placement.firsts};
}

HostSide host_side(const LeanPlacement& placement, const cuda::Surroundings& surroundings) {
  std::uint64_t others = 0;
  for (const int gpu : placement.others) {
    others |= std::uint64_t{1} << gpu;
  }
  return {{.kind = placement.memory, .gpu = placement.gpu, .home = placement.node, .others = others},
          surroundings};
}

class CudaLeanLists final : public LeanLists {
 public:
  CudaLeanLists(const LeanPlacement& placement, const cuda::Surroundings& surroundings)
      : gpu_(placement.gpu),
        guard_(placement.gpu),
        out_(pushed(placement), host_side(placement, surroundings), placement.weights, placement.apart,
             same_lists(placement) != nullptr ? &same_lists(placement)->out_ : nullptr) {
    const CudaLeanLists* const beside = same_lists(placement);
    const Csr& graph = *placement.graph;
    const bool pulls = graph.directed && !placement.weights;
    const ListSource pulled{pulls ? *placement.in_edges : graph, placement.in_tier, placement.in_compressed,
                            placement.firsts};
    if (pulls) {
      in_.emplace(pulled, host_side(placement, surroundings), false, false,
                  beside != nullptr ? &*beside->in_ : nullptr);
    }
    if (beside != nullptr) {
      require_alike(*beside);
      view_ = beside->view_;
      pushed_segments_ = beside->pushed_segments_;
      pulled_segments_ = beside->pulled_segments_;
    } else {
      describe(placement, pulls ? &pulled : nullptr);
    }
    view_.out = out_.view();
    view_.in = in_ ? in_->view() : out_.view();
    cuda::check(cudaDeviceSynchronize(), "place lists");
  }

  [[nodiscard]] int gpu() const override { return gpu_; }
  [[nodiscard]] std::uint64_t hot_bytes() const override {
    return out_.hot_bytes() + (in_ ? in_->hot_bytes() : 0);
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return out_.gpu_bytes() + (in_ ? in_->gpu_bytes() : 0);
  }
  void expect_on_host() const override {
    out_.expect_on_host();
    if (in_) {
      in_->expect_on_host();
    }
  }
  [[nodiscard]] const PlacedView& view() const { return view_; }
  [[nodiscard]] const PlacedSegments& pushed_segments() const { return pushed_segments_; }
  [[nodiscard]] const PlacedSegments& pulled_segments() const {
    return in_ ? pulled_segments_ : pushed_segments_;
  }

 private:
  // Those that it is placed beside, or null.
  static const CudaLeanLists* same_lists(const LeanPlacement& placement) {
    const auto* const beside = dynamic_cast<const CudaLeanLists*>(placement.beside);
    const bool pulls = placement.graph->directed && !placement.weights;
    if (beside != nullptr &&
        (beside->view_.vertices != placement.graph->vertices() ||
         beside->view_.edges != placement.graph->edges() || beside->view_.weighted != placement.weights ||
         beside->in_.has_value() != pulls)) {
      throw UsageError("lists are placed beside the same ones alone");
    }
    return beside;
  }
  // What of the same lists is where, and how it is coded.
  void require_alike(const CudaLeanLists& beside) const {
    const auto alike = [](const ListsView& one, const ListsView& other) {
      return one.coding == other.coding && one.id_bits == other.id_bits && one.words == other.words &&
             one.firsts == other.firsts && one.weights == other.weights;
    };
    if (!alike(out_.view(), beside.out_.view()) || hot_bytes() != beside.hot_bytes() ||
        (in_ && !alike(in_->view(), beside.in_->view()))) {
      throw UsageError("lists are placed beside those that are placed in the same way alone");
    }
  }
  // All that does not depend on the GPU. `pulled`: null where lists are pulled from that are pushed, or none.
  void describe(const LeanPlacement& placement, const ListSource* pulled) {
    const Csr& graph = *placement.graph;
    std::uint64_t most_pieces = most_pieces_of(pushed(placement));
    if (pulled != nullptr) {
      most_pieces = std::max(most_pieces, most_pieces_of(*pulled));
      pulled_segments_ = segments_of_lists(*pulled, *in_);
    }
    pushed_segments_ = segments_of_lists(pushed(placement), out_);
    view_.vertices = graph.vertices();
    view_.lists_end = lists_end_of(graph);
    view_.edges = graph.edges();
    view_.weighted = placement.weights;
    view_.most_pieces = most_pieces;
    if (!graph.directed && !placement.weights) {  // components are of undirected graphs, without weights
      view_.phases = list_phases(graph, placement.tier, placement.compressed);
    }
  }

  int gpu_;
  cuda::DeviceGuard guard_;
  PlacedDirection out_;
  std::optional<PlacedDirection> in_;
  PlacedSegments pushed_segments_;
  PlacedSegments pulled_segments_;  // of a directed graph
  PlacedView view_;
};

}  // namespace

const PlacedView& view_of(const LeanLists& lists) {
  return dynamic_cast<const CudaLeanLists&>(lists).view();
}

const PlacedSegments& pushed_segments(const LeanLists& lists) {
  return dynamic_cast<const CudaLeanLists&>(lists).pushed_segments();
}

const PlacedSegments& pulled_segments(const LeanLists& lists) {
  return dynamic_cast<const CudaLeanLists&>(lists).pulled_segments();
}

std::unique_ptr<LeanLists> place_lean(const LeanPlacement& placement,
                                      const cuda::Surroundings& surroundings) {
  const Csr& graph = *placement.graph;
  if (placement.weights && !graph.weighted() && graph.edges() > 0) {
    throw UsageError("the graph has no weights to place");
  }
  if (graph.directed && placement.in_edges == nullptr && !placement.weights) {
    throw UsageError("pulling over a directed graph needs its transpose");
  }
  const bool pulls = graph.directed && !placement.weights;
  if (pulls && (placement.compressed == nullptr) != (placement.in_compressed == nullptr)) {
    throw UsageError("both directions of a directed graph are compressed, or neither");
  }
  if (placement.apart && (!placement.weights || placement.compressed != nullptr)) {
    throw UsageError("weights lie apart from plain lists, where they are placed");
  }
  if (placement.firsts != nullptr && placement.weights) {
    throw UsageError("first neighbours are placed for searches and components, which have no weights");
  }
  if (placement.firsts != nullptr) {
    const Csr& pulled = graph.directed ? *placement.in_edges : graph;
    const HotTier* const tier = graph.directed ? placement.in_tier : placement.tier;
    if (placement.firsts->lists != cold_lists(pulled, tier)) {
      throw UsageError("first neighbours are of other lists than those of which nothing is hot");
    }
  }
  if (placement.compressed != nullptr && placement.compressed->weights.given() != placement.weights) {
    throw UsageError("lists are compressed with weights where these are placed, and only there");
  }
  if (placement.memory == cuda::MemoryKind::vmm_host &&
      (placement.beside != nullptr || !placement.others.empty())) {
    throw SkipError("memory vmm_host is mapped for one GPU alone: several read any other kind");
  }
  return std::make_unique<CudaLeanLists>(placement, surroundings);
}

}  // namespace grainscope::lean
