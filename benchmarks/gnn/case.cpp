#include "case.hpp"

#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/scores.hpp"
#include "grainscope/graph/csr.hpp"
#include "traversal/loaded_graph.hpp"

namespace grainscope::harness {

GnnGraph::GnnGraph(const graph::GraphSpec& spec, const std::string& cache_dir,
                   std::shared_ptr<const gnn::OwnLabels> own)
    : spec_(spec), own_(std::move(own)), out_(graph_of_run(spec, false, cache_dir)) {
  if (out_.directed) {
    in_ = graph::transpose(out_);
  }
}

std::vector<graph::Vertex> GnnGraph::trained_on(double percent) const {
  return gnn::trained_on(spec_, vertices(), percent, kGnnSeed, own_.get());
}

void name_labels(const gnn::OwnLabels* own, Case& id) {
  if (own != nullptr) {
    id.axes.push_back({own->axis(), own->stem()});
  }
}

std::string said_of_labels(const gnn::OwnLabels* own) {
  if (own != nullptr) {
    return own->has_train_ids() ? "training ids are the user's" : "labels are the user's";
  }
  return "labels are those of an archive in graphs with topics, in others they are spread at random";
}

const std::vector<double>& GnnGraph::pushed_rank(int iterations, int labelled_percent,
                                                 std::span<const graph::Vertex> labelled) const {
  const std::pair key{iterations, labelled_percent};
  const auto known = pushed_.find(key);
  return known != pushed_.end()
             ? known->second
             : pushed_.emplace(key, gnn::pushed_reverse_pagerank(in_edges(), labelled, iterations))
                   .first->second;
}

DeclaredAxis fanout_axis(std::string otherwise) {
  return checked_axis(
      "fanout", "neighbours sampled of each vertex, from the seeds outward",
      [](const std::string& text) { static_cast<void>(gnn::parse_fanouts(text)); }, std::move(otherwise));
}

namespace {

using gnn::ListPlacement;

const char* const kHost = "host";  // sampled by the CPU
constexpr ListPlacement kPlacements[] = {ListPlacement::device, ListPlacement::mapped,
                                         ListPlacement::interleaved};

const char* name_of(ListPlacement placement) {
  return gnn::name(placement);
}

}  // namespace

DeclaredAxis placement_axis(std::string otherwise) {
  std::vector<std::string> placements = names_of(kPlacements, name_of);
  placements.insert(placements.begin(), kHost);
  return word_axis("placement", "where lists lie: host, the CPU samples; else a GPU does",
                   std::move(placements), std::move(otherwise));
}

std::optional<ListPlacement> placement_of(const Values& values) {
  return placement_named(values.word("placement"));
}

std::string placement_name(const std::optional<ListPlacement>& placement) {
  return placement ? name_of(*placement) : kHost;
}

std::optional<ListPlacement> placement_named(const std::string& name) {
  return name == kHost ? std::nullopt : std::optional(enumerator(name, kPlacements, name_of));
}

std::uint64_t gnn_host_bytes(const graph::GraphSpec& spec) {
  const std::uint64_t lists = spec.most_entries().value_or(0) * sizeof(graph::Vertex);
  const std::uint64_t offsets = spec.vertices().value_or(0) * sizeof(graph::Edge);
  // Generating takes three times what the graph comes to.
  return 3 * (lists + offsets) * (spec.directed() ? 2 : 1);
}

}  // namespace grainscope::harness
