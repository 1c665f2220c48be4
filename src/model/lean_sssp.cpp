#include "grainscope/model/lean_sssp.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "lean_lists.hpp"

namespace grainscope::model {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::size_t kManyLists = 256;  // that a team of threads is worth

class NearFar {
 public:
  NearFar(const TieredLists& lists, std::uint32_t delta, const graph::LevelVisitor& visit)
      : visit_(visit),
        lists_(lists),
        graph_(*lists.lists),
        delta_(delta),
        beside_(lists.compressed == nullptr && !lean::packs_weights(graph_)) {}

  LeanSssp run(Vertex source) {
    result_.distances.assign(graph_.vertices(), graph::kUnreached);
    result_.distances[source] = 0;
    std::vector<Vertex> fallen{source};
    marked_.assign(graph_.vertices(), 0);
    marked_[source] = 1;
    std::uint64_t threshold = delta_;
    while (!fallen.empty()) {
      std::vector<Vertex> active;
      std::vector<Vertex> far;
      std::uint32_t nearest = graph::kUnreached;
      for (const Vertex v : fallen) {
        if (result_.distances[v] < threshold) {
          active.push_back(v);
          marked_[v] = 0;
        } else {
          far.push_back(v);
          nearest = std::min(nearest, result_.distances[v]);
        }
      }
      fallen = std::move(far);
      if (active.empty()) {
        threshold = (std::uint64_t{nearest} / delta_ + 1) * delta_;
        continue;
      }
      step(active, fallen);
    }
    return std::move(result_);
  }

 private:
  // All threads: every list with the distance that its vertex has as the step begins, so that it does not
  // matter who comes first.
  void step(std::vector<Vertex>& active, std::vector<Vertex>& fallen) {
    std::sort(active.begin(), active.end());
    if (visit_) {
      visit_(active);
    }
    LeanSsspStep step;
    step.active = active.size();
    std::vector<std::uint32_t> begun(active.size());
    for (std::size_t i = 0; i < active.size(); ++i) {
      begun[i] = result_.distances[active[i]];
    }
#pragma omp parallel if (active.size() >= kManyLists)
    {
      LeanSsspStep mine;
      std::vector<Vertex> fell;
#pragma omp for schedule(dynamic, 64)
      for (std::size_t i = 0; i < active.size(); ++i) {
        count(active[i], mine);
        relax(active[i], begun[i], fell);
      }
#pragma omp critical
      {
        step.edges += mine.edges;
        step.hot_reads += mine.hot_reads;
        step.link += mine.link;
        fallen.insert(fallen.end(), fell.begin(), fell.end());
      }
    }
    result_.steps.push_back(step);
  }

  void count(Vertex v, LeanSsspStep& step) const {
    const List list = list_of(lists_, v);
    step.edges += graph_.degree(v);
    step.hot_reads += list.hot;
    add_list(list, step.link);
    if (beside_) {
      Requests weights;  // read in the same pieces
      add_list(list, weights);
      weights.elements = 0;
      step.link += weights;
    }
  }

  void relax(Vertex v, std::uint32_t distance, std::vector<Vertex>& fell) {
    const auto neighbours = graph_.neighbours(v);
    const auto weights = graph_.weights_of(v);
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const Vertex u = neighbours[i];
      if (lower(result_.distances[u], distance + weights[i]) &&
          std::atomic_ref<std::uint8_t>(marked_[u]).exchange(1, std::memory_order_relaxed) == 0) {
        fell.push_back(u);
      }
    }
  }

  // Whether it was higher.
  static bool lower(std::uint32_t& distance, std::uint32_t to) {
    const std::atomic_ref<std::uint32_t> there(distance);
    std::uint32_t now = there.load(std::memory_order_relaxed);
    while (to < now) {
      if (there.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  const graph::LevelVisitor& visit_;
  TieredLists lists_;
  const Csr& graph_;
  std::uint32_t delta_;
  bool beside_;                       // whether weights are read from an array of their own
  std::vector<std::uint8_t> marked_;  // in `fallen`
  LeanSssp result_;
};

}  // namespace

Requests LeanSssp::total() const {
  Requests all;
  for (const LeanSsspStep& step : steps) {
    all += step.link;
  }
  return all;
}

LeanSssp replay_sssp(const TieredLists& lists, Vertex source, std::uint32_t delta,
                     const graph::LevelVisitor& visit) {
  graph::require_vertex(source, lists.lists->vertices());
  if (!lists.lists->weighted() || delta == 0) {
    throw UsageError("near and far needs weights and a delta");
  }
  return NearFar(lists, delta, visit).run(source);
}

}  // namespace grainscope::model
