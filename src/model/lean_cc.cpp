#include "grainscope/model/lean_cc.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "../graph/forest.hpp"
#include "grainscope/core/error.hpp"
#include "lean_lists.hpp"

namespace grainscope::model {
namespace {

using graph::Csr;
using graph::Vertex;
using lean::kSampledNeighbours;
using lean::Step;

constexpr std::uint64_t kPairs = lean::kWarpLanes / lean::kPairLanes;
constexpr std::uint64_t kManyVertices = 1 << 12;  // that a team of threads is worth

class Components {
 public:
  explicit Components(const TieredLists& lists)
      : lists_(lists),
        graph_(*lists.lists),
        vertices_(graph_.vertices()),
        phases_(lean::list_phases(graph_, lists.tier, lists.compressed)),
        sure_(lean::surely_sampled(lists.compressed != nullptr ? lists.compressed->id_bits : 0)),
        forest_(graph_.vertices()) {}

  LeanCc run() {
    const bool joined = join_phases(sample_hot() + join_firsts());
    std::vector<Vertex> roots = labels();
    const Vertex before = joined ? largest(roots) : lean::kNoComponent;
    sample([&](Vertex v) { return !is_read(v) && (!joined || roots[v] != before); });
    roots = labels();
    const Vertex most = largest(roots);
    const std::uint64_t sure = !joined || roots[before] == most ? sure_ : 0;
    const auto outside = [&](Vertex v) { return !is_read(v) && roots[v] != most && graph_.degree(v) > sure; };
    static_cast<void>(join_lists(lean::rest, 0, vertices_, outside));
    cc_.labels = labels();
    return std::move(cc_);
  }

 private:
  // Calls `each(i, stage, joined)` for [first, last), adding up what it counts; how many joins.
  template <class Each>
  std::uint64_t count(lean::CcStage stage, std::uint64_t first, std::uint64_t last, const Each& each) {
    std::uint64_t joined = 0;
#pragma omp parallel reduction(+ : joined) if (vertices_ >= kManyVertices)
    {
      LeanCc::Stage mine;
#pragma omp for schedule(dynamic, 64)
      for (std::uint64_t i = first; i < last; ++i) {
        each(i, mine, joined);
      }
#pragma omp critical
      {
        LeanCc::Stage& all = cc_.stages[stage];
        all.link += mine.link;
        all.hot += mine.hot;
        all.vertices += mine.vertices;
      }
    }
    return joined;
  }

  std::uint64_t join_neighbours(Vertex v, std::uint64_t first, std::uint64_t last) {
    std::uint64_t joined = 0;
    for (const Vertex u : graph_.neighbours(v).subspan(first, last - first)) {
      joined += forest_.join(v, u) ? 1 : 0;
    }
    return joined;
  }

  // All of the lists in [first, last) that are `wanted`.
  template <class Wanted>
  std::uint64_t join_lists(lean::CcStage to, Vertex first, Vertex last, const Wanted& wanted) {
    return count(to, first, last, [&](std::uint64_t i, LeanCc::Stage& stage, std::uint64_t& joined) {
      const auto v = static_cast<Vertex>(i);
      if (!wanted(v)) {
        return;
      }
      const List list = list_of(lists_, v);
      stage.hot += list.hot;
      ++stage.vertices;
      add_list(list, stage.link);
      joined += join_neighbours(v, 0, graph_.degree(v));
    });
  }

  [[nodiscard]] std::vector<Vertex> labels() {
    forest_.flatten();
    const std::span<const Vertex> parents = forest_.parents();
    return {parents.begin(), parents.end()};
  }

  [[nodiscard]] std::uint64_t hot_samples(const List& list) const {
    return std::min(list.hot, kSampledNeighbours);
  }

  std::uint64_t sample_hot() {
    return count(lean::samples, 0, vertices_,
                 [&](std::uint64_t i, LeanCc::Stage& stage, std::uint64_t& joined) {
                   const auto v = static_cast<Vertex>(i);
                   const std::uint64_t hot = hot_samples(list_of(lists_, v));
                   stage.hot += hot;
                   joined += join_neighbours(v, 0, hot);
                 });
  }

  // First neighbours that lie side by side, those of 32 vertices by a warp.
  std::uint64_t join_firsts() {
    if (lists_.firsts == nullptr) {
      return 0;
    }
    const std::uint64_t blocks = (std::uint64_t{vertices_} + lean::kWarpLanes - 1) / lean::kWarpLanes;
    return count(lean::early, 0, blocks,
                 [&](std::uint64_t block, LeanCc::Stage& stage, std::uint64_t& joined) {
                   std::uint32_t cold = 0;
                   const std::uint64_t begin = block * lean::kWarpLanes;
                   for (std::uint64_t i = begin;
                        i < std::min<std::uint64_t>(begin + lean::kWarpLanes, vertices_); ++i) {
                     const auto v = static_cast<Vertex>(i);
                     const List list = list_of(lists_, v);
                     if (list.hot == 0 && list.cold.from < list.cold.to) {
                       cold |= 1U << (i - begin);
                       joined += join_neighbours(v, 0, 1);
                     }
                   }
                   add_firsts(lists_.firsts->block(block), cold, stage.link);
                 });
  }

  // Whether anything was joined, here or before.
  bool join_phases(std::uint64_t joined_before) {
    std::array<unsigned long long, lean::kListPhases + 1> joined{joined_before};
    for (std::size_t p = 0; p < lean::kListPhases; ++p) {
      if (!lean::phase_pays(phases_, static_cast<int>(p), joined.data())) {
        break;
      }
      joined[p + 1] =
          join_lists(lean::early, phases_.begins[p], phases_.begins[p + 1], [](Vertex) { return true; });
      read_to_ = phases_.begins[p + 1];
    }
    return joined[0] + joined[1] > 0;
  }

  [[nodiscard]] bool is_read(Vertex v) const {
    return v >= phases_.begins[0] && v < read_to_;
  }

  // The first neighbours over the link of those that are `wanted`, sixteen vertices by a warp.
  template <class Wanted>
  void sample(const Wanted& wanted) {
    const std::uint64_t turns = (vertices_ + kPairs - 1) / kPairs;
    static_cast<void>(
        count(lean::samples, 0, turns, [&](std::uint64_t turn, LeanCc::Stage& stage, std::uint64_t& joined) {
          std::array<Step, kPairs> steps;
          std::size_t reading = 0;
          for (std::uint64_t i = turn * kPairs; i < std::min<std::uint64_t>((turn + 1) * kPairs, vertices_);
               ++i) {
            const auto v = static_cast<Vertex>(i);
            const List list = list_of(lists_, v);
            const std::uint64_t hot = hot_samples(list);
            const std::uint64_t cold = wanted(v) ? cold_samples(v, list, hot) : 0;
            if (cold > 0) {
              // Of compressed lists two words, whatever is wanted of them.
              const std::uint64_t words = lists_.compressed != nullptr ? lean::kPairLanes : cold;
              steps[reading++] = {list.words.from, std::min(list.words.from + words, list.words.to)};
              ++stage.vertices;
              stage.link.elements += cold;
              joined += join_neighbours(v, hot, hot + cold);
            }
          }
          if (reading > 0) {
            add_load({steps.data(), reading}, stage.link);
          }
        }));
  }

  // How many of a list's cold neighbours are sampled where `hot` are from its hot part.
  [[nodiscard]] std::uint64_t cold_samples(Vertex v, const List& list, std::uint64_t hot) const {
    const std::uint64_t wanted = std::min(kSampledNeighbours - hot, list.cold.to - list.cold.from);
    return lists_.compressed != nullptr && wanted > 1 ? lean::first_words_count(*lists_.compressed, v)
                                                      : wanted;
  }

  [[nodiscard]] Vertex largest(const std::vector<Vertex>& roots) const {
    std::map<Vertex, int> counts;
    for (std::uint32_t i = 0; i < lean::kSampledVertices; ++i) {
      ++counts[roots[lean::sampled_vertex(i, vertices_)]];
    }
    // Of several the lowest.
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  const TieredLists& lists_;
  const Csr& graph_;
  Vertex vertices_;
  lean::ListPhases phases_;
  std::uint64_t sure_;
  graph::Forest forest_;
  Vertex read_to_ = 0;  // whose lists are read to the end: those below, from where the first phase begins
  LeanCc cc_;
};

}  // namespace

Requests LeanCc::total() const {
  Requests all;
  for (const Stage& stage : stages) {
    all += stage.link;
  }
  return all;
}

LeanCc replay_cc(const TieredLists& lists) {
  if (lists.lists->directed) {
    throw UsageError("components are those of an undirected graph");
  }
  return lists.lists->vertices() == 0 ? LeanCc() : Components(lists).run();
}

}  // namespace grainscope::model
