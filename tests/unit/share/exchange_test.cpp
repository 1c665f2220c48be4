// How two processes take turns over sampled lists and rows: nothing is read too early or overwritten too
// late, and nobody waits for ever for one that is gone.

#include "grainscope/gnn/exchange.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/system/child_process.hpp"

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
