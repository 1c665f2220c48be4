// A training pipeline of two processes that share lists and rows by CUDA IPC, without MPS: they then take
// turns on the GPU. The same losses as the streams of one process, right rows, and nothing left when one
// ends.

#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/core/sampler.hpp"
#include "pipeline_processes_fixture.hpp"

namespace grainscope::harness {
namespace {

using gnn::Mode;
using gnn::Store;

TEST_F(PipelineProcessesOnGpu, have_the_losses_of_one_process) {
  const struct {
    const char* graph;
    std::vector<int> fanouts;
    std::uint32_t columns;
    Mode mode;
    Store store;
    double hot;
  } cases[] = {{"kron:12", {10, 25}, 64, Mode::masked, Store::mapped, 0},
               {"pareto:12", {5, 5, 5}, 37, Mode::circular_shift, Store::mapped, 0},
               {"kron:12", {10, 10}, 65, Mode::naive, Store::mapped, 0},
               {"power", {4, 4}, 257, Mode::masked, Store::tiered, 20},
               {"kron:12", {10, 10}, 64, Mode::address_ordered, Store::mapped, 0},
               {"kron:12", {10, 10}, 64, Mode::masked, Store::device, 0}};
  for (const auto& each : cases) {
    SCOPED_TRACE(testing::Message() << each.graph << " " << name(each.mode) << " " << name(each.store));
    prepare(each.graph, each.fanouts, each.columns);
    job_.mode = each.mode;
    job_.store = each.store;
    job_.hot = each.hot;
    try {
      expect_right(*started());
    } catch (const SkipError& error) {
      GTEST_SKIP() << error.what();
    }
  }
}

TEST_F(PipelineProcessesOnGpu, refuse_what_no_kernel_gathers) {
  job_.mode = Mode::cpu_gather_dma;
  job_.store = Store::pinned;
  EXPECT_THROW(static_cast<void>(started()), FailedError);
}

TEST_F(PipelineProcessesOnGpu, that_are_killed_are_told_of_and_take_the_other_along) {
  for (const bool gathers : {true, false}) {
    std::unique_ptr<PipelineProcesses> processes;
    try {
      processes = started();
      static_cast<void>(processes->stages());
    } catch (const SkipError& error) {
      GTEST_SKIP() << error.what();
    }
    const pid_t killed = gathers ? processes->gathering_pid() : processes->training_pid();
    const pid_t other = gathers ? processes->training_pid() : processes->gathering_pid();
    kill(killed, SIGKILL);
    try {
      static_cast<void>(processes->run());
      ADD_FAILURE() << "it ran";
    } catch (const FailedError& error) {
      EXPECT_NE(std::string(error.what()).find("signal 9"), std::string::npos) << error.what();
    }
    processes.reset();
    EXPECT_TRUE(kill(other, 0) != 0 && errno == ESRCH) << "the other is left";
  }
}

// A process that stands still while the other waits for its turn.
TEST_F(PipelineProcessesOnGpu, that_hang_are_given_up) {
  std::unique_ptr<PipelineProcesses> processes;
  try {
    processes = started();
    static_cast<void>(processes->stages());
  } catch (const SkipError& error) {
    GTEST_SKIP() << error.what();
  }
  const pid_t stopped = processes->gathering_pid();
  kill(stopped, SIGSTOP);
  const double start_s = steady_now_s();
  EXPECT_THROW(static_cast<void>(processes->run()), FailedError);
  EXPECT_LT(steady_now_s() - start_s, 2 * gnn::kPatience_s);
  processes.reset();
  EXPECT_TRUE(kill(stopped, 0) != 0 && errno == ESRCH);
}

}  // namespace
}  // namespace grainscope::harness
