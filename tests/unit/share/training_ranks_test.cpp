// Training with a process for each GPU: how they wait for each other, and what their workers answer.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "gnn/training_ranks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/system/child_process.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {
namespace {

gnn::PipelineRequest request_of_two() {
  gnn::PipelineRequest request;
  request.gpus = {0, 1};
  return request;
}

class TrainingByRanks : public testing::Test {
 protected:
  TrainingByRanks() {
    gnn::TrainingRequest request;
    request.sample = {{3, 2}, 1};
    request.batch = 4;
    request.batches = 6;
    request.labelled_percent = 50;
    request.shape = {4, 3, 2, 2};
    plan_ = gnn::plan_training(graph::make_graph(graph::parse_graph_spec("kron:6"), false), request);
  }

  // A program of which each process answers as its script says: $w is the word it was asked; $3 its rank.
  [[nodiscard]] std::string program(const std::string& script) {
    const std::filesystem::path path = directory_ / ("worker" + std::to_string(programs_++));
    test::write_text(path, "#!/bin/sh\n[ \"$1 $2\" = \"worker rank\" ] || exit 9\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  // Three steps, each a window. What rank 0 and rank 1 say differs by the rank.
  [[nodiscard]] static std::string serving(const std::string& instead = "") {
    return "echo shared\nwhile read -r w; do case $w in\n" + instead +
           "open) echo \"opened 100$3 8 0.5\";;\n"
           "stages) echo \"staged 0.1 0.2 0.3 1.1 1.2 1.3 2.1 2.2 2.3 3$3 2$3 1$3\";;\n"
           "run) echo \"ran 1$3 0.1$3 0.2$3 0.3$3 0.4$3 3$3 2$3 1$3 0 1 2 1 2 3 1 2 3 2 3 4 2 3 4 3 4 "
           "5$3\";;\n"
           "esac; done";
  }
  [[nodiscard]] std::string words_of(const std::string& path, const std::string& what = "") const {
    try {
      TrainingRanks ranks(plan_, request_of_two(), path);
      if (what == "stages") {
        static_cast<void>(ranks.stages());
      } else if (what == "run") {
        static_cast<void>(ranks.run());
      }
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }

  gnn::TrainingPlan plan_;
  test::TemporaryDirectory directory_;
  int programs_ = 0;
};

TEST_F(TrainingByRanks, get_their_job_as_words_and_read_it_back) {
  RankJob job;
  job.rank = 2;
  job.request.mode = gnn::Mode::address_ordered;
  job.request.store = gnn::Store::multi_gpu;
  job.request.hot_percent = 2.5;
  job.request.window = 4;
  job.request.gpus = {3, 0, 11};
  job.request.gather_sms = 8;
  job.request.unbounded = true;
  job.request.lists = gnn::ListPlacement::mapped;
  job.request.node = 1;
  job.descriptor = 17;
  job.bytes = std::uint64_t{1} << 40;
  const RankJob read = parse_rank_job(to_words(job));
  EXPECT_EQ(to_words(read), to_words(job));
  EXPECT_EQ(read.request.gpus, job.request.gpus);
  EXPECT_EQ(read.request.lists, job.request.lists);
  EXPECT_TRUE(read.request.unbounded);
  job.request.lists.reset();
  job.request.unbounded = false;
  EXPECT_FALSE(parse_rank_job(to_words(job)).request.lists);
  EXPECT_FALSE(parse_rank_job(to_words(job)).request.unbounded);
}

TEST_F(TrainingByRanks, refuse_other_words) {
  EXPECT_THROW(static_cast<void>(parse_rank_job({})), UsageError);
  for (std::size_t at = 0; at < to_words(RankJob{}).size(); ++at) {
    auto words = to_words(RankJob{});
    words[at] = "much";
    EXPECT_THROW(static_cast<void>(parse_rank_job(words)), UsageError) << at;
  }
  auto beyond = to_words(RankJob{});
  beyond[0] = "1";  // of one GPU
  EXPECT_THROW(static_cast<void>(parse_rank_job(beyond)), UsageError);
}

TEST_F(TrainingByRanks, are_for_several_gpus) {
  gnn::PipelineRequest request = request_of_two();
  EXPECT_NO_THROW(gnn::require_ranks(request));
  request.lists.reset();
  EXPECT_NO_THROW(gnn::require_ranks(request));
  request.lists = gnn::ListPlacement::interleaved;
  EXPECT_THROW(gnn::require_ranks(request), UsageError);
  request = {};
  EXPECT_THROW(gnn::require_ranks(request), UsageError);
  request = request_of_two();
  request.mode = gnn::Mode::cpu_gather;
  request.store = gnn::Store::pageable;
  EXPECT_THROW(gnn::require_ranks(request), UsageError);
  EXPECT_THROW(TrainingRanks(plan_, {}, program(serving())), UsageError);
}

TEST_F(TrainingByRanks, have_the_first_ones_times_and_the_losses_of_all) {
  TrainingRanks ranks(plan_, request_of_two(), program(serving()));
  EXPECT_EQ(ranks.gpu_bytes(), 1001U);
  EXPECT_EQ(ranks.gather_sms(), 8);
  EXPECT_DOUBLE_EQ(ranks.fill_s(), 1.0);
  EXPECT_EQ(ranks.batches(), 6U);
  const gnn::StageTimes stages = ranks.stages();
  EXPECT_EQ(stages.sample_s, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(stages.gather_s, (std::vector<double>{1.1, 1.2, 1.3}));
  EXPECT_EQ(stages.train_s, (std::vector<double>{2.1, 2.2, 2.3}));
  EXPECT_EQ(stages.losses, (std::vector<double>{30, 31, 20, 21, 10, 11}));
  const gnn::PipelineRun run = ranks.run();
  EXPECT_EQ(run.step_s, (std::vector<double>{0.10, 0.20}));
  EXPECT_EQ(run.single_s, (std::vector<double>{0.30, 0.40}));
  EXPECT_EQ(run.losses, stages.losses);
  EXPECT_DOUBLE_EQ(run.cpu_s, 10 + 11);
  ASSERT_EQ(run.timeline.size(), 6U);
  EXPECT_EQ(run.timeline[5].stage, "training");
  EXPECT_EQ(run.timeline[5].gpu, 1);
  EXPECT_EQ(run.timeline[5].begin_s, (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(run.timeline[5].end_s, (std::vector<double>{3, 4, 51}));
}

TEST_F(TrainingByRanks, that_cannot_work_here_say_why) {
  const std::string path =
      program("if [ $3 = 1 ]; then echo 'skip CUDA IPC does not work here'; exit 1; fi\n" + serving());
  EXPECT_THROW(TrainingRanks(plan_, request_of_two(), path), SkipError);
  EXPECT_EQ(words_of(path), "the process of rank 1: CUDA IPC does not work here");
}

TEST_F(TrainingByRanks, that_die_are_told_of) {
  EXPECT_EQ(words_of(program("[ $3 = 1 ] && exit 3\n" + serving())),
            "the process of rank 1 ended with status 3");
  EXPECT_EQ(words_of(program(serving("run) [ $3 = 0 ] && kill -9 $$;;\n")), "run"),
            "the process of rank 0 was ended by signal 9 (Killed)");
}

TEST_F(TrainingByRanks, that_waited_in_vain_leave_the_word_to_the_others) {
  const std::string waits = "echo 'waited nothing has come of the process of rank 1 for 10 s'; exit 1";
  EXPECT_EQ(words_of(program(serving("run) [ $3 = 1 ] && kill -9 $$; " + waits + ";;\n")), "run"),
            "the process of rank 1 was ended by signal 9 (Killed)");
  EXPECT_EQ(words_of(program(serving("run) [ $3 = 1 ] && echo 'failed wrong result: 7 elements' && exit 1; " +
                                     waits + ";;\n")),
                     "run"),
            "the process of rank 1: wrong result: 7 elements");
  // One that hangs knows nothing.
  EXPECT_EQ(words_of(program(serving("run) [ $3 = 1 ] && exec sleep 1000; " + waits + ";;\n")), "run"),
            "the process of rank 0: nothing has come of the process of rank 1 for 10 s");
}

TEST_F(TrainingByRanks, that_tell_too_little_are_no_result) {
  EXPECT_EQ(words_of(program(serving("stages) echo 'staged 1';;\n")), "stages"),
            "the process of rank 0 gave 1 numbers, not 12");
  EXPECT_EQ(words_of(program(serving("run) echo 'ran 1 2';;\n")), "run"),
            "the process of rank 0 gave 2 numbers, not 26");
}

TEST_F(TrainingByRanks, end_with_their_owner_also_those_that_hang) {
  std::vector<pid_t> pids;
  {
    TrainingRanks ranks(plan_, request_of_two(), program(serving("run) exec sleep 1000;;\n")));
    pids = {ranks.pid(0), ranks.pid(1)};
    EXPECT_EQ(kill(pids[0], 0), 0);
    EXPECT_EQ(kill(pids[1], 0), 0);
  }
  for (const pid_t pid : pids) {
    EXPECT_TRUE(kill(pid, 0) != 0 && errno == ESRCH) << pid << " still runs";
  }
}

TEST_F(TrainingByRanks, of_the_program_itself_say_why_they_cannot_work_without_a_gpu) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  try {
    const TrainingRanks ranks(plan_, request_of_two(), GRAINSCOPE_PROGRAM);
    FAIL() << "they started";
  } catch (const SkipError& error) {
    EXPECT_EQ(std::string(error.what()).find("the process of rank 0: "), 0U) << error.what();
  } catch (const FailedError& error) {
    // Where there is a driver it says that it was shown none.
    EXPECT_EQ(std::string(error.what()).find("the process of rank 0: "), 0U) << error.what();
  }
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(TrainingByRanks, are_not_for_users) {
  const test::Ended ended = test::run_program({kWorkerCommand, kRankKind});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("started by the program itself"), std::string::npos) << ended.err;
}

// The parts of a node's CPUs that processes have.
TEST(CpusOfRanks, are_all_of_a_node_and_nobody_elses) {
  const Topology topology = Topology::read();
  const int node = topology.usable_nodes().front();
  const std::vector<int> all = topology.find_node(node)->allowed_cpus;
  for (const int parts : {1, 2, static_cast<int>(all.size())}) {
    std::multiset<int> seen;
    for (int part = 0; part < parts; ++part) {
      const NodeBinding binding(topology, node, part, parts);
      const std::vector<int> own = current_affinity();
      seen.insert(own.begin(), own.end());
    }
    if (static_cast<std::size_t>(parts) <= all.size()) {
      EXPECT_EQ(std::vector<int>(seen.begin(), seen.end()), all) << parts;
    }
  }
  // More parts than CPUs: each has all.
  const NodeBinding binding(topology, node, 3, static_cast<int>(all.size()) + 1);
  EXPECT_EQ(current_affinity(), all);
}

}  // namespace
}  // namespace grainscope::harness

// How processes wait for each other: what is read is there, and nobody waits for ever for one that is gone.

namespace grainscope::gnn {
namespace {

class Waiting : public testing::Test {
 protected:
  SharedMemory memory_{sizeof(RankExchange)};
  RankExchange& exchange_ = *reinterpret_cast<RankExchange*>(memory_.data());
};

// Each adds up what all have written, as replicas do with gradients, and nobody writes the next before all
// have read.
TEST_F(Waiting, keeps_gradients_until_all_have_read_them) {
  constexpr std::size_t kRanks = 3;
  constexpr std::uint64_t kSteps = 300;
  std::atomic<std::uint64_t> gradients[kRanks] = {};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      RankTurns turns(exchange_, rank, kRanks);
      turns.advance(&RankExchange::Rank::met);
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        if (step % 7 == rank) {
          std::this_thread::yield();
        }
        gradients[rank] = step * 10 + rank;
        turns.advance(&RankExchange::Rank::gradients);
        for (std::size_t of = 0; of < kRanks; ++of) {
          wrong += gradients[of] == step * 10 + of ? 0 : 1;
        }
        turns.advance(&RankExchange::Rank::updates);
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(exchange_.ranks[2].gradients, kSteps);
  EXPECT_EQ(exchange_.ranks[0].met, 1U);
}

TEST_F(Waiting, for_one_that_never_comes_ends_and_names_it) {
  RankTurns turns(exchange_, 0, 3, 0.1);
  exchange_.ranks[1].met = 1;
  const double start_s = steady_now_s();
  try {
    turns.advance(&RankExchange::Rank::met);
    FAIL() << "it went on";
  } catch (const TurnError& error) {
    EXPECT_EQ(std::string(error.what()).find("nothing has come of the process of rank 2 "), 0U)
        << error.what();
  }
  EXPECT_GE(steady_now_s() - start_s, 0.1);
  EXPECT_LT(steady_now_s() - start_s, 5);
}

TEST_F(Waiting, ends_at_once_when_another_has_given_up) {
  RankTurns gone(exchange_, 1, 2);
  RankTurns waits(exchange_, 0, 2, 100);
  std::thread other([&] {
    usleep(20000);
    gone.give_up();
  });
  EXPECT_THROW(waits.advance(&RankExchange::Rank::updates), TurnError);
  other.join();
  // One that has come in time is waited for no more, whoever has given up.
  exchange_.ranks[1].met = 1;
  EXPECT_NO_THROW(waits.advance(&RankExchange::Rank::met));
}

}  // namespace
}  // namespace grainscope::gnn
