#ifndef GRAINSCOPE_TESTS_GPU_LEAN_FIXTURE_HPP
#define GRAINSCOPE_TESTS_GPU_LEAN_FIXTURE_HPP

#include <cuda_runtime_api.h>

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "grainscope/cuda/check.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"
#include "traversal_fixture.hpp"

namespace grainscope::lean {

// A graph's lists as they are placed, and as the model has them. The graph outlives it.
class Lists {
  template <class T>
  static const T* address(const std::optional<T>& value) {
    return value ? &*value : nullptr;
  }

 public:
  explicit Lists(const graph::BothWays& both) : both_(both) {}
  // A percentage of each direction's elements hot.
  Lists& hot(TierPolicy policy, int percent) {
    const std::uint64_t elements = both_.graph.edges() * static_cast<unsigned>(percent) / 100;
    out_.tier = plan_tier(both_.graph, policy, elements);
    in_.tier = plan_tier(both_.in_edges(), policy, elements);
    return *this;
  }
  // What is not hot; said last.
  Lists& compressed(bool weights = false) {
    weights_ = weights;
    out_.compressed = compress(both_.graph, address(out_.tier), weights);
    if (!weights) {
      in_.compressed = compress(both_.in_edges(), address(in_.tier), false);
    }
    return *this;
  }
  // First neighbours of those that are pulled from and have nothing hot, side by side; said after what is
  // hot.
  Lists& firsts(bool packed) {
    Direction& pulled = both_.graph.directed ? in_ : out_;
    pulled.firsts = first_neighbours(both_.in_edges(), address(pulled.tier), packed);
    return *this;
  }
  Lists& weighted() {
    weights_ = true;
    return *this;
  }
  // With their weights in an array of their own, also where they fit into their neighbours.
  Lists& apart() {
    apart_ = true;
    return weighted();
  }
  // What is on the host lies in managed memory of the budget.
  Lists& managed(cuda::ManagedBudget& budget) {
    budget_ = &budget;
    return *this;
  }

  // `beside`: the same for another GPU, whose host memory these share.
  [[nodiscard]] std::unique_ptr<LeanLists> place(int gpu = 0, const LeanLists* beside = nullptr) const {
    LeanPlacement placement;
    placement.gpu = gpu;
    placement.beside = beside;
    if (const int other = gpu_of_others(); other > 0) {
      placement.others = {other};
    }
    placement.graph = &both_.graph;
    placement.tier = address(out_.tier);
    placement.compressed = address(out_.compressed);
    placement.weights = weights_;
    placement.apart = apart_;
    placement.firsts = address((both_.graph.directed ? in_ : out_).firsts);
    if (both_.graph.directed && !weights_) {
      placement.in_edges = &both_.transposed;
      placement.in_tier = address(in_.tier);
      placement.in_compressed = address(in_.compressed);
    }
    if (budget_ == nullptr) {
      return place_lean(placement);
    }
    placement.memory = cuda::MemoryKind::managed_host;
    return place_lean(placement, {nullptr, budget_});
  }
  // The GPU that all but the first of several share: another where there are two.
  static int gpu_of_others() {
    int gpus = 0;
    cuda::check(cudaGetDeviceCount(&gpus), "count the GPUs");
    return gpus > 1 ? 1 : 0;
  }
  [[nodiscard]] model::TieredLists pushed() const {
    model::TieredLists lists = out_.of(both_.graph);
    lists.apart = apart_;
    return lists;
  }
  [[nodiscard]] model::TieredLists pulled() const {
    return both_.graph.directed ? in_.of(both_.transposed) : pushed();
  }

 private:
  struct Direction {
    std::optional<HotTier> tier;
    std::optional<CompressedLists> compressed;
    std::optional<Firsts> firsts;
    [[nodiscard]] model::TieredLists of(const graph::Csr& lists) const {
      return {&lists, address(tier), address(compressed), address(firsts)};
    }
  };
  const graph::BothWays& both_;
  Direction out_;
  Direction in_;
  bool weights_ = false;
  bool apart_ = false;
  cuda::ManagedBudget* budget_ = nullptr;
};

// Lists as several GPUs read them together: the first one, and others on another GPU where there is one.
class TeamOfLists {
 public:
  TeamOfLists(const Lists& lists, int count) {
    placed_.push_back(lists.place());
    while (static_cast<int>(placed_.size()) < count) {
      placed_.push_back(lists.place(Lists::gpu_of_others(), placed_.front().get()));
    }
    for (const auto& each : placed_) {
      team_.push_back(each.get());
    }
  }
  ~TeamOfLists() {
    while (!placed_.empty()) {
      placed_.pop_back();  // each made its GPU the current one
    }
  }
  TeamOfLists(const TeamOfLists&) = delete;
  TeamOfLists& operator=(const TeamOfLists&) = delete;
  [[nodiscard]] LeanTeam team() const { return team_; }

 private:
  std::vector<std::unique_ptr<LeanLists>> placed_;
  std::vector<const LeanLists*> team_;
};

// A search as it is, one that never pulls, and one that does whenever there is a choice.
inline constexpr Turning kTurnings[] = {{}, {0}, {std::numeric_limits<double>::infinity()}};

class LeanTest : public graph::TraversalTest {
 protected:
  static graph::BothWays hubs_first(const graph::BothWays& both) {
    return graph::BothWays(graph::relabel(both.graph, graph::order_of(both.graph, graph::Order::degree)));
  }

  // `check(lists)` over lists without anything hot and with, plain and compressed.
  template <class Check>
  static void over_all_lists(const graph::BothWays& both, TierPolicy policy, int percent, bool weights,
                             const Check& check) {
    SCOPED_TRACE(testing::Message() << both.graph.name << ", " << both.graph.vertices() << " vertices, "
                                    << name(policy));
    const auto each = [&](const char* what, Lists lists) {
      SCOPED_TRACE(what);
      check(weights ? lists.weighted() : lists);
    };
    each("plain", Lists(both));
    each("hot", Lists(both).hot(policy, percent));
    each("compressed", Lists(both).compressed(weights));
    each("hot, the rest compressed", Lists(both).hot(policy, percent).compressed(weights));
    if (!weights) {
      each("first neighbours side by side", Lists(both).firsts(false));
      each("these packed", Lists(both).firsts(true));
      each("these packed, and lists compressed", Lists(both).firsts(true).compressed());
      each("hot, and first neighbours", Lists(both).hot(policy, percent).firsts(false));
      each("all of these", Lists(both).hot(policy, percent).firsts(true).compressed());
    }
  }

  // Depths of the serial search, after each of some runs; levels and reads as the model has them.
  static void expect_search(graph::Traversal& search, const graph::BothWays& both, const Lists& lists,
                            graph::Vertex source, const Turning& turning, int runs = 1) {
    const model::BfsPrediction expected = model::replay_bfs(lists.pushed(), lists.pulled(), source, turning);
    for (int run = 0; run < runs; ++run) {
      EXPECT_GT(graph::run_anew(search, source), 0);
      ASSERT_EQ(search.answer(), graph::serial_bfs(both.graph, source));
    }
    const std::vector<LevelResult> levels = search.levels();
    ASSERT_EQ(levels.size(), expected.levels.size());
    const std::vector<LinkReads> reads = search.count(source);
    ASSERT_EQ(reads.size(), expected.levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const model::LevelPrediction& level = expected.levels[i];
      SCOPED_TRACE(testing::Message() << "level " << i);
      EXPECT_EQ(levels[i].active, level.active);
      EXPECT_EQ(levels[i].edges, level.edges);
      EXPECT_EQ(search.pulled()[i], level.pull);
      expect_equal(reads[i], level.link, level.hot_reads);
    }
    EXPECT_EQ(search.answer(), expected.depths) << "after counting";
  }

  // Ranks that one more step would not change, after each of some runs; sweeps as the model has them.
  static void expect_ranks(graph::Traversal& ranks, const graph::BothWays& both, const Lists& lists,
                           int runs) {
    const model::PrPrediction expected = model::replay_pr(lists.pulled(), both.graph);
    for (int run = 0; run < runs; ++run) {
      EXPECT_GT(graph::run_anew(ranks, 0), 0);
      EXPECT_NO_THROW(static_cast<void>(graph::certify_pr(both.graph, both.in_edges(), ranks.ranks())));
    }
    const std::vector<LinkReads> reads = ranks.count(0);
    EXPECT_EQ(reads.size(), ranks.levels().size());
    // Warps come in no fixed order: of a small graph all at once.
    EXPECT_LE(reads.size(), 2 * expected.sweeps + 10U);
    for (const LinkReads& sweep : reads) {
      expect_equal(sweep, expected.sweep, expected.hot_reads);
    }
  }

  static void expect_equal(const LinkReads& reads, const model::Requests& link, std::uint64_t hot) {
    EXPECT_EQ(reads.elements, link.elements);
    EXPECT_EQ(reads.sectors * model::kSectorBytes, link.bytes());
    EXPECT_EQ(reads.hot, hot);
  }
};

}  // namespace grainscope::lean

#endif
