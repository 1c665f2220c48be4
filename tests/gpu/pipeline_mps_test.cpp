// The same as clients of a daemon of MPS: shares, losses, the family's case, and nothing left of it all when
// the program is killed.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "child.hpp"
#include "gnn/case.hpp"
#include "grainscope/core/sampler.hpp"
#include "mps_fixture.hpp"
#include "pipeline_processes_fixture.hpp"

namespace grainscope::harness {
namespace {

class PipelineUnderMps : public UnderMps<PipelineProcessesOnGpu> {
 protected:
  [[nodiscard]] int sms_of_a_tenth() override {
    return started(daemon_->client_variables(), {10, 90})->gathering().seen;
  }
};

TEST_F(PipelineUnderMps, has_its_shares_and_the_losses_of_one_process) {
  int before = 0;
  for (const double percent : {5.0, 10.0, 50.0}) {
    SCOPED_TRACE(percent);
    const auto processes = started(daemon_->client_variables(), {percent, 100 - percent});
    EXPECT_GT(processes->gathering().told, before);
    EXPECT_LE(processes->gathering().told, percent / 100 * all_ + 8);
    EXPECT_LE(processes->gathering().seen, processes->gathering().told);
    EXPECT_GE(processes->training().told, (100 - percent) / 100 * all_ - 8);
    before = processes->gathering().told;
    expect_right(*processes);
  }
}

TEST_F(PipelineUnderMps, leaves_nothing_when_the_parent_is_killed) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path told = directory / "pids";
  const std::string beside = (directory / "mps").string();
  std::filesystem::create_directory(beside);
  daemon_.reset();
  test::Child parent = test::Child::of([&] {
    MpsRequest request = request_;
    request.beside = beside;
    const MpsDaemon daemon(request);
    const auto processes = started(daemon.client_variables(), {10, 90});
    test::write_text(told, std::to_string(daemon.guard_pid()) + " " +
                               std::to_string(processes->gathering_pid()) + " " +
                               std::to_string(processes->training_pid()) + " ");
    for (;;) {
      static_cast<void>(processes->run());
    }
    return 0;
  });
  const auto within = [](double seconds, const auto& holds) {
    const double deadline_s = steady_now_s() + seconds;
    while (!holds() && steady_now_s() < deadline_s) {
      usleep(10000);
    }
    return holds();
  };
  ASSERT_TRUE(within(120, [&] { return test::read_text(told).ends_with(' '); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // into a run
  parent.send(SIGKILL);
  EXPECT_EQ(parent.wait().signal, SIGKILL);
  std::istringstream pids(test::read_text(told));
  for (pid_t pid = 0; pids >> pid;) {
    EXPECT_TRUE(within(60,
                       [&] {
                         return (kill(pid, 0) != 0 && errno == ESRCH) ||
                                test::read_text("/proc/" + std::to_string(pid) + "/stat").find(") Z ") !=
                                    std::string::npos;
                       }))
        << pid << " still runs";
  }
  EXPECT_TRUE(within(60, [&] { return std::filesystem::is_empty(beside); }))
      << "the daemon's directory is left";
}

TEST_F(PipelineUnderMps, is_a_case_whose_counters_agree) {
  std::size_t measured = 0;
  daemon_.reset();
  for (const Benchmark& benchmark :
       listed_on("kron:14", pipeline_graphsage(std::make_shared<GnnGraphCache>()))) {
    const auto& axes = benchmark.id.axes;
    if (std::none_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.key == "processes"; })) {
      continue;
    }
    SCOPED_TRACE(benchmark.id.name());
    const auto measurement = run(benchmark);
    ASSERT_TRUE(measurement.has_value());
    ++measured;
    EXPECT_EQ(why_impossible(*measurement), "");
    const auto& counters = measurement->counters;
    EXPECT_LT(counters.at("loss_last"), counters.at("loss_first"));
    EXPECT_LE(counters.at("given_sms"), counters.at("available_sms") / 5);
    EXPECT_GE(counters.at("rest_sms"), counters.at("available_sms") / 2);
    EXPECT_NEAR(counters.at("gather_slowdown"),
                counters.at("gather_beside_s") / counters.at("gather_alone_s"), 1e-9);
    EXPECT_GT(counters.at("train_slowdown"), 0.5);
    EXPECT_NEAR(counters.at("gather_gb_s"),
                static_cast<double>(measurement->bytes) / counters.at("gather_beside_s") / 1e9, 1e-6);
    EXPECT_EQ(*measurement->link_bytes_least, measurement->bytes);
  }
  EXPECT_EQ(measured, 1U);
}

}  // namespace
}  // namespace grainscope::harness
