// Training in two processes: how they take turns, and what their workers answer.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "gnn/pipeline_worker.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/system/child_process.hpp"

namespace grainscope::harness {
namespace {

constexpr const char* kStarted = "echo 'started 12 14 1000'";

bool is_gone(pid_t pid) {
  return (kill(pid, 0) != 0 && errno == ESRCH) ||
         test::read_text("/proc/" + std::to_string(pid) + "/stat").find(") Z ") != std::string::npos;
}

bool within(double seconds, const std::function<bool()>& holds) {
  const double deadline_s = steady_now_s() + seconds;
  while (!holds() && steady_now_s() < deadline_s) {
    usleep(5000);
  }
  return holds();
}

class PipelineWorkers : public testing::Test {
 protected:
  PipelineWorkers() {
    gnn::TrainingRequest request;
    request.sample = {{3, 2}, 1};
    request.batch = 4;
    request.batches = 3;
    request.labelled_percent = 50;
    request.shape = {4, 3, 2, 2};
    plan_ = gnn::plan_training(graph::make_graph(graph::parse_graph_spec("kron:6"), false), request);
  }

  // A program of which each process answers as its script says: $w is the word it was asked, $n what follows.
  [[nodiscard]] std::string program(const std::string& gather, const std::string& train) {
    const std::filesystem::path path = directory_ / ("worker" + std::to_string(programs_++));
    test::write_text(path,
                     "#!/bin/sh\n[ \"$1 $2\" = \"worker pipeline\" ] || exit 9\nif [ $3 = gather ]; then\n" +
                         gather + "\nelse\n" + train + "\nfi\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  static std::string serving(const std::string& cases) {
    return std::string(kStarted) + "\nwhile read -r w n; do case $w in\n" + cases + "\nesac; done";
  }
  static std::string good_gather() {
    return serving("stage) echo \"staged 0.5 0.$n\";;\nrun) echo 'ran 6 0.25 0.5 0.75';;");
  }
  static std::string good_train(const std::string& instead = "") {
    return serving(instead +
                   "open) echo opened;;\nreset) echo reset;;\nstage) echo \"staged 1.$n\";;\n"
                   "run) echo 'ran 3 0.1 0.2 0.01 0.02 0.03';;\nlosses) echo 'losses 3 2 1';;");
  }
  [[nodiscard]] PipelineProcesses started(const std::string& path) const {
    return PipelineProcesses(plan_, PipelineJob{}, {2.5, 97.5}, {}, path);
  }
  [[nodiscard]] std::string words_of(const std::string& path, const std::string& what = "") const {
    try {
      PipelineProcesses processes(plan_, PipelineJob{}, {2.5, 97.5}, {}, path);
      if (what == "stages") {
        static_cast<void>(processes.stages());
      } else if (what == "run") {
        static_cast<void>(processes.run());
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

TEST_F(PipelineWorkers, get_their_job_as_words_and_read_it_back) {
  PipelineJob job;
  job.mode = gnn::Mode::circular_shift;
  job.store = gnn::Store::tiered;
  job.hot = 2.5;
  job.node = 3;
  job.descriptor = 17;
  job.bytes = std::uint64_t{1} << 40;
  EXPECT_EQ(parse_pipeline_job(to_words(job)), job);
  job.gathers = false;
  EXPECT_EQ(parse_pipeline_job(to_words(job)), job);
}

TEST_F(PipelineWorkers, refuse_other_words) {
  EXPECT_THROW(static_cast<void>(parse_pipeline_job({})), UsageError);
  for (const std::size_t at : {0, 1, 2, 3, 4, 5, 6}) {
    auto words = to_words(PipelineJob{});
    words[at] = "much";
    EXPECT_THROW(static_cast<void>(parse_pipeline_job(words)), UsageError) << at;
  }
}

TEST_F(PipelineWorkers, give_stages_and_runs_as_they_tell_them) {
  PipelineProcesses processes = started(program(good_gather(), good_train()));
  EXPECT_EQ(processes.gathering().told, 12);
  EXPECT_EQ(processes.gathering().seen, 14);
  EXPECT_EQ(processes.gpu_bytes(), 2000U);
  const gnn::StageTimes stages = processes.stages();
  EXPECT_EQ(stages.sample_s, (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(stages.gather_s, (std::vector<double>{0.0, 0.1, 0.2}));
  EXPECT_EQ(stages.train_s, (std::vector<double>{1.0, 1.1, 1.2}));
  EXPECT_EQ(stages.losses, (std::vector<double>{3, 2, 1}));
  const PipelineProcesses::Run run = processes.run();
  EXPECT_EQ(run.steps.step_s, (std::vector<double>{0.1, 0.2}));
  EXPECT_EQ(run.train_s, (std::vector<double>{0.01, 0.02, 0.03}));
  EXPECT_EQ(run.gather_s, (std::vector<double>{0.25, 0.5, 0.75}));
  EXPECT_EQ(run.steps.losses, stages.losses);
  EXPECT_DOUBLE_EQ(run.steps.cpu_s, 3);
}

TEST_F(PipelineWorkers, get_their_shares_by_the_environment_and_the_plan_by_a_descriptor) {
  const std::string told = (directory_ / "told").string();
  const std::string note =
      "echo \"$3 $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE $9 $(stat -Lc %s /proc/self/fd/$8)\" >>" + told + "\n";
  static_cast<void>(started(program(note + good_gather(), note + good_train())));
  const std::string text = test::read_text(told);
  for (const std::string side : {"gather 2.5 ", "train 97.5 "}) {
    const auto at = text.find(side);
    ASSERT_NE(at, std::string::npos) << text;
    std::istringstream sizes(text.substr(at + side.size()));
    std::uint64_t said = 0;
    std::uint64_t has = 0;
    sizes >> said >> has;
    EXPECT_GT(said, kPlanAt);
    EXPECT_EQ(said, has);
  }
}

TEST_F(PipelineWorkers, that_cannot_work_here_say_why) {
  const auto skips = [&](const std::string& path) {
    EXPECT_THROW(static_cast<void>(started(path)), SkipError);
    return words_of(path);
  };
  EXPECT_EQ(skips(program("echo 'skip CUDA IPC does not work here'", good_train())),
            "the process that gathers: CUDA IPC does not work here");
  EXPECT_EQ(skips(program(good_gather(), "echo 'skip could not become a client of MPS'")),
            "the process that trains: could not become a client of MPS");
  EXPECT_EQ(skips(program(good_gather(), good_train("open) echo 'skip could not open'; exit 1;;\n"))),
            "the process that trains: could not open");
}

TEST_F(PipelineWorkers, that_die_are_told_of) {
  EXPECT_EQ(words_of(program("exit 3", good_train())), "the process that gathers ended with status 3");
  EXPECT_EQ(words_of(program(good_gather(), good_train("stage) kill -9 $$;;\n")), "stages"),
            "the process that trains was ended by signal 9 (Killed)");
  EXPECT_EQ(words_of(program(good_gather(), good_train("run) kill -9 $$;;\n")), "run"),
            "the process that trains was ended by signal 9 (Killed)");
}

TEST_F(PipelineWorkers, that_waited_in_vain_leave_the_word_to_the_other) {
  const std::string waited =
      good_train("run) echo 'waited nothing has come of the process that gathers'; exit 1;;\n");
  EXPECT_EQ(words_of(program(serving("run) kill -9 $$;;"), waited), "run"),
            "the process that gathers was ended by signal 9 (Killed)");
  EXPECT_EQ(
      words_of(program(serving("run) echo 'failed wrong result: 7 elements'; exit 1;;"), waited), "run"),
      "the process that gathers: wrong result: 7 elements");
  // One that hangs knows nothing.
  EXPECT_EQ(words_of(program(serving("run) exec sleep 1000;;"), waited), "run"),
            "the process that trains: nothing has come of the process that gathers");
}

TEST_F(PipelineWorkers, that_tell_too_little_are_no_result) {
  EXPECT_EQ(words_of(program(serving("stage) echo 'staged 1';;"), good_train()), "stages"),
            "the process that gathers gave 1 numbers, not 2");
  EXPECT_EQ(words_of(program(good_gather(), good_train("losses) echo 'losses 1 nan';;\n")), "stages"),
            "the process that trains gave 1 numbers, not 3");
  EXPECT_EQ(words_of(program("echo 'started 3'", good_train())),
            "the process that gathers gave 1 numbers, not 3");
}

TEST_F(PipelineWorkers, end_with_their_owner_also_those_that_hang) {
  pid_t gathers = 0;
  pid_t trains = 0;
  {
    const PipelineProcesses processes =
        started(program(good_gather(), good_train("reset) exec sleep 1000;;\n")));
    gathers = processes.gathering_pid();
    trains = processes.training_pid();
    EXPECT_EQ(kill(gathers, 0), 0);
    EXPECT_EQ(kill(trains, 0), 0);
  }
  EXPECT_TRUE(is_gone(gathers));
  EXPECT_TRUE(is_gone(trains));
}

TEST_F(PipelineWorkers, end_with_a_parent_that_is_killed) {
  const std::filesystem::path told = directory_ / "pids";
  const std::string path = program(std::string(kStarted) + "; exec sleep 1000",
                                   std::string(kStarted) + "; read -r w; echo opened; exec sleep 1000");
  test::Child parent = test::Child::of([&] {
    const PipelineProcesses processes = started(path);
    test::write_text(told, std::to_string(processes.gathering_pid()) + " " +
                               std::to_string(processes.training_pid()) + " ");
    pause();
    return 0;
  });
  ASSERT_TRUE(within(10, [&] { return test::read_text(told).ends_with(' '); }));
  parent.send(SIGKILL);
  EXPECT_EQ(parent.wait().signal, SIGKILL);
  std::istringstream pids(test::read_text(told));
  for (pid_t pid = 0; pids >> pid;) {
    EXPECT_TRUE(within(10, [&] { return is_gone(pid); })) << pid << " still runs";
  }
}

TEST_F(PipelineWorkers, of_the_program_itself_say_why_they_cannot_work_without_a_gpu_or_mps) {
  const Variables nowhere{{"CUDA_MPS_PIPE_DIRECTORY", (directory_ / "none").string()},
                          {"CUDA_VISIBLE_DEVICES", ""}};
  try {
    const PipelineProcesses processes(plan_, PipelineJob{}, {10, 90}, nowhere, GRAINSCOPE_PROGRAM);
    FAIL() << "they started";
  } catch (const SkipError& error) {
    EXPECT_EQ(std::string(error.what()).find("the process that gathers: "), 0U) << error.what();
  }
}

TEST_F(PipelineWorkers, are_not_for_users) {
  const test::Ended ended = test::run_program({kWorkerCommand, kPipelineKind});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("started by the program itself"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace grainscope::harness

// How two processes take turns over sampled lists and rows: nothing is read too early or overwritten too
// late, and nobody waits for ever for one that is gone.

namespace grainscope::gnn {
namespace {

constexpr std::uint64_t kBatches = 200;

// What would lie in the GPU's memory: which mini-batch is where.
struct Board {
  Exchange exchange;
  std::atomic<std::uint64_t> lists[kListSets];
  std::atomic<std::uint64_t> rows[kRowBuffers];
};

class Turns : public testing::Test {
 protected:
  SharedMemory memory_{sizeof(Board)};
  Board& board_ = *reinterpret_cast<Board*>(memory_.data());
};

// A stage that is over after some looks, as a GPU's would be; sampling runs ahead by up to two.
class FakeGathering : public GatheringSteps {
 public:
  FakeGathering(Board& board, int slow) : board_(board), slow_(slow) {}
  void sample(std::uint64_t batch) override {
    require(batch < board_.exchange.trained + kListSets, "sampled over lists that are still needed");
    board_.lists[batch % kListSets] = batch + 1;
  }
  bool sampled(std::uint64_t /*batch*/) override { return over(); }
  void gather(std::uint64_t batch) override {
    require(batch < board_.exchange.trained + kRowBuffers, "gathered over rows that are still needed");
    require(board_.lists[batch % kListSets] == batch + 1, "gathered by another mini-batch's list");
    board_.exchange.sizes_of(batch)[0] = 10 * batch;
    board_.rows[batch % kRowBuffers] = batch + 1;
  }
  bool gathered(std::uint64_t /*batch*/) override { return over(); }

 private:
  bool over() { return ++looks_ % slow_ == 0; }
  static void require(bool holds, const char* what) {
    if (!holds) {
      throw FailedError(what);
    }
  }
  Board& board_;
  int slow_;
  int looks_ = 0;
};

class FakeTraining : public TrainingSteps {
 public:
  FakeTraining(Board& board, int slow) : board_(board), slow_(slow) {}
  void train(std::uint64_t batch) override {
    if (board_.lists[batch % kListSets] != batch + 1 || board_.rows[batch % kRowBuffers] != batch + 1 ||
        board_.exchange.sizes_of(batch)[0] != 10 * batch) {
      throw FailedError("trained on another mini-batch's lists, sizes or rows");
    }
    begun_.push_back(batch);
  }
  bool trained(std::uint64_t batch) override {
    // Both are still there when the step ends.
    if (board_.lists[batch % kListSets] != batch + 1 || board_.rows[batch % kRowBuffers] != batch + 1) {
      throw FailedError("lists or rows were overwritten during the step");
    }
    return ++looks_ % slow_ == 0;
  }
  [[nodiscard]] const std::vector<std::uint64_t>& begun() const { return begun_; }

 private:
  Board& board_;
  int slow_;
  int looks_ = 0;
  std::vector<std::uint64_t> begun_;
};

TEST_F(Turns, of_two_processes_never_meet_whichever_is_slower) {
  for (const auto& [gathers, trains] : {std::pair{1, 1}, {1, 40}, {40, 1}, {7, 5}}) {
    SCOPED_TRACE(testing::Message() << gathers << " and " << trains);
    board_.exchange.begin();
    test::Child other = test::Child::of([&, gathers = gathers] {
      FakeGathering steps(board_, gathers);
      gather_in_turn(board_.exchange, kBatches, steps);
      return 0;
    });
    FakeTraining steps(board_, trains);
    train_in_turn(board_.exchange, kBatches, steps);
    EXPECT_EQ(other.wait().status, 0);
    ASSERT_EQ(steps.begun().size(), kBatches);
    for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
      EXPECT_EQ(steps.begun()[batch], batch);
    }
    EXPECT_EQ(board_.exchange.gathered, kBatches);
    EXPECT_EQ(board_.exchange.trained, kBatches);
  }
}

TEST_F(Turns, begin_anew_for_each_run) {
  for (int run = 0; run < 3; ++run) {
    board_.exchange.begin();
    std::thread other([&] {
      FakeGathering steps(board_, 2);
      gather_in_turn(board_.exchange, 5, steps);
    });
    FakeTraining steps(board_, 3);
    train_in_turn(board_.exchange, 5, steps);
    other.join();
    EXPECT_EQ(steps.begun().size(), 5U);
  }
}

TEST_F(Turns, that_never_come_are_given_up) {
  board_.exchange.begin();
  FakeTraining trains(board_, 1);
  const double start_s = steady_now_s();
  EXPECT_THROW(train_in_turn(board_.exchange, kBatches, trains, 0.1), TurnError);
  EXPECT_GE(steady_now_s() - start_s, 0.1);
  EXPECT_LT(steady_now_s() - start_s, 5);
  // The other learns of it at once.
  FakeGathering gathers(board_, 1);
  try {
    gather_in_turn(board_.exchange, kBatches, gathers, 100);
    FAIL() << "it went on";
  } catch (const TurnError& error) {
    EXPECT_EQ(std::string(error.what()), "the process that trains has given up");
  }
}

TEST_F(Turns, of_a_process_that_was_killed_are_given_up) {
  board_.exchange.begin();
  test::Child other = test::Child::of([&] {
    FakeGathering steps(board_, 1);
    gather_in_turn(board_.exchange, 3, steps);  // and no more
    pause();
    return 0;
  });
  std::thread killer([&] {
    while (board_.exchange.trained < 3) {
      usleep(1000);
    }
    other.send(SIGKILL);
  });
  FakeTraining steps(board_, 1);
  EXPECT_THROW(train_in_turn(board_.exchange, kBatches, steps, 0.3), TurnError);
  killer.join();
  EXPECT_EQ(other.wait().signal, SIGKILL);
  EXPECT_EQ(steps.begun().size(), 3U);
}

class Failing : public FakeTraining {
 public:
  using FakeTraining::FakeTraining;
  void train(std::uint64_t batch) override {
    if (batch == 4) {
      throw FailedError("a step failed");
    }
    FakeTraining::train(batch);
  }
};

TEST_F(Turns, failures_pass_on_and_are_told_to_the_other) {
  board_.exchange.begin();
  std::string said;
  std::thread other([&] {
    FakeGathering steps(board_, 1);
    try {
      gather_in_turn(board_.exchange, kBatches, steps, 30);
    } catch (const TurnError& error) {
      said = error.what();
    }
  });
  Failing steps(board_, 1);
  try {
    train_in_turn(board_.exchange, kBatches, steps);
    ADD_FAILURE() << "it went on";
  } catch (const FailedError& error) {
    EXPECT_EQ(std::string(error.what()), "a step failed");
  }
  other.join();
  EXPECT_EQ(said, "the process that trains has given up");
}

}  // namespace
}  // namespace grainscope::gnn
