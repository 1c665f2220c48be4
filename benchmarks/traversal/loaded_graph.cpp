#include "traversal/loaded_graph.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iostream>
#include <map>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/io.hpp"

namespace grainscope::harness {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint64_t kWeightSeed = 27491095;

bool has_own_weights(const graph::GraphSpec& spec) {
  return spec.kind == graph::GraphSpec::Kind::file && graph::holds_weights(spec.path);
}

// What bfs, cc and pr do not read must not keep a graph from them: where the weights cannot be used,
// `why_not` says why, and the graph has none.
graph::Csr read(const graph::GraphSpec& spec, const std::string& cache_dir, std::string& why_not) {
  if (has_own_weights(spec)) {
    try {
      return graph_of_run(spec, true, cache_dir);
    } catch (const UsageError& error) {
      why_not = error.what();
    }
  }
  return graph_of_run(spec, false, cache_dir);
}

std::string text_of(const WeightRange& range) {
  return std::to_string(range.least) + "-" + std::to_string(range.most);
}

WeightRange parse_weights(const std::string& text) {
  constexpr graph::Weight kMost = 1 << 20;  // 4096 of them on a path are what 32 bits can count
  const std::size_t dash = text.find('-');
  WeightRange range;
  const auto number = [](std::string_view digits, graph::Weight& value) {
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return !digits.empty() && error == std::errc{} && rest == digits.data() + digits.size();
  };
  const std::string_view all = text;
  if (dash == std::string::npos || !number(all.substr(0, dash), range.least) ||
      !number(all.substr(dash + 1), range.most) || range.least < 1 || range.least > range.most ||
      range.most > kMost) {
    throw UsageError("'" + text + "' is no range of weights: least-greatest, whole numbers from 1 to " +
                     std::to_string(kMost) + ", as 1-255");
  }
  return range;
}

}  // namespace

graph::Csr graph_of_run(const graph::GraphSpec& spec, bool weights, const std::string& cache_dir) {
  std::string not_kept;
  graph::Csr graph;
  try {
    graph = graph::make_graph(spec, weights, cache_dir, not_kept);
  } catch (const UsageError& error) {
    throw InputError(error.what());
  }
  if (graph.edges() == 0) {
    throw InputError("the graph " + (spec.path.empty() ? graph.name : spec.path) +
                     " has no edge: there is nothing to walk or to sample");
  }
  if (!not_kept.empty()) {
    std::cerr << "grainscope: the graph " << graph.name
              << " is not kept, and whoever needs it makes it again: " << not_kept << std::endl;
  }
  return graph;
}

DeclaredAxis weights_axis() {
  return checked_axis(
      "weights",
      "least and greatest weight that is drawn for an edge, of sssp; a file's own stay as they are",
      [](const std::string& text) { static_cast<void>(parse_weights(text)); }, text_of({}));
}

WeightRange weights_of(const Values& values) {
  return parse_weights(values.word("weights"));
}

std::string weights_of(const graph::GraphSpec& spec, const WeightRange& range) {
  return has_own_weights(spec) ? "own" : text_of(range);
}

std::string why_no_case(const graph::GraphSpec& spec, graph::Algorithm algorithm, const WeightRange& range) {
  if (algorithm == graph::Algorithm::cc && spec.directed()) {
    return kNoDirectedComponents;
  }
  if (range == WeightRange()) {
    return {};
  }
  return algorithm != graph::Algorithm::sssp ? "only sssp reads weights: others have the usual ones"
         : has_own_weights(spec)             ? "the file has weights of its own: none are drawn"
                                             : "";
}

std::uint64_t host_bytes(const graph::GraphSpec& spec, graph::Order order, std::uint64_t beside) {
  // An entry has 4 bytes and a weight of 4, of a directed graph once more its 4. Building has arcs of 8 bytes
  // and a list of edges, then arcs and neighbours, beside each other; a new order has the graph twice;
  // turning it has the graph, its edges and their arcs.
  const std::uint64_t entry = spec.directed() ? 12 : 8;
  const std::uint64_t making = spec.directed() ? 24 : order == graph::Order::original ? 12 : 16;
  constexpr std::uint64_t kVertex = 48;  // offsets, twice, and what an order is found by
  const std::uint64_t entries = spec.most_entries().value_or(0);
  return std::max(making * entries, entry * entries + beside) + kVertex * spec.vertices().value_or(0);
}

LoadedGraph::LoadedGraph(const graph::GraphSpec& spec, graph::Order order, const std::string& cache_dir,
                         const WeightRange& weights)
    : csr_(read(spec, cache_dir, unusable_weights_)), sources_(graph::gap_sources(csr_, kMostSources)) {
  if (!csr_.weighted()) {
    graph::draw_weights(csr_, weights.least, weights.most, kWeightSeed);
  }
  if (order != graph::Order::original) {
    const double begun = steady_now_s();
    old_of_new_ = graph::order_of(csr_, order);
    csr_ = graph::relabel(csr_, old_of_new_);
    order_s_ = steady_now_s() - begun;
    sources_ = renumbered(std::move(sources_));
  }
  if (csr_.directed) {
    HostArray<graph::Weight> drawn = std::exchange(csr_.weights, {});
    in_edges_ = graph::transpose(csr_);
    csr_.weights = std::move(drawn);
  }
}

void LoadedGraph::require_weights() const {
  if (!unusable_weights_.empty()) {
    throw SkipError(unusable_weights_);
  }
}

std::vector<Vertex> LoadedGraph::sources(int count) const {
  if (count > kMostSources) {
    throw UsageError("--trials: at most " + std::to_string(kMostSources) + " sources are drawn");
  }
  return {sources_.begin(), sources_.begin() + count};
}

std::vector<Vertex> LoadedGraph::renumbered(std::vector<Vertex> vertices) const {
  return old_of_new_.empty() ? vertices
                             : graph::looked_up(graph::inverse_order(old_of_new_).span(), vertices);
}

std::uint64_t LoadedGraph::components() const {
  if (!components_) {
    components_ = graph::count_components(csr_);
  }
  return *components_;
}

const GraphFacts& LoadedGraph::facts() const {
  if (facts_) {
    return *facts_;
  }
  std::map<std::uint64_t, std::uint64_t> entries_by_degree;  // up to powers of two
  for (Vertex v = 0; v < csr_.vertices(); ++v) {
    if (const std::uint64_t degree = csr_.degree(v); degree > 0) {
      entries_by_degree[std::bit_ceil(degree)] += degree;
    }
  }
  facts_ = {csr_.vertices(), csr_.edges(), {}};
  std::uint64_t so_far = 0;
  for (const auto& [degree, entries] : entries_by_degree) {
    so_far += entries;
    facts_->edge_cdf.emplace_back(degree, static_cast<double>(so_far) / static_cast<double>(csr_.edges()));
  }
  return *facts_;
}

const Verdict* CertifiedAnswers::find(graph::Algorithm algorithm, graph::Vertex source,
                                      const graph::Digest& digest) const {
  const auto found = answers_.find({algorithm, source});
  return found != answers_.end() && found->second.first == digest ? &found->second.second : nullptr;
}

void CertifiedAnswers::keep(graph::Algorithm algorithm, graph::Vertex source, const graph::Digest& digest,
                            const Verdict& verdict) {
  answers_[{algorithm, source}] = {digest, verdict};
}

}  // namespace grainscope::harness
