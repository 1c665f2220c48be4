#ifndef GRAINSCOPE_BENCHMARKS_MODEL_RUNS_HPP
#define GRAINSCOPE_BENCHMARKS_MODEL_RUNS_HPP

// One pass over an algorithm's levels for all rows about it: rows that differ in their link share a replay,
// and all walks and cards are fed from the same levels. A graph is there while something is to be computed on
// it, an answer while some row is to read it.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_trials.hpp"

namespace grainscope::harness {

class ModelRuns {
 public:
  using Load =
      std::function<std::unique_ptr<LoadedGraph>(const graph::GraphSpec& spec, const std::string& cache_dir)>;

  // What one case will ask for. Its body owns the claim: a case that a filter or a resumed run leaves out is
  // destroyed, and nothing is computed for it.
  struct Claim {
    graph::GraphSpec graph;
    graph::Algorithm algorithm = graph::Algorithm::bfs;
    int sources = 1;
    std::string cache_dir;
    ModelRequests requests;
    int sessions_left = 0;
  };

  ModelRuns();  // graphs in their original order
  explicit ModelRuns(Load load) : load_(std::move(load)) {}

  // A case that will ask in each of its `sessions`.
  [[nodiscard]] std::shared_ptr<Claim> add(Claim claim, int sessions);

  // What was claimed, and all that was claimed with it for the same algorithm and graph; computed at the
  // first call. Counts as a session of the claim, whatever comes of it. Throws as `load` and
  // model_traversal_of; a case that comes after one that was refused is refused with the same words.
  [[nodiscard]] std::shared_ptr<const TraversalModel> get(Claim& claim);

  [[nodiscard]] bool holds_a_graph() const { return graph_ != nullptr; }
  [[nodiscard]] std::size_t answers() const { return answers_.size(); }

 private:
  struct Key {
    std::string graph;
    graph::Algorithm algorithm = graph::Algorithm::bfs;
    int sources = 1;
    // clang-tidy 14 sees a null pointer in it. NOLINTNEXTLINE(modernize-use-nullptr)
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Answer {
    std::shared_ptr<const TraversalModel> model;  // null: refused
    std::string refused;
  };

  [[nodiscard]] static Key key_of(const Claim& claim);
  [[nodiscard]] std::vector<std::shared_ptr<Claim>> open_claims() const;
  [[nodiscard]] Answer compute(const Claim& claim);
  void provide_graph(const Claim& claim);
  // Frees what no open claim will ask for.
  void tidy();

  Load load_;
  std::vector<std::weak_ptr<Claim>> claims_;
  std::unique_ptr<LoadedGraph> graph_;
  std::string graph_name_;
  std::map<Key, Answer> answers_;
};

}  // namespace grainscope::harness

#endif
