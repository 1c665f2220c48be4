// The model's trials of one algorithm on one graph, replayed in one pass over the levels of each.

#include "runs.hpp"

#include <omp.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "grainscope/core/error.hpp"
#include "harness/run.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;
using graph::Csr;
using graph::Vertex;

constexpr std::uint64_t kSmallGraph = 4'000'000;  // entries
constexpr std::uint64_t kManyEdges = 100'000;     // of a level: worth waking threads for

// A small graph is replayed by one thread: its levels are over before others have woken, and where other
// programs are running too, threads that wait for each other take a hundred times as long.
class [[nodiscard]] FewThreads {
 public:
  explicit FewThreads(const Csr& graph) : before_(omp_get_max_threads()) {
    if (graph.edges() < kSmallGraph) {
      omp_set_num_threads(1);
    }
  }
  ~FewThreads() { omp_set_num_threads(before_); }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  int before_;
};

// Feeds each level to everything that was asked for.
class Trial {
 public:
  Trial(const Csr& graph, Algorithm algorithm, const ModelRequests& requests)
      : graph_(graph), ever_(graph.vertices()) {
    for (const WalkRequest& walk : requests.walks) {
      replayers_.emplace(
          walk, model::Replayer(graph, walk.access, layout_of(algorithm, walk.edge_bytes), model::Grid{}));
    }
    for (const ReachRequest& reach : requests.reaches) {
      const model::Layout layout = layout_of(algorithm, reach.edge_bytes);
      reaches_.emplace_back(reach,
                            model::TranslationWalk(graph, layout, reach.reach_bytes, reach.granule_bytes));
      result_.misses[reach] = {};
    }
    for (const CardRequest& card : requests.cards) {
      // Time depends on the link, and is the rows' own.
      const std::uint64_t bytes = card_pages(card, algorithm, graph.edges()) * card.page_bytes;
      const model::PagingOptions options{bytes, card.page_bytes, 1, 0, 1};
      pagers_.emplace_back(card, model::Pager(graph, layout_of(algorithm, card.edge_bytes), options));
    }
  }

  void level(std::span<const Vertex> active) {
    if (signal_received() != 0) {
      throw Interrupted{};
    }
    count(active);
    for (auto& [walk, replayer] : replayers_) {
      replayer.level(active);
    }
    for (auto& [reach, walk] : reaches_) {
      const std::uint64_t before = walk.misses();
      walk.level(active);
      result_.misses[reach].push_back(walk.misses() - before);
    }
    // One after another each, but many at once.
#pragma omp parallel for schedule(dynamic) if (result_.edges.back() > kManyEdges)
    for (std::size_t i = 0; i < pagers_.size(); ++i) {
      pagers_[i].second.level(active);
    }
  }

  [[nodiscard]] TrialModel result(std::string label) {
    result_.label = std::move(label);
    for (const auto& [walk, replayer] : replayers_) {
      result_.walks.emplace(walk, replayer.result());
    }
    for (const auto& [card, pager] : pagers_) {
      result_.cards.emplace(card, pager.result());
    }
    return std::move(result_);
  }

 private:
  // Independently of the model: what its counts are held against.
  void count(std::span<const Vertex> active) {
    std::uint64_t edges = 0;
    std::uint64_t fresh = 0;
    std::uint64_t fresh_entries = 0;
#pragma omp parallel for reduction(+ : edges, fresh, fresh_entries) if (active.size() > 4096)
    for (std::size_t i = 0; i < active.size(); ++i) {
      const std::uint64_t degree = graph_.degree(active[i]);
      const bool is_new = ever_[active[i]] == 0;
      ever_[active[i]] = 1;
      edges += degree;
      fresh += is_new ? 1 : 0;
      fresh_entries += is_new ? degree : 0;
    }
    result_.active.push_back(active.size());
    result_.edges.push_back(edges);
    result_.reached += fresh;
    result_.entries += fresh_entries;
  }

  const Csr& graph_;
  std::vector<std::uint8_t> ever_;  // active before; a byte each, so that threads do not meet
  std::map<WalkRequest, model::Replayer> replayers_;
  std::vector<std::pair<ReachRequest, model::TranslationWalk>> reaches_;
  std::vector<std::pair<CardRequest, model::Pager>> pagers_;
  TrialModel result_;
};

TrialModel run_trial(const Csr& graph, Algorithm algorithm, Vertex source, const std::string& label,
                     const ModelRequests& requests) {
  Trial trial(graph, algorithm, requests);
  graph::run_levels(graph, algorithm, source, [&](std::span<const Vertex> active) { trial.level(active); });
  return trial.result(label);
}

}  // namespace

std::uint64_t TrialModel::edges_read() const {
  return std::accumulate(edges.begin(), edges.end(), std::uint64_t{0});
}

bool reads_weights(Algorithm algorithm) {
  return algorithm == Algorithm::sssp;
}

model::Layout layout_of(Algorithm algorithm, int edge_bytes) {
  return {edge_bytes, reads_weights(algorithm), 0, 0};
}

std::uint64_t data_pages(const CardRequest& card, Algorithm algorithm, std::uint64_t entries) {
  return model::pages_of(entries, layout_of(algorithm, card.edge_bytes), card.page_bytes);
}

std::uint64_t card_pages(const CardRequest& card, Algorithm algorithm, std::uint64_t entries) {
  const auto percent = static_cast<std::uint64_t>(card.percent);
  return (data_pages(card, algorithm, entries) * percent + 99) / 100;
}

TraversalModel model_traversal_of(const LoadedGraph& loaded, Algorithm algorithm, int sources,
                                  const ModelRequests& requests) {
  const Csr& graph = loaded.csr();
  if (algorithm == Algorithm::cc && graph.directed) {
    throw SkipError(kNoDirectedComponents);
  }
  const FewThreads few(graph);
  TraversalModel result{algorithm, loaded.facts(), graph.directed, {}};
  if (algorithm == Algorithm::cc || algorithm == Algorithm::pr) {
    result.trials.push_back(run_trial(graph, algorithm, 0, "trial:0", requests));
    return result;
  }
  for (const Vertex source : loaded.sources(sources)) {
    result.trials.push_back(
        run_trial(graph, algorithm, source, "source:" + std::to_string(source), requests));
  }
  return result;
}

namespace {

void merge_into(ModelRequests& all, const ModelRequests& more) {
  all.walks.insert(more.walks.begin(), more.walks.end());
  all.reaches.insert(more.reaches.begin(), more.reaches.end());
  all.cards.insert(more.cards.begin(), more.cards.end());
}

// Runs `work` when it goes out of scope, however that comes.
template <class Work>
struct [[nodiscard]] AtEnd {
  Work work;
  ~AtEnd() { work(); }
};

}  // namespace

ModelRuns::ModelRuns()
    : load_([](const graph::GraphSpec& spec, const std::string& cache_dir) {
        return std::make_unique<LoadedGraph>(spec, graph::Order::original, cache_dir);
      }) {}

std::shared_ptr<ModelRuns::Claim> ModelRuns::add(Claim claim, int sessions) {
  auto shared = std::make_shared<Claim>(std::move(claim));
  shared->sessions_left = sessions;
  claims_.push_back(shared);
  return shared;
}

ModelRuns::Key ModelRuns::key_of(const Claim& claim) {
  return {claim.graph.name(), claim.algorithm, claim.sources};
}

std::vector<std::shared_ptr<ModelRuns::Claim>> ModelRuns::open_claims() const {
  std::vector<std::shared_ptr<Claim>> open;
  for (const std::weak_ptr<Claim>& each : claims_) {
    auto claim = each.lock();
    if (claim != nullptr && claim->sessions_left > 0) {
      open.push_back(std::move(claim));
    }
  }
  return open;
}

std::shared_ptr<const TraversalModel> ModelRuns::get(Claim& claim) {
  const AtEnd<std::function<void()>> session_end{[&] {
    claim.sessions_left = std::max(0, claim.sessions_left - 1);
    tidy();
  }};
  auto answer = answers_.find(key_of(claim));
  if (answer == answers_.end()) {
    answer = answers_.emplace(key_of(claim), compute(claim)).first;
  }
  if (answer->second.model == nullptr) {
    throw SkipError(answer->second.refused);
  }
  return answer->second.model;
}

ModelRuns::Answer ModelRuns::compute(const Claim& claim) {
  ModelRequests requests = claim.requests;
  for (const auto& open : open_claims()) {
    if (key_of(*open) == key_of(claim)) {
      merge_into(requests, open->requests);
    }
  }
  try {
    provide_graph(claim);
    if (reads_weights(claim.algorithm)) {
      graph_->require_weights();
    }
    return {std::make_shared<const TraversalModel>(
                model_traversal_of(*graph_, claim.algorithm, claim.sources, requests)),
            {}};
  } catch (const SkipError& refused) {
    return {nullptr, refused.what()};
  }
}

void ModelRuns::provide_graph(const Claim& claim) {
  if (graph_ != nullptr && graph_name_ == claim.graph.name()) {
    return;
  }
  graph_.reset();  // before the next one is there
  graph_ = load_(claim.graph, claim.cache_dir);
  graph_name_ = claim.graph.name();
}

void ModelRuns::tidy() {
  const auto open = open_claims();
  const auto asks = [&](const Key& key) {
    return std::any_of(open.begin(), open.end(), [&](const auto& claim) { return key_of(*claim) == key; });
  };
  std::erase_if(answers_, [&](const auto& answer) { return !asks(answer.first); });
  const bool needs_graph = std::any_of(open.begin(), open.end(), [&](const auto& claim) {
    return claim->graph.name() == graph_name_ && !answers_.contains(key_of(*claim));
  });
  if (!needs_graph) {
    graph_.reset();
  }
}

}  // namespace grainscope::harness
