#include "model_runs.hpp"

#include <algorithm>
#include <functional>

#include "grainscope/core/error.hpp"

namespace grainscope::harness {
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
