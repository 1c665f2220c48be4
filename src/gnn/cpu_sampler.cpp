// Neighbour sampling by all threads of a CPU. What is new in a hop is marked in a bitmap, so that it comes
// out ascending, without repeats and in the same order whoever found it.

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

#include "grainscope/core/host_array.hpp"
#include "grainscope/gnn/sampling.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint64_t kDestinations = 256;  // that a thread takes at a time
constexpr std::uint64_t kWords = 512;         // of a bitmap
constexpr std::uint64_t kTogether = 8;  // destinations whose neighbours are fetched before the first is read
constexpr std::uint64_t kWorthThreads = 2048;

constexpr std::uint64_t pieces(std::uint64_t count, std::uint64_t piece) {
  return (count + piece - 1) / piece;
}

constexpr std::uint64_t bit_of(Vertex v) {
  return std::uint64_t{1} << (v % 64);
}

// Entry i becomes the sum of the entries before it; returns the sum of all.
std::uint64_t sums_before(std::vector<std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (std::uint64_t& count : counts) {
    sum += std::exchange(count, sum);
  }
  return sum;
}

}  // namespace

struct CpuSampler::State {
  State(const Csr& graph, SampleRequest wanted)
      : neighbours(graph),
        request(std::move(wanted)),
        seen(pieces(graph.vertices(), 64)),
        fresh(seen.size()),
        index_of(graph.vertices()) {}

  const Csr& neighbours;
  SampleRequest request;
  HostArray<std::uint64_t> seen;      // bit v: v is among the nodes
  HostArray<std::uint64_t> fresh;     // bit v: v was met in this hop for the first time
  HostArray<std::uint32_t> index_of;  // of a seen vertex: where it is among the nodes
  std::vector<std::uint64_t> begins;  // of a piece of work: where its results go

  void start(std::span<const Vertex> seeds, MiniBatch& into);
  void lay_out(Layer& layer, const std::vector<Vertex>& nodes, std::uint32_t fanout);
  void draw(Layer& layer, const std::vector<Vertex>& nodes, std::uint32_t fanout, std::uint64_t key);
  void draw_few(Layer& layer, const Vertex* nodes, std::uint64_t first, std::uint64_t last,
                std::uint32_t fanout, std::uint64_t key);
  void collect(std::vector<Vertex>& nodes);
  void number(Layer& layer) const;
  void forget(const std::vector<Vertex>& nodes);
  void forget_all();
};

CpuSampler::CpuSampler(const Csr& neighbours, SampleRequest request) {
  require_fanouts(request.fanouts);
  state_ = std::make_unique<State>(neighbours, std::move(request));
}

CpuSampler::~CpuSampler() = default;

// The seeds are the first nodes.
void CpuSampler::State::start(std::span<const Vertex> seeds, MiniBatch& into) {
  into.nodes.clear();
  for (const Vertex seed : seeds) {
    if (seed >= neighbours.vertices() || (seen[seed / 64] & bit_of(seed)) != 0) {
      break;
    }
    seen[seed / 64] |= bit_of(seed);
    index_of[seed] = static_cast<std::uint32_t>(into.nodes.size());
    into.nodes.push_back(seed);
  }
  if (into.nodes.size() != seeds.size() || seeds.empty()) {
    require_seeds(seeds, neighbours.vertices());
  }
  into.nodes_upto.assign(1, static_cast<std::uint32_t>(seeds.size()));
  into.layers.resize(request.fanouts.size());
  into.sampled_edges = 0;
}

// How many sources each destination gets, and so where they stand.
void CpuSampler::State::lay_out(Layer& layer, const std::vector<Vertex>& nodes, std::uint32_t fanout) {
  const std::uint64_t count = nodes.size();
  begins.resize(pieces(count, kDestinations));
  layer.offsets.resize(count + 1);
#pragma omp parallel for schedule(static) if (count > kWorthThreads)
  for (std::uint64_t piece = 0; piece < begins.size(); ++piece) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = piece * kDestinations; i < std::min(count, (piece + 1) * kDestinations); ++i) {
      layer.offsets[i] = sum;
      sum += std::min<std::uint64_t>(neighbours.degree(nodes[i]), fanout);
    }
    begins[piece] = sum;
  }
  layer.offsets[count] = sums_before(begins);
  layer.sources.resize(layer.offsets[count]);
}

// Sources as vertices, and marks those that were not seen.
void CpuSampler::State::draw(Layer& layer, const std::vector<Vertex>& nodes, std::uint32_t fanout,
                             std::uint64_t key) {
  const std::uint64_t count = nodes.size();
#pragma omp parallel for schedule(dynamic) if (count > kWorthThreads / 8)
  for (std::uint64_t piece = 0; piece < begins.size(); ++piece) {
    const std::uint64_t end = std::min(count, (piece + 1) * kDestinations);
    for (std::uint64_t i = piece * kDestinations; i < end; ++i) {
      layer.offsets[i] += begins[piece];
    }
    for (std::uint64_t i = piece * kDestinations; i < end; i += kTogether) {
      draw_few(layer, nodes.data(), i, std::min(end, i + kTogether), fanout, key);
    }
  }
}

// Places first, so that the reads of many neighbours are under way at once.
void CpuSampler::State::draw_few(Layer& layer, const Vertex* nodes, std::uint64_t first, std::uint64_t last,
                                 std::uint32_t fanout, std::uint64_t key) {
  const Vertex* const targets = neighbours.targets.data();
  for (std::uint64_t i = first; i < last; ++i) {
    const Vertex vertex = nodes[i];
    const auto degree = static_cast<std::uint32_t>(neighbours.degree(vertex));
    std::uint32_t* const sources = layer.sources.data() + layer.offsets[i];
    const std::uint32_t taken = std::min(degree, fanout);
    if (degree <= fanout) {
      std::iota(sources, sources + degree, 0U);
    } else {
      draw_places(vertex_key(key, vertex), degree, fanout, sources);
    }
    const Vertex* const list = targets + neighbours.offsets[vertex];
    for (std::uint32_t k = 0; k < taken; ++k) {
      __builtin_prefetch(list + sources[k]);
    }
  }
  for (std::uint64_t i = first; i < last; ++i) {
    const Vertex* const list = targets + neighbours.offsets[nodes[i]];
    const auto taken = std::min<std::uint64_t>(neighbours.degree(nodes[i]), fanout);
    std::uint32_t* const sources = layer.sources.data() + layer.offsets[i];
    for (std::uint64_t k = 0; k < taken; ++k) {
      const Vertex source = list[sources[k]];
      sources[k] = source;
      const std::atomic_ref<std::uint64_t> word(fresh[source / 64]);
      if (((seen[source / 64] | word.load(std::memory_order_relaxed)) & bit_of(source)) == 0) {
        word.fetch_or(bit_of(source), std::memory_order_relaxed);
      }
    }
  }
}

// The marked vertices, ascending, become nodes; the marks go.
void CpuSampler::State::collect(std::vector<Vertex>& nodes) {
  begins.resize(pieces(fresh.size(), kWords));
#pragma omp parallel for schedule(static) if (begins.size() > 1)
  for (std::uint64_t piece = 0; piece < begins.size(); ++piece) {
    std::uint64_t sum = 0;
    for (std::uint64_t word = piece * kWords; word < std::min(fresh.size(), (piece + 1) * kWords); ++word) {
      sum += static_cast<std::uint64_t>(std::popcount(fresh[word]));
    }
    begins[piece] = sum;
  }
  const std::uint64_t before = nodes.size();
  nodes.resize(before + sums_before(begins));
#pragma omp parallel for schedule(static) if (begins.size() > 1)
  for (std::uint64_t piece = 0; piece < begins.size(); ++piece) {
    std::uint64_t at = before + begins[piece];
    for (std::uint64_t word = piece * kWords; word < std::min(fresh.size(), (piece + 1) * kWords); ++word) {
      for (std::uint64_t bits = fresh[word]; bits != 0; bits &= bits - 1) {
        const auto vertex = static_cast<Vertex>(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
        index_of[vertex] = static_cast<std::uint32_t>(at);
        nodes[at++] = vertex;
      }
      if (fresh[word] != 0) {
        seen[word] |= fresh[word];
        fresh[word] = 0;
      }
    }
  }
}

// From vertices to indices among the nodes.
void CpuSampler::State::number(Layer& layer) const {
  std::uint32_t* const sources = layer.sources.data();
  const std::uint64_t count = layer.sources.size();
#pragma omp parallel for schedule(static) if (count > kWorthThreads)
  for (std::uint64_t i = 0; i < count; ++i) {
    sources[i] = index_of[sources[i]];
  }
}

void CpuSampler::State::forget(const std::vector<Vertex>& nodes) {
#pragma omp parallel for schedule(static) if (nodes.size() > kWorthThreads)
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // Several threads may clear the same word.
    std::atomic_ref(seen[nodes[i] / 64]).store(0, std::memory_order_relaxed);
  }
}

void CpuSampler::State::forget_all() {
  std::fill(seen.begin(), seen.end(), 0);
  std::fill(fresh.begin(), fresh.end(), 0);
}

void CpuSampler::sample(std::span<const Vertex> seeds, std::uint64_t batch, MiniBatch& into) {
  State& state = *state_;
  try {
    state.start(seeds, into);
    for (std::size_t hop = 0; hop < state.request.fanouts.size(); ++hop) {
      Layer& layer = into.layers[hop];
      const auto fanout = static_cast<std::uint32_t>(state.request.fanouts[hop]);
      state.lay_out(layer, into.nodes, fanout);
      state.draw(layer, into.nodes, fanout, hop_key(state.request.seed, batch, hop));
      state.collect(into.nodes);
      state.number(layer);
      into.nodes_upto.push_back(static_cast<std::uint32_t>(into.nodes.size()));
      into.sampled_edges += layer.sources.size();
    }
  } catch (...) {
    state.forget_all();
    throw;
  }
  state.forget(into.nodes);
}

MiniBatch CpuSampler::sample(std::span<const Vertex> seeds, std::uint64_t batch) {
  MiniBatch result;
  sample(seeds, batch, result);
  return result;
}

}  // namespace grainscope::gnn
