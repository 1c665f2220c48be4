// NVIDIA's daemon, for which a script stands in, and the families that share a GPU by it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "gnn/sm_share_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/mps.hpp"
#include "harness/selection.hpp"

namespace grainscope {
namespace {

using test::Child;
using test::TemporaryDirectory;

bool within(double seconds, const std::function<bool()>& holds) {
  const double deadline_s = steady_now_s() + seconds;
  while (!holds()) {
    if (steady_now_s() > deadline_s) {
      return false;
    }
    usleep(5000);
  }
  return true;
}

// A zombie that nobody has reaped yet runs no more.
bool is_gone(pid_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) {
    return true;
  }
  return test::read_text("/proc/" + std::to_string(pid) + "/stat").find(") Z ") != std::string::npos;
}

class Mps : public testing::Test {
 protected:
  void SetUp() override {
    setenv("FAKE_MPS_PIDS", pids_file().c_str(), 1);
    setenv("FAKE_MPS_MODE", "", 1);
  }

  [[nodiscard]] std::filesystem::path pids_file() const { return directory_ / "pids"; }
  [[nodiscard]] std::filesystem::path beside() const { return directory_ / "beside"; }

  [[nodiscard]] MpsRequest request() const {
    std::filesystem::create_directory(beside());
    return {.control = GRAINSCOPE_FAKE_MPS,
            .program = GRAINSCOPE_PROGRAM,
            .gpu = "GPU-1",
            .beside = beside(),
            .patience_s = 4};
  }

  // All that the fake has started.
  [[nodiscard]] std::vector<pid_t> started() const {
    std::istringstream text(test::read_text(pids_file()));
    std::vector<pid_t> pids;
    for (pid_t pid = 0; text >> pid;) {
      pids.push_back(pid);
    }
    return pids;
  }

  void expect_nothing_left(std::size_t processes) const {
    EXPECT_EQ(started().size(), processes);
    for (const pid_t pid : started()) {
      EXPECT_TRUE(within(10, [&] { return is_gone(pid); })) << pid << " still runs";
    }
    EXPECT_TRUE(within(10, [&] { return std::filesystem::is_empty(beside()); })) << "a directory is left";
  }

  // A process that starts a daemon, and is ended by a signal while that runs.
  void expect_nothing_left_after(int signal) const {
    const std::filesystem::path told = directory_ / "told";
    Child parent = Child::of([&] {
      const MpsDaemon daemon(request());
      test::write_text(told, std::to_string(daemon.guard_pid()) + " ");
      pause();
      return 0;
    });
    ASSERT_TRUE(within(10, [&] { return test::read_text(told).ends_with(' '); }));
    EXPECT_FALSE(std::filesystem::is_empty(beside()));
    parent.send(signal);
    EXPECT_EQ(parent.wait().signal, signal);
    expect_nothing_left(2);
    const pid_t guard = std::atoi(test::read_text(told).c_str());
    EXPECT_TRUE(within(10, [&] { return is_gone(guard); }));
  }

  void expect_refused(const std::string& words) const {
    try {
      const MpsDaemon daemon(request());
      FAIL() << "it started";
    } catch (const SkipError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(Mps, starts_in_a_directory_of_its_own_and_goes_without_a_trace) {
  {
    const MpsDaemon daemon(request());
    EXPECT_EQ(daemon.directory().parent_path(), beside());
    EXPECT_EQ(daemon.client_variables().at(0).second, (daemon.directory() / "pipe").string());
    EXPECT_EQ(test::read_text(daemon.directory() / "log" / "gpus.txt"), "GPU-1\n");
    for (const pid_t pid : started()) {
      EXPECT_FALSE(is_gone(pid));
    }
  }
  expect_nothing_left(2);
}

TEST_F(Mps, two_daemons_do_not_meet) {
  MpsDaemon one(request());
  {
    const MpsDaemon two(request());
    EXPECT_NE(one.directory(), two.directory());
  }
  EXPECT_TRUE(std::filesystem::exists(one.directory() / "pipe" / "control"));
  one.stop();
  expect_nothing_left(4);
}

TEST_F(Mps, is_gone_after_sigterm_of_the_parent) {
  expect_nothing_left_after(SIGTERM);
}

TEST_F(Mps, is_gone_after_sigkill_of_the_parent) {
  expect_nothing_left_after(SIGKILL);
}

TEST_F(Mps, is_gone_after_sigterm_of_the_guard) {
  const MpsDaemon daemon(request());
  kill(daemon.guard_pid(), SIGTERM);
  expect_nothing_left(2);
}

TEST_F(Mps, is_gone_after_sigkill_of_the_guard_and_a_stop) {
  MpsDaemon daemon(request());
  kill(daemon.guard_pid(), SIGKILL);
  usleep(100000);
  daemon.stop();
  expect_nothing_left(2);
}

TEST_F(Mps, ctrl_c_leaves_the_guard_to_its_parent) {
  MpsDaemon daemon(request());
  kill(daemon.guard_pid(), SIGINT);
  usleep(100000);
  EXPECT_TRUE(std::filesystem::exists(daemon.directory() / "pipe"));
  daemon.stop();
  expect_nothing_left(2);
}

TEST_F(Mps, a_daemon_that_ends_early_leaves_nothing_either) {
  MpsDaemon daemon(request());
  ASSERT_EQ(started().size(), 2U);
  kill(started().front(), SIGKILL);
  daemon.stop();
  expect_nothing_left(2);
}

TEST_F(Mps, a_server_that_outlives_its_daemon_is_ended) {
  setenv("FAKE_MPS_MODE", "leaves_its_server", 1);
  MpsDaemon(request()).stop();
  expect_nothing_left(2);
}

TEST_F(Mps, a_daemon_that_does_not_quit_is_ended) {
  setenv("FAKE_MPS_MODE", "stays", 1);
  MpsDaemon(request()).stop();
  expect_nothing_left(2);
}

TEST_F(Mps, a_daemon_that_cannot_start_says_why) {
  setenv("FAKE_MPS_MODE", "refuses", 1);
  expect_refused("ended with status 3: Cannot create a pipe for reasons of its own");
  expect_nothing_left(0);
}

TEST_F(Mps, a_daemon_that_never_returns_is_given_up) {
  setenv("FAKE_MPS_MODE", "hangs", 1);
  expect_refused("did not return");
  expect_nothing_left(0);
}

// The driver hangs: neither the start returns nor what asks the daemon to quit.
TEST_F(Mps, a_daemon_that_runs_and_never_returns_is_ended) {
  setenv("FAKE_MPS_MODE", "stuck", 1);
  expect_refused("did not return");
  expect_nothing_left(2);
}

TEST_F(Mps, without_the_driver_s_program_is_no_error) {
  MpsRequest other = request();
  other.control = "no-such-mps-control";
  try {
    const MpsDaemon daemon(other);
    FAIL() << "it started";
  } catch (const SkipError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-mps-control is not in PATH"), std::string::npos);
  }
  expect_nothing_left(0);
}

TEST_F(Mps, a_path_too_long_for_sockets_is_told_before_anything_starts) {
  MpsRequest other = request();
  other.beside = beside() / std::string(90, 'x');
  std::filesystem::create_directory(other.beside);
  EXPECT_THROW(MpsDaemon{other}, SkipError);
  EXPECT_TRUE(within(10, [&] { return std::filesystem::is_empty(other.beside); }));
}

TEST_F(Mps, the_guard_is_not_for_users) {
  const test::Ended ended = test::run_program({kMpsGuardCommand});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("started by the program itself"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace grainscope

// What sm_share/gather and sm_share/split list.

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

Machine roomy_machine() {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.memory.available.meminfo_bytes = 500 * kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  for (GpuReport& gpu : machine.environment.gpus) {
    gpu.cuda->sm_count = 80;
  }
  return machine;
}

std::vector<Benchmark> listed(const Family& family, const Machine& machine, Preset preset) {
  return list_all({family}, machine,
                  make_scope(preset, gpu_targets(machine, {}), false, node_targets(machine, {})));
}

std::string text(const Benchmark& benchmark, const char* key) {
  return to_string(benchmark.id.axis(key));
}

TEST(SmShares, of_a_process_that_has_all_is_of_no_client) {
  constexpr int kAll = 132;
  for (const int asked : {1, 66, 80, kAll - kSmsTogether}) {
    EXPECT_THROW(require_client(asked, kAll, kAll, kAll), SkipError) << asked;
    EXPECT_NO_THROW(require_client(asked, asked, kAll, kAll)) << "the driver tells less";
    EXPECT_NO_THROW(require_client(asked, kAll, asked, kAll)) << "fewer are seen";
  }
  for (const int asked : {kAll - 1, kAll}) {
    EXPECT_NO_THROW(require_client(asked, kAll, kAll, kAll)) << asked << " may be rounded up to all";
  }
  EXPECT_THROW(require_client(5, 10, 10, 10), SkipError) << "half of a small GPU";
}

TEST(SmShares, of_a_percentage_are_whole_multiprocessors_and_no_fewer) {
  SharePoint point;
  const std::map<double, int> of_132{{0.1, 1}, {2.5, 4}, {5, 7}, {10, 14}, {25, 33}, {50, 66}, {100, 132}};
  for (const auto& [percent, sms] : of_132) {
    point.percent = percent;
    EXPECT_EQ(point.sms_of(132), sms) << percent;
  }
  point.percent = 30;
  EXPECT_EQ(point.sms_of(10), 3);
  point.sms = 8;
  EXPECT_EQ(point.sms_of(132), 8);
}

TEST(SmShares, names_read_as_a_sentence) {
  std::set<std::string> names;
  const Machine machine = roomy_machine();
  for (const Family& family : {sm_share_gather(), sm_share_split()}) {
    for (const Benchmark& benchmark : listed(family, machine, Preset::quick)) {
      names.insert(benchmark.id.name());
    }
  }
  const std::string site = "/numa:" + std::to_string(machine.topology.usable_nodes().front()) + "/gpu:0";
  EXPECT_TRUE(names.contains("sm_share/gather/green_context" + site +
                             "/sms:8/width:16/row:1024/rows:65536/span:268435456"));
  EXPECT_TRUE(names.contains("sm_share/split/green_context" + site +
                             "/percent:25/width:16/row:1024/rows:131072/span:268435456"));
  EXPECT_TRUE(names.contains("sm_share/split/green_context" + site +
                             "/consumer:graphsage/percent:10/width:16/row:1024/rows:131072/span:268435456"));
  EXPECT_TRUE(
      names.contains("sm_share/split/unlimited" + site + "/width:16/row:1024/rows:131072/span:268435456"));
}

TEST(SmShares, full_has_every_way_width_and_share_of_figures_3_12_and_3_13) {
  std::set<std::string> ways;
  std::set<std::string> widths;
  for (const Benchmark& benchmark : listed(sm_share_gather(), roomy_machine(), Preset::full)) {
    ways.insert(text(benchmark, "by"));
    widths.insert(text(benchmark, "width"));
  }
  EXPECT_EQ(ways, (std::set<std::string>{"unlimited", "grid_cap", "green_context", "mps_percentage",
                                         "exec_affinity"}));
  EXPECT_EQ(widths, (std::set<std::string>{"4", "8", "16"}));
  std::map<std::string, std::set<std::string>> percents;
  for (const Benchmark& benchmark : listed(sm_share_split(), roomy_machine(), Preset::paper)) {
    if (text(benchmark, "by") != "unlimited") {
      percents[text(benchmark, "by")].insert(text(benchmark, "percent"));
    }
  }
  EXPECT_EQ(percents.size(), 4U);
  for (const auto& [by, each] : percents) {
    EXPECT_EQ(each, (std::set<std::string>{"2.5", "5", "7.5", "10", "15", "20", "25", "30", "40", "50"}))
        << by;
  }
}

TEST(SmShares, narrow_loads_are_gathered_alone_in_every_way_and_beside_a_computation_in_one) {
  std::map<std::string, std::set<std::string>> widths;
  for (const Benchmark& benchmark : listed(sm_share_gather(), roomy_machine(), Preset::full)) {
    widths[text(benchmark, "by")].insert(text(benchmark, "width"));
  }
  EXPECT_EQ(widths.size(), 5U);
  for (const auto& [by, each] : widths) {
    EXPECT_EQ(each, (std::set<std::string>{"4", "8", "16"})) << by;
  }
  std::multiset<std::string> beside;
  for (const Benchmark& benchmark : listed(sm_share_split(), roomy_machine(), Preset::full)) {
    if (text(benchmark, "by") == "green_context" && text(benchmark, "percent") == "10") {
      const bool bulk = benchmark.id.name().find("/mode:bulk/") != std::string::npos;
      beside.insert((bulk ? "bulk " : "") + text(benchmark, "width"));
    } else {
      EXPECT_EQ(text(benchmark, "width"), "16") << benchmark.id.name();
    }
  }
  EXPECT_EQ(beside, (std::multiset<std::string>{"4", "4", "8", "8", "16", "16", "bulk 16", "bulk 16"}));
}

TEST(SmShares, of_a_training_step_are_those_that_make_sense_for_one) {
  std::map<std::string, std::size_t> cases;
  std::size_t bare = 0;
  for (const Benchmark& benchmark : listed(sm_share_split(), roomy_machine(), Preset::full)) {
    const auto& axes = benchmark.id.axes;
    const auto consumer =
        std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.key == "consumer"; });
    if (consumer == axes.end()) {
      ++bare;  // as rows that were measured before there was a choice
      continue;
    }
    EXPECT_EQ(to_string(consumer->value), "graphsage");
    ++cases[text(benchmark, "by")];
  }
  EXPECT_EQ(bare, 36U);
  EXPECT_EQ(cases, (std::map<std::string, std::size_t>{{"unlimited", 1},
                                                       {"grid_cap", 10},
                                                       {"green_context", 15},
                                                       {"mps_percentage", 5},
                                                       {"exec_affinity", 5}}));
}

TEST(SmShares, presets_keep_to_their_size) {
  const Machine machine = roomy_machine();
  EXPECT_LE(listed(sm_share_gather(), machine, Preset::smoke).size(), 2U);
  EXPECT_LE(listed(sm_share_gather(), machine, Preset::quick).size(), 14U);
  EXPECT_LE(listed(sm_share_split(), machine, Preset::smoke).size(), 2U);
  EXPECT_LE(listed(sm_share_split(), machine, Preset::quick).size(), 8U);
  for (const Preset preset : {Preset::smoke, Preset::quick}) {
    std::size_t by_mps = 0;
    for (const Family& family : {sm_share_gather(), sm_share_split()}) {
      for (const Benchmark& benchmark : listed(family, machine, preset)) {
        const std::string by = text(benchmark, "by");
        by_mps += by == name(ShareBy::mps_percentage) || by == name(ShareBy::exec_affinity) ? 1 : 0;
      }
    }
    EXPECT_LE(by_mps, 3U) << "a client takes seconds to start";
  }
}

TEST(SmShares, larger_than_the_gpu_are_skipped_with_the_number) {
  std::size_t skipped = 0;
  for (const Benchmark& benchmark : listed(sm_share_gather(), roomy_machine(), Preset::full)) {
    if (text(benchmark, "by") == "green_context" && text(benchmark, "sms") == "96") {
      ++skipped;
      EXPECT_EQ(benchmark.skip, "GPU 0 has 80 multiprocessors");
    }
  }
  EXPECT_EQ(skipped, 3U);
}

TEST(SmShares, need_a_driver_with_green_contexts_and_mps_s_daemon) {
  Machine machine = roomy_machine();
  machine.runtime.driver_version = 12030;
  for (const Benchmark& benchmark : listed(sm_share_split(), machine, Preset::quick)) {
    const std::string by = text(benchmark, "by");
    if (by == "green_context") {
      EXPECT_EQ(benchmark.skip, "green contexts need a driver for CUDA 12.4 or newer");
    } else if (by == "mps_percentage") {
      EXPECT_EQ(benchmark.skip.empty(), !find_program(kMpsControl).empty());
    } else {
      EXPECT_EQ(benchmark.skip, "");
      EXPECT_GT(benchmark.needs.shared_host_bytes, 0U);
    }
  }
}

TEST(SmShares, axes_take_what_no_preset_has) {
  const Machine machine = roomy_machine();
  Scope scope = make_scope(Preset::smoke, gpu_targets(machine, {}), false, node_targets(machine, {}));
  scope.axes = {{"by", "grid_cap"}, {"sms", "3,none"}, {"percent", "33.3,none"}, {"width", "8"},
                {"row", "256"},     {"rows", "99"},    {"span", "1MiB"},         {"consumer", "graphsage"}};
  std::set<std::string> names;
  std::set<std::string> left_out;
  for (const Benchmark& benchmark : list_all({sm_share_split()}, machine, scope, &left_out)) {
    const std::string name = benchmark.id.name();
    names.insert(name.substr(name.find("/consumer")));
  }
  const std::string gather = "/width:8/row:256/rows:99/span:1048576";
  EXPECT_EQ(names, (std::set<std::string>{"/consumer:graphsage/sms:3" + gather,
                                          "/consumer:graphsage/percent:33.3" + gather}));
  EXPECT_EQ(left_out,
            (std::set<std::string>{"by grid_cap a share is in sms or in percent: one of them is none"}));
}

TEST(SmShares, that_cannot_be_are_left_out_with_the_reason) {
  const Machine machine = roomy_machine();
  const std::map<std::string, std::vector<std::pair<std::string, std::string>>> reasons{
      {"by unlimited nothing is parted: sms and percent are none", {{"by", "unlimited"}}},
      {"a masked gather cannot load 16 bytes at once of rows of 1028 in a table of 64 MiB",
       {{"row", "1028"}}},
      {"a masked gather cannot load 16 bytes at once of rows of 1024 in a table of 512 B",
       {{"span", "512"}}}};
  for (const auto& [reason, axes] : reasons) {
    Scope scope = make_scope(Preset::smoke, gpu_targets(machine, {}), false, node_targets(machine, {}));
    scope.axes = axes;
    std::set<std::string> left_out;
    EXPECT_TRUE(list_all({sm_share_gather()}, machine, scope, &left_out).empty()) << reason;
    EXPECT_EQ(left_out, std::set<std::string>{reason});
  }
}

TEST(SmShares, sides_of_a_split_ask_for_all_of_the_gpu_together) {
  SharePoint point;
  point.by = ShareBy::mps_percentage;
  point.gather.width = 16;
  point.percent = 2.5;
  const GatherSite site{1, GpuTarget{0, {}, {}}, {}};
  EXPECT_DOUBLE_EQ(gather_job(point, site, 132).percent, 2.5);
  EXPECT_DOUBLE_EQ(consumer_job(point, site, 132, 7).percent, 97.5);
  EXPECT_EQ(consumer_job(point, site, 132, 7).products, 7);
  EXPECT_EQ(consumer_job(point, site, 132, 7).width, 0U);
  point.by = ShareBy::exec_affinity;
  EXPECT_EQ(gather_job(point, site, 132).sms + consumer_job(point, site, 132, 7).sms, 132);
  EXPECT_EQ(gather_job(point, site, 132).node, 1);
  point.consumer = Consumer::graphsage;
  EXPECT_EQ(consumer_job(point, site, 132, 7).steps, 7);
  EXPECT_EQ(consumer_job(point, site, 132, 7).products, 0);
  point.sms = 33;
  EXPECT_DOUBLE_EQ(gather_job(point, site, 132).percent, 25);
}

}  // namespace
}  // namespace grainscope::harness
