// Trials of a traversal that a test stands in for: whose answers are held to account, and when.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../../testing/oracles.hpp"
#include "../../testing/says.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/traversal.hpp"
#include "traversal/loaded_graph.hpp"
#include "traversal/trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;
using graph::Vertex;
using test::says;
using Values = std::vector<std::uint32_t>;

// The oracles' answers, but for what a test does to them.
class StandIn final : public graph::Traversal {
 public:
  StandIn(const LoadedGraph& graph, Algorithm algorithm) : graph_(graph), algorithm_(algorithm) {}

  double run(Vertex source) override {
    ++runs;
    answer_ = algorithm_ == Algorithm::bfs    ? graph::serial_bfs(graph_.csr(), source)
              : algorithm_ == Algorithm::sssp ? graph::serial_sssp(graph_.csr(), source)
                                              : graph::serial_cc(graph_.csr());
    spoil_answer(runs, answer_);
    return 0.25;
  }
  void spoil() override {}
  [[nodiscard]] std::vector<LevelResult> levels() const override { return {}; }
  [[nodiscard]] Values answer() const override { return answer_; }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return 0; }

  int runs = 0;  // the first is nobody's trial
  std::function<void(int run, Values& answer)> spoil_answer = [](int, Values&) {};

 private:
  const LoadedGraph& graph_;
  Algorithm algorithm_;
  Values answer_;
};

class HeldToAccount : public testing::TestWithParam<Algorithm> {
 protected:
  // Runs all trials, from `sources`, and returns them.
  std::vector<Trial> run(const std::vector<Vertex>& sources) {
    TrialParts parts;
    parts.algorithm = GetParam();
    parts.sources = sources;
    parts.complete = [this](std::vector<LevelResult>& /*levels*/, Trial& trial) {
      trial.counters["completed"] = ++completed_;
    };
    Trials trials(stand_in_, graph_, std::move(parts));
    for (std::size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(trials.run(), 0.25);
    }
    verification_ = trials.verify();
    Measurement measurement;
    trials.describe(measurement);
    return measurement.trials;
  }

  const LoadedGraph graph_{graph::parse_graph_spec("kron:10"), graph::Order::original, ""};
  StandIn stand_in_{graph_, GetParam()};
  int completed_ = 0;
  std::string verification_;
};

// More than a batch, the last of them not full.
TEST_P(HeldToAccount, every_trial_has_what_it_reached) {
  const std::vector<Vertex> sources = graph_.sources(graph::AnswerBatch::kLanes + 19);
  const std::vector<Trial> trials = run(sources);
  ASSERT_EQ(trials.size(), sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const graph::Reached reached =
        graph::reached_by(graph_.csr(), graph::serial_bfs(graph_.csr(), sources[i]));
    EXPECT_EQ(trials[i].label, "source:" + std::to_string(sources[i]));
    EXPECT_EQ(trials[i].counters.at("reached"), reached.vertices);
    EXPECT_EQ(trials[i].counters.at("teps"), static_cast<double>(reached.entries) / 2 / 0.25);
    EXPECT_EQ(trials[i].counters.at("completed"), static_cast<double>(i + 1));
  }
  EXPECT_TRUE(says(verification_, "every trial, by itself or as equal to an answer so certified"));
}

// Whichever trial it is, of a full batch or of the last.
TEST_P(HeldToAccount, one_wrong_answer_fails_the_row) {
  constexpr int kLanes = graph::AnswerBatch::kLanes;
  const std::vector<Vertex> sources = graph_.sources(kLanes + 3);
  for (const int wrong : {0, 1, kLanes - 1, kLanes, kLanes + 2}) {
    const LoadedGraph fresh(graph::parse_graph_spec("kron:10"), graph::Order::original, "");
    StandIn stand_in(fresh, GetParam());
    stand_in.spoil_answer = [&](int run, Values& answer) {
      if (run == wrong + 2) {
        ++answer[sources[static_cast<std::size_t>(wrong)]];
      }
    };
    TrialParts parts;
    parts.algorithm = GetParam();
    parts.sources = sources;
    parts.complete = [](std::vector<LevelResult>&, Trial&) {};
    Trials trials(stand_in, fresh, std::move(parts));
    EXPECT_TRUE(says(test::refusal<FailedError>([&] {
                       for (std::size_t i = 0; i < sources.size(); ++i) {
                         static_cast<void>(trials.run());
                       }
                       static_cast<void>(trials.verify());
                     }),
                     "the source " + std::to_string(sources[static_cast<std::size_t>(wrong)])))
        << wrong;
  }
}

// Answers with no room in a batch are held to account one by one, beside those that wait.
TEST(HeldToAccountAlone, long_ways_are_certified_by_themselves) {
  const LoadedGraph far(graph::parse_graph_spec("kron:10"), graph::Order::original, "", {1, 1 << 16});
  for (const bool right : {true, false}) {
    StandIn stand_in(far, Algorithm::sssp);
    const std::vector<Vertex> sources = far.sources(6);
    bool farther = false;
    stand_in.spoil_answer = [&](int run, Values& answer) {
      farther = farther || std::ranges::any_of(answer, [](std::uint32_t entry) {
                  return entry >= graph::AnswerBatch::kNotReached && entry != graph::kUnreached;
                });
      if (run == 5 && !right) {
        ++answer[(sources[3] + 1) % answer.size()];
      }
    };
    TrialParts parts;
    parts.algorithm = Algorithm::sssp;
    parts.sources = sources;
    parts.complete = [](std::vector<LevelResult>&, Trial&) {};
    Trials trials(stand_in, far, std::move(parts));
    const auto all = [&] {
      for (std::size_t i = 0; i < sources.size(); ++i) {
        static_cast<void>(trials.run());
      }
      return trials.verify();
    };
    if (right) {
      EXPECT_TRUE(says(all(), "every trial, by itself or as equal to an answer so certified"));
      EXPECT_TRUE(farther);
    } else {
      EXPECT_THROW(all(), FailedError);
    }
  }
}

// An answer that was right once is known again by its digest, and another to the same question is not.
TEST_P(HeldToAccount, an_answer_is_known_again_and_a_wrong_one_is_not) {
  const std::vector<Vertex> sources(graph::AnswerBatch::kLanes + 5, graph_.sources(1).front());
  EXPECT_EQ(run(sources).size(), sources.size());
  EXPECT_NE(graph_.certified().find(GetParam(), sources.front(), graph::digest_of(stand_in_.answer())),
            nullptr);
  stand_in_.spoil_answer = [&](int, Values& answer) { ++answer[(sources.front() + 1) % answer.size()]; };
  EXPECT_THROW(run(sources), FailedError);
}

// From one source again and again: an answer that differs from those that wait is no answer of theirs.
TEST_P(HeldToAccount, a_wrong_answer_does_not_hide_behind_a_right_one_that_waits) {
  const std::vector<Vertex> sources(5, graph_.sources(1).front());
  stand_in_.spoil_answer = [&](int run, Values& answer) {
    if (run == 4) {
      ++answer[(sources.front() + 1) % answer.size()];
    }
  };
  EXPECT_THROW(run(sources), FailedError);
}

// All that had the one answer that waited have what it reached.
TEST_P(HeldToAccount, trials_with_one_answer_are_settled_together) {
  const std::vector<Vertex> sources(5, graph_.sources(1).front());
  for (const Trial& trial : run(sources)) {
    EXPECT_GT(trial.counters.at("reached"), 1);
    EXPECT_GT(trial.counters.at("teps"), 1);
  }
}

// Ranks that differ from run to run, as a push's do, which none of these trials has from another.
class Ranked final : public graph::Traversal {
 public:
  explicit Ranked(const LoadedGraph& graph) : right_(graph::serial_pr(graph.csr())) {}

  double run(Vertex /*source*/) override {
    ++runs_;
    ranks_.assign(right_.begin(), right_.end());
    ranks_[0] *= 1 + 1e-6F * static_cast<float>(alike ? 0 : runs_);
    if (runs_ == wrong) {
      ranks_[1] += 1e-3F;
    }
    return 0.5;
  }
  void spoil() override {}
  [[nodiscard]] std::vector<LevelResult> levels() const override { return {}; }
  [[nodiscard]] std::vector<float> ranks() const override { return ranks_; }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return 0; }

  bool alike = false;
  int wrong = 0;  // the run whose ranks are

 private:
  std::vector<double> right_;
  std::vector<float> ranks_;
  int runs_ = 0;  // the first is nobody's trial
};

std::string verification_of(const LoadedGraph& graph, Ranked& ranked, int count) {
  TrialParts parts;
  parts.algorithm = Algorithm::pr;
  parts.sources.assign(static_cast<std::size_t>(count), 0);
  parts.complete = [](std::vector<LevelResult>&, Trial&) {};
  Trials trials(ranked, graph, std::move(parts));
  for (int i = 0; i < count; ++i) {
    static_cast<void>(trials.run());
  }
  return trials.verify();
}

TEST(HeldToAccountRanks, right_ones_of_more_runs_than_are_proven_together) {
  const LoadedGraph graph(graph::parse_graph_spec("kron:10"), graph::Order::original, "");
  for (const bool alike : {false, true}) {
    Ranked ranked(graph);
    ranked.alike = alike;
    const std::string said = verification_of(graph, ranked, static_cast<int>(graph::kRankLanes) + 3);
    EXPECT_TRUE(says(said, "one more step in double precision changes the ranks by"));
    EXPECT_TRUE(says(said, "every trial, by itself or as equal to an answer so certified"));
  }
}

TEST(HeldToAccountRanks, one_wrong_answer_fails_the_row) {
  const LoadedGraph graph(graph::parse_graph_spec("kron:10"), graph::Order::original, "");
  constexpr int kLanes = graph::kRankLanes;
  for (const bool alike : {false, true}) {
    for (const int wrong : {2, 3, kLanes + 1, kLanes + 2, kLanes + 4}) {
      Ranked ranked(graph);
      ranked.alike = alike;
      ranked.wrong = wrong;
      EXPECT_THROW(verification_of(graph, ranked, kLanes + 3), FailedError) << wrong;
    }
  }
}

TEST(TrialsWithin, has_all_that_are_over_in_time_and_no_fewer_than_eight) {
  EXPECT_EQ(trials_within(0, 100, 64), 64);
  EXPECT_EQ(trials_within(10, 0.1, 64), 64);
  EXPECT_EQ(trials_within(10, 0.2, 64), 50);
  EXPECT_EQ(trials_within(10, 5, 64), kFewestTrials);
  EXPECT_EQ(trials_within(10, 5, 4), 4);
  EXPECT_EQ(trials_within(10, 0, 64), 64);  // of a file whose size nobody knows yet
}

INSTANTIATE_TEST_SUITE_P(Trials, HeldToAccount, testing::Values(Algorithm::bfs, Algorithm::sssp),
                         [](const auto& which) { return name(which.param); });

}  // namespace
}  // namespace grainscope::harness
