// Components, shortest paths, PageRank and hybrid steps over lean lists, taken on the CPU.

#include "grainscope/model/lean.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <parallel/algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../graph/answers.hpp"
#include "../graph/parallel.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/run.hpp"
#include "lean_lists.hpp"

namespace grainscope::model {

using lean::Step;

List list_of(const TieredLists& lists, graph::Vertex v) {
  const std::uint64_t hot = lists.tier != nullptr ? lists.tier->of(v) : 0;
  return {hot,
          {lists.lists->offsets[v] + hot, lists.lists->offsets[v + std::uint64_t{1}]},
          lean::words_of(*lists.lists, lists.tier, lists.compressed, v)};
}

void add_load(std::span<const Step> words, Requests& to) {
  ++to.loads;
  std::uint64_t line = UINT64_MAX;
  unsigned sectors = 0;  // of the line, a bit each
  const auto finish = [&] {
    if (sectors == 0) {
      return;
    }
    ++to.by_sectors[static_cast<std::size_t>(std::popcount(sectors)) - 1];
    const unsigned run = sectors >> std::countr_zero(sectors);
    to.split += (run & (run + 1)) != 0 ? 1 : 0;
    sectors = 0;
  };
  for (const Step& step : words) {
    to.lanes += step.to - step.from;
    for (std::uint64_t sector = step.from / lean::kSectorElements;
         sector <= (step.to - 1) / lean::kSectorElements; ++sector) {
      if (sector / 4 != line) {
        finish();
        line = sector / 4;
      }
      sectors |= 1U << sector % 4;
    }
  }
  finish();
}

void add_firsts(const lean::FirstsBlock& block, std::uint32_t asked, Requests& to) {
  to.elements += static_cast<unsigned>(std::popcount(asked));
  if (asked == 0 || block.bytes() == 0) {
    return;
  }
  std::array<Step, lean::kWarpLanes> words;
  std::size_t count = 0;
  for (std::uint32_t bits = asked; bits != 0; bits &= bits - 1) {
    const std::uint64_t word = block.word_of(static_cast<std::uint32_t>(std::countr_zero(bits)));
    words[count++] = {word, word + 1};
  }
  add_load({words.data(), count}, to);
}

void add_list(const List& list, Requests& to) {
  to.elements += list.cold.to - list.cold.from;
  for (std::uint64_t piece = 0; piece < lean::pieces_of(list.words.from, list.words.to); ++piece) {
    const Step whole = lean::piece_of(list.words.from, list.words.to, piece);
    for (Step step = lean::line_step(whole.from, whole.to); step.from < step.to;
         step = lean::line_step(step.to, whole.to)) {
      add_load({&step, 1}, to);
    }
  }
}

Portion first_portion(const TieredLists& lists, graph::Vertex v, const List& list) {
  const Step words = lean::first_step(list.words.from, list.words.to);
  if (lists.compressed == nullptr) {
    return {words, words};
  }
  return {words, {list.cold.from, list.cold.from + lean::first_sector_count(*lists.compressed, v)}};
}

std::vector<Portion> line_portions(const TieredLists& lists, graph::Vertex v, const List& list) {
  std::vector<Portion> portions;
  if (lists.compressed == nullptr) {
    const std::uint64_t from = list.hot == 0 && list.words.from < list.words.to
                                   ? lean::first_step(list.words.from, list.words.to).to
                                   : list.words.from;
    for (Step step = lean::line_step(from, list.words.to); step.from < step.to;
         step = lean::line_step(step.to, list.words.to)) {
      portions.push_back({step, step});
    }
    return portions;
  }
  std::uint64_t word = list.words.from;
  std::uint64_t element = list.cold.from;
  for (const std::uint32_t count : lean::line_counts(*lists.compressed, v)) {
    const Step words{word, std::min(word + lean::kLineElements, list.words.to)};
    portions.push_back({words, {element, element + count}});
    word = words.to;
    element += count;
  }
  return portions;
}

namespace {

using graph::Csr;
using graph::Vertex;
using lean::kSampledNeighbours;

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

  CcPrediction run() {
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
      CcPrediction::Stage mine;
#pragma omp for schedule(dynamic, 64)
      for (std::uint64_t i = first; i < last; ++i) {
        each(i, mine, joined);
      }
#pragma omp critical
      {
        CcPrediction::Stage& all = cc_.stages[stage];
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
    return count(to, first, last, [&](std::uint64_t i, CcPrediction::Stage& stage, std::uint64_t& joined) {
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
                 [&](std::uint64_t i, CcPrediction::Stage& stage, std::uint64_t& joined) {
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
                 [&](std::uint64_t block, CcPrediction::Stage& stage, std::uint64_t& joined) {
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
    static_cast<void>(count(
        lean::samples, 0, turns, [&](std::uint64_t turn, CcPrediction::Stage& stage, std::uint64_t& joined) {
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
  CcPrediction cc_;
};

}  // namespace

Requests CcPrediction::total() const {
  Requests all;
  for (const Stage& stage : stages) {
    all += stage.link;
  }
  return all;
}

CcPrediction replay_cc(const TieredLists& lists) {
  if (lists.lists->directed) {
    throw UsageError("components are those of an undirected graph");
  }
  return lists.lists->vertices() == 0 ? CcPrediction() : Components(lists).run();
}

namespace {

constexpr std::size_t kManyLists = 256;  // that a team of threads is worth

class NearFar {
 public:
  NearFar(const TieredLists& lists, std::uint32_t delta, const graph::LevelVisitor& visit)
      : visit_(visit),
        lists_(lists),
        graph_(*lists.lists),
        delta_(delta),
        beside_(lists.compressed == nullptr && (lists.apart || !lean::packs_weights(graph_))) {}

  SsspPrediction run(Vertex source) {
    result_.distances.assign(graph_.vertices(), graph::kUnreached);
    result_.distances[source] = 0;
    std::vector<Vertex> fallen{source};
    marked_.assign(graph_.vertices(), 0);
    marked_[source] = 1;
    std::uint64_t threshold = delta_;
    while (!fallen.empty()) {
      const auto [active, nearest] = take_near(fallen, threshold);
      if (active.empty()) {
        threshold = std::uint64_t{nearest} + delta_;
      } else {
        step(active, fallen);
      }
    }
    return std::move(result_);
  }

 private:
  // Out of `fallen`: those below the threshold, ascending. And the least distance of those that stay.
  std::pair<std::vector<Vertex>, std::uint32_t> take_near(std::vector<Vertex>& fallen,
                                                          std::uint64_t threshold) {
    std::vector<Vertex> active;
    std::vector<Vertex> far;
    std::uint32_t nearest = graph::kUnreached;
#pragma omp parallel reduction(min : nearest) if (fallen.size() > graph::kWorthThreads)
    {
      std::vector<Vertex> mine;
      std::vector<Vertex> others;
#pragma omp for schedule(static) nowait
      for (std::size_t i = 0; i < fallen.size(); ++i) {
        const Vertex v = fallen[i];
        if (result_.distances[v] < threshold) {
          mine.push_back(v);
          marked_[v] = 0;
        } else {
          others.push_back(v);
          nearest = std::min(nearest, result_.distances[v]);
        }
      }
#pragma omp critical
      {
        active.insert(active.end(), mine.begin(), mine.end());
        far.insert(far.end(), others.begin(), others.end());
      }
    }
    fallen = std::move(far);
    __gnu_parallel::sort(active.begin(), active.end());
    return {std::move(active), nearest};
  }

  // All threads: every list with the distance that its vertex has as the step begins, so that it does not
  // matter who comes first.
  void step(const std::vector<Vertex>& active, std::vector<Vertex>& fallen) {
    if (visit_) {
      visit_(active);
    }
    SsspStepPrediction step;
    step.active = active.size();
    std::vector<std::uint32_t> begun(active.size());
    for (std::size_t i = 0; i < active.size(); ++i) {
      begun[i] = result_.distances[active[i]];
    }
#pragma omp parallel if (active.size() >= kManyLists)
    {
      SsspStepPrediction mine;
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

  void count(Vertex v, SsspStepPrediction& step) const {
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
      const std::uint32_t through = distance + weights[i];
      if (through >= distance && lower(result_.distances[u], through) &&
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
  SsspPrediction result_;
};

}  // namespace

Requests SsspPrediction::total() const {
  Requests all;
  for (const SsspStepPrediction& step : steps) {
    all += step.link;
  }
  return all;
}

SsspPrediction replay_sssp(const TieredLists& lists, Vertex source, std::uint32_t delta,
                           const graph::LevelVisitor& visit) {
  graph::require_vertex(source, lists.lists->vertices());
  if (!lists.lists->weighted() || delta == 0) {
    throw UsageError("near and far needs weights and a delta");
  }
  return NearFar(lists, delta, visit).run(source);
}

namespace {

using graph::kDamping;

class Ranks {
 public:
  Ranks(const TieredLists& in, const Csr& out)
      : in_(*in.lists),
        out_(out),
        vertices_(in_.vertices()),
        base_(static_cast<float>((1 - kDamping) / static_cast<double>(vertices_))),
        ranks_(vertices_),
        shares_(vertices_),
        long_(vertices_) {
    std::uint64_t ranked = 0;
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      const List list = list_of(in, static_cast<Vertex>(v));
      long_[v] = std::max(list.hot, list.words.to - list.words.from) > lean::kLongList;
      ranked += in_.degree(static_cast<Vertex>(v)) > 0 ? 1 : 0;
    }
    ranked_share_ = static_cast<double>(ranked) / static_cast<double>(vertices_);
    const auto edges = static_cast<double>(std::max<std::uint64_t>(in_.edges(), 1));
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      const double of_all = static_cast<double>(in_.degree(static_cast<Vertex>(v))) / edges;
      set(static_cast<Vertex>(v), static_cast<float>(base_ + kDamping * ranked_share_ * of_all));
    }
  }

  // No more than what another step would change.
  double sweep() {
    double changed = 0;
    double mass = 0;
    settle(false, changed, mass);
    settle(true, changed, mass);
    const double factor = !in_.directed && mass > 0 ? ranked_share_ / mass : 1;
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      if (in_.degree(static_cast<Vertex>(v)) > 0) {
        set(static_cast<Vertex>(v), ranks_[v] * static_cast<float>(factor));
      }
    }
    return lean::rank_bound(changed, factor, ranked_share_);
  }

  std::vector<float> take() { return std::move(ranks_); }

 private:
  void set(Vertex v, float rank) {
    ranks_[v] = rank;
    const float share = out_.degree(v) > 0 ? rank / static_cast<float>(out_.degree(v)) : 0;
    std::atomic_ref<float>(shares_[v]).store(share, std::memory_order_relaxed);
  }

  // New ranks of the vertices with long lists, or of the others.
  void settle(bool of_long, double& changed, double& mass) {
#pragma omp parallel for reduction(+ : changed, mass) schedule(dynamic, 512) if (vertices_ >= kManyVertices)
    for (std::uint64_t i = 0; i < vertices_; ++i) {
      const auto v = static_cast<Vertex>(i);
      if (in_.degree(v) == 0 || long_[i] != of_long) {
        continue;
      }
      double carried = 0;
      for (const Vertex u : in_.neighbours(v)) {
        carried += std::atomic_ref<float>(shares_[u]).load(std::memory_order_relaxed);
      }
      const float before = ranks_[v];
      set(v, static_cast<float>(base_ + kDamping * carried));
      changed += std::abs(static_cast<double>(ranks_[v]) - before);
      mass += ranks_[v];
    }
  }

  const Csr& in_;
  const Csr& out_;
  std::uint64_t vertices_;
  float base_;
  double ranked_share_ = 0;
  std::vector<float> ranks_;
  std::vector<float> shares_;
  std::vector<char> long_;  // lists that are settled after all others
};

}  // namespace

PrPrediction replay_pr(const TieredLists& in, const Csr& out) {
  PrPrediction pr;
  const std::uint64_t vertices = in.lists->vertices();
  if (vertices == 0) {
    return pr;
  }
#pragma omp parallel if (vertices >= kManyVertices)
  {
    Requests mine;
    std::uint64_t hot = 0;
#pragma omp for
    for (std::uint64_t v = 0; v < vertices; ++v) {
      const List list = list_of(in, static_cast<Vertex>(v));
      hot += list.hot;
      add_list(list, mine);
    }
#pragma omp critical
    {
      pr.hot_reads += hot;
      pr.sweep += mine;
    }
  }
  Ranks ranks(in, out);
  do {
    if (++pr.sweeps > lean::kMostSweeps) {
      throw FailedError("PageRank did not come to an end within " + std::to_string(lean::kMostSweeps) +
                        " sweeps");
    }
  } while (ranks.sweep() >= lean::kRankGoal);
  pr.ranks = ranks.take();
  return pr;
}

namespace {

// A copy and what waits for it are submitted in a few calls.
constexpr double kSubmitCopy_s = 10e-6;

// Words of the lists behind the link.
std::uint64_t words_of_all(const TieredLists& lists) {
  return lists.compressed != nullptr ? lists.compressed->words.size() : lists.lists->edges();
}

// `for_each(visit)` calls visit(v) for each vertex whose list is read.
template <class ForEach>
HybridStep step_of(const TieredLists& lists, const lean::LinkCosts& costs, const ForEach& for_each) {
  const std::uint64_t words = words_of_all(lists);
  std::vector<lean::SegmentDemand> demands(lean::segments_of(words));
  for_each([&](Vertex v) {
    const lean::Step list = list_of(lists, v).words;
    const lean::SegmentDemand demand = lean::demand_of(list);
    if (demand.requests > 0) {
      lean::SegmentDemand& segment = demands[list.from / lean::kSegmentWords];
      segment.sectors += demand.sectors;
      segment.requests += demand.requests;
    }
  });
  HybridStep step{lean::plan_step(demands, words, costs), {}};
  std::vector<char> copied(demands.size());
  for (const lean::SegmentRun& run : step.plan.runs) {
    std::fill(copied.begin() + run.first, copied.begin() + run.last, run.copied ? 1 : 0);
  }
  for_each([&](Vertex v) {
    const List list = list_of(lists, v);
    if (list.words.from < list.words.to && copied[list.words.from / lean::kSegmentWords] == 0) {
      add_list(list, step.read);
    }
  });
  return step;
}

}  // namespace

lean::LinkCosts costs_of(const Link& link, const lean::SegmentRates& seen) {
  constexpr double kGiga = 1e9;
  const double byte_s = 1 / (wire_gb_s(link, seen.read_gb_s) * kGiga);
  lean::LinkCosts costs;
  costs.sector_s = static_cast<double>(kSectorBytes) * byte_s;
  costs.header_s = link.header_bytes * byte_s;
  costs.slot_s = link.round_trip_s / link.in_flight;
  costs.copied_word_s = sizeof(std::uint32_t) / (seen.copied_gb_s * kGiga);
  costs.copy_s = kSubmitCopy_s;
  return costs;
}

HybridStep hybrid_step(const TieredLists& lists, std::span<const Vertex> vertices,
                       const lean::LinkCosts& costs) {
  return step_of(lists, costs,
                 [&](const auto& visit) { std::for_each(vertices.begin(), vertices.end(), visit); });
}

HybridStep hybrid_step(const TieredLists& lists, const lean::LinkCosts& costs) {
  return step_of(lists, costs, [&](const auto& visit) {
    for (Vertex v = 0; v < lists.lists->vertices(); ++v) {
      visit(v);
    }
  });
}

}  // namespace grainscope::model
