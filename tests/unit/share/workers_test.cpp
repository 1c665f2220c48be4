// Worker processes: how they are started and heard, the memory that they share, and those of malloc and of
// shares.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../testing/says.hpp"
#include "child.hpp"
#include "fakes.hpp"
#include "gnn/share_worker.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/training.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/system/child_process.hpp"
#include "host/malloc.hpp"
#include "worker_process.hpp"

namespace grainscope {
namespace {

ChildRequest shell(const std::string& script) {
  return {.words = {"sh", "-c", script}};
}

TEST(ChildProcesses, are_spoken_to_line_by_line) {
  ChildProcess child(shell("while read -r word; do echo \"heard $word\"; done; echo end"));
  EXPECT_TRUE(child.write_line("one"));
  EXPECT_EQ(child.read_line(5), "heard one");
  EXPECT_TRUE(child.write_line("two"));
  EXPECT_TRUE(child.write_line("three"));
  EXPECT_EQ(child.read_line(5), "heard two");
  EXPECT_EQ(child.read_line(5), "heard three");
  child.close_input();
  EXPECT_EQ(child.read_line(5), "end");
  EXPECT_EQ(child.read_line(5), std::nullopt);
  EXPECT_TRUE(child.wait(5)->well());
}

TEST(ChildProcesses, tell_how_they_ended) {
  ChildProcess three(shell("exit 3"));
  EXPECT_EQ(to_string(*three.wait(5)), "ended with status 3");
  ChildProcess killed(shell("kill -9 $$"));
  EXPECT_EQ(to_string(*killed.wait(5)), "was ended by signal 9 (Killed)");
}

TEST(ChildProcesses, that_are_not_there_are_an_error_with_their_name) {
  try {
    const ChildProcess child({.words = {"no-such-program"}});
    FAIL() << "it started";
  } catch (const EnvironmentError& error) {
    EXPECT_EQ(std::string(error.what()), "could not start no-such-program: there is no such program");
  }
  EXPECT_THROW(ChildProcess({.words = {"/etc/passwd"}}), EnvironmentError);
}

TEST(ChildProcesses, that_exec_refuses_are_an_error_too) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path file = directory / "no-program";
  test::write_text(file, "neither script nor program");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  EXPECT_THROW(ChildProcess({.words = {file.string()}}), EnvironmentError);
}

TEST(ChildProcesses, have_the_environment_that_was_asked_for) {
  setenv("GRAINSCOPE_TEST_OLD", "old", 1);
  ChildRequest request = shell("echo \"$GRAINSCOPE_TEST_NEW-${GRAINSCOPE_TEST_OLD:-none}-${HOME:+home}\"");
  request.set = {{"GRAINSCOPE_TEST_NEW", "new"}};
  request.unset = {"GRAINSCOPE_TEST_OLD"};
  setenv("HOME", "/", 1);
  EXPECT_EQ(ChildProcess(request).read_line(5), "new-none-home");
}

TEST(ChildProcesses, that_say_nothing_are_not_waited_for_for_ever) {
  ChildProcess child(shell("exec sleep 1000"));
  EXPECT_THROW(static_cast<void>(child.read_line(0.05)), FailedError);
  EXPECT_EQ(child.wait(0.05), std::nullopt);
}

// Workers that wait for each other: scripts, which answer a request or do not.
class Beside : public testing::Test {
 protected:
  harness::WorkerProcess worker(const std::string& what, const std::string& script) {
    const std::filesystem::path file = directory_ / what;
    test::write_text(file, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return {"the process of " + what, file.string(), "test", {}, {}};
  }
  static std::string why(harness::WorkerProcess& one, harness::WorkerProcess& other, double patience_s) {
    return test::refusal<FailedError>(
        [&] { static_cast<void>(harness::answer_beside(one, {&other}, "done", patience_s)); });
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Beside, one_that_answers_is_heard_whatever_the_other_does) {
  auto one = worker("rank 0", "echo done 7; cat");
  auto other = worker("rank 1", "cat");
  EXPECT_EQ(harness::answer_beside(one, {&other}, "done", 5), "7");
}

TEST_F(Beside, one_that_waits_for_a_dead_one_does_not_wait_its_whole_time) {
  auto one = worker("rank 0", "exec sleep 1000");
  auto other = worker("rank 1", "kill -SEGV $$");
  const double begun_s = steady_now_s();
  EXPECT_EQ(why(one, other, 60), "the process of rank 1 was ended by signal 11 (Segmentation fault)");
  EXPECT_LT(steady_now_s() - begun_s, 10);
}

TEST_F(Beside, one_that_says_nothing_is_named) {
  auto one = worker("rank 0", "exec sleep 1000");
  auto other = worker("rank 1", "cat");
  EXPECT_EQ(why(one, other, 1), "the process of rank 0 has not answered for 1.00 s");
}

TEST(ChildProcesses, that_do_not_read_are_no_signal) {
  ChildProcess child(shell("exit 0"));
  EXPECT_TRUE(child.wait(5));
  child.write_line("into nothing");
  EXPECT_FALSE(child.write_line("again"));
}

TEST(ChildProcesses, end_with_their_owner) {
  pid_t pid = 0;
  const double start_s = steady_now_s();
  {
    const ChildProcess child(shell("trap '' TERM; while :; do sleep 0.1; done"));
    pid = child.pid();
  }
  EXPECT_LT(steady_now_s() - start_s, 4);
  EXPECT_TRUE(kill(pid, 0) != 0 && errno == ESRCH);
}

TEST(ChildProcesses, end_with_a_parent_that_is_killed) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path told = directory / "pid";
  test::Child parent = test::Child::of([&] {
    const ChildProcess child(shell("exec sleep 1000"));
    test::write_text(told, std::to_string(child.pid()) + " ");
    pause();
    return 0;
  });
  const double deadline_s = steady_now_s() + 10;
  while (!test::read_text(told).ends_with(' ') && steady_now_s() < deadline_s) {
    usleep(5000);
  }
  parent.send(SIGKILL);
  EXPECT_EQ(parent.wait().signal, SIGKILL);
  const pid_t pid = std::atoi(test::read_text(told).c_str());
  ASSERT_GT(pid, 1);
  const auto runs = [&] {
    const std::string stat = test::read_text("/proc/" + std::to_string(pid) + "/stat");
    return !stat.empty() && stat.find(") Z ") == std::string::npos;
  };
  while (runs() && steady_now_s() < deadline_s) {
    usleep(5000);
  }
  EXPECT_FALSE(runs());
}

TEST(ChildProcesses, write_to_a_file_where_one_is_named) {
  const test::TemporaryDirectory directory;
  ChildRequest request = shell("echo out; echo err >&2");
  request.output = directory / "said";
  EXPECT_TRUE(ChildProcess(request).wait(5)->well());
  EXPECT_EQ(test::read_text(request.output), "out\nerr\n");
}

}  // namespace
// Memory that parent and child share: both see it, and it has no name that could be left behind.

namespace {

std::string at(const SharedMemory& memory) {
  return "/proc/self/fd/" + std::to_string(memory.descriptor());
}

TEST(SharedMemories, are_seen_by_a_child_that_keeps_them_both_ways) {
  const SharedMemory memory(8192);
  std::memcpy(memory.data() + 4096, "hello", 5);
  const std::string script = "tail -c +4097 " + at(memory) +
                             " | head -c 5; echo; printf bye | dd of=" + at(memory) +
                             " conv=notrunc 2>/dev/null; echo end";
  ChildProcess child({.words = {"sh", "-c", script}, .keep = {memory.descriptor()}});
  EXPECT_EQ(child.read_line(5), "hello");
  EXPECT_EQ(child.read_line(5), "end");
  EXPECT_EQ(std::memcmp(memory.data(), "bye", 3), 0);
}

TEST(SharedMemories, are_not_there_in_other_children) {
  const SharedMemory memory(4096);
  ChildProcess child({.words = {"sh", "-c", "[ -e " + at(memory) + " ] && echo there || echo gone"}});
  EXPECT_EQ(child.read_line(5), "gone");
}

TEST(SharedMemories, that_a_parent_keeps_must_be_what_the_child_was_told) {
  EXPECT_THROW(SharedMemory(999, 4096), UsageError);
  EXPECT_THROW(SharedMemory(0, std::uint64_t{1} << 50), UsageError);
}

TEST(SharedPlans, come_back_as_they_were_written) {
  gnn::TrainingRequest request;
  request.sample = {{5, 3}, 7};
  request.batch = 20;
  request.batches = 5;
  request.labelled_percent = 50;
  request.shape = {12, 6, 4, 2};
  request.rate = 0.25;
  const gnn::TrainingPlan plan =
      gnn::plan_training(graph::make_graph(graph::parse_graph_spec("kron:9"), false), request);
  constexpr std::uint64_t kAt = 4096;
  const SharedMemory memory(kAt + gnn::shared_plan_bytes(plan));
  gnn::write_plan(plan, memory.data() + kAt);
  const gnn::TrainingPlan read = gnn::read_plan(memory.path(), kAt);
  EXPECT_EQ(read.request.sample.fanouts, request.sample.fanouts);
  EXPECT_EQ(read.request.sample.seed, 7);
  EXPECT_EQ(read.request.batch, 20);
  EXPECT_EQ(read.request.batches, 5);
  EXPECT_EQ(read.request.rate, 0.25);
  EXPECT_EQ(read.request.shape, request.shape);
  EXPECT_EQ(read.seeds, plan.seeds);
  EXPECT_EQ(read.labels, plan.labels);
  EXPECT_EQ(read.parameters, plan.parameters);
  ASSERT_EQ(read.neighbours.vertices(), plan.neighbours.vertices());
  ASSERT_EQ(read.neighbours.edges(), plan.neighbours.edges());
  const auto& [offsets, targets] = std::tie(read.neighbours.offsets, read.neighbours.targets);
  EXPECT_TRUE(std::equal(offsets.begin(), offsets.end(), plan.neighbours.offsets.begin()));
  EXPECT_TRUE(std::equal(targets.begin(), targets.end(), plan.neighbours.targets.begin()));
  // The losses follow from the plan alone: a reader trains on the same.
  EXPECT_EQ(gnn::reference_losses(read, 3, 1), gnn::reference_losses(plan, 3, 1));
}

TEST(SharedPlans, are_not_read_from_anything_else) {
  const SharedMemory memory(1 << 16);
  EXPECT_THROW(static_cast<void>(gnn::read_plan(memory.path(), 0)), UsageError);
}

}  // namespace
}  // namespace grainscope

// Calls of malloc in a process of their own: that process, and the row that it makes.

namespace grainscope::harness {
namespace {

using nlohmann::json;

// The shortest sample of a row of a run, by name.
double shortest(const std::vector<std::string>& filter_and_preset, const std::string& name) {
  const test::TemporaryDirectory folder;
  std::vector<std::string> words = filter_and_preset;
  words.push_back("--out=" + (folder / "run").string());
  const test::Ended ended = test::run_program(words);
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json result = test::read_result(folder / "run");
  for (const json& row : result.at("benchmarks")) {
    if (row.at("name").get<std::string>().find(name) != std::string::npos) {
      const auto seconds = row.at("visits").at(0).at("samples_s").get<std::vector<double>>();
      return *std::min_element(seconds.begin(), seconds.end());
    }
  }
  ADD_FAILURE() << "no row " << name;
  return 0;
}

TEST(MallocJob, is_the_same_in_words) {
  const MallocJob job{true, 3, std::uint64_t{5} << 33};
  EXPECT_EQ(parse_malloc_job(to_words(job)), job);
  EXPECT_THROW(static_cast<void>(parse_malloc_job({"1", "0"})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_malloc_job({"1", "0", "many"})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_malloc_job({"1", "0", "0"})), UsageError);
}

TEST(MallocJob, is_of_many_small_blocks_or_of_few_large_ones) {
  EXPECT_EQ((MallocJob{false, 0, 256}.blocks()), 256U);
  EXPECT_EQ((MallocJob{false, 0, kMiB}.blocks()), 64U);
  EXPECT_EQ((MallocJob{false, 0, kGiB}.blocks()), 1U);
}

TEST(MallocWorker, times_batches) {
  MallocWorker worker({true, 0, 64 * kKiB}, GRAINSCOPE_PROGRAM);
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(worker.sample(), 1e-6);
    EXPECT_LT(worker.sample(), 10);
  }
}

TEST(MallocWorker, is_not_for_users) {
  const test::Ended ended = test::run_program({kWorkerCommand, kMallocKind});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("started by the program itself"), std::string::npos) << ended.err;
}

// glibc gives back what is freed beyond 128 KiB, unless something lies above it on the heap: what the checks
// allocated while the blocks lived kept them there, in some samples or in all.
TEST(MallocWorker, has_nothing_on_the_heap_above_its_blocks) {
  const MallocJob job{false, 0, 4 * kKiB};
  MallocWorker worker(job, GRAINSCOPE_PROGRAM);
  double shortest_s = worker.sample();
  for (int i = 0; i < 30; ++i) {
    shortest_s = std::min(shortest_s, worker.sample());
  }
  constexpr double kShortestFault_s = 1e-7;
  EXPECT_GT(shortest_s, static_cast<double>(job.blocks()) * kShortestFault_s) << "no new page for each block";
}

// In one process glibc would keep 64 KiB blocks once it has freed one of some MiB, and they would cost less.
TEST(MallocWorker, of_a_case_does_not_know_what_ran_before_it) {
  const std::string name = "malloc_and_fill/node:0/bytes:65536";
  const double alone = shortest({"--benchmark_filter=" + name + "$"}, name);
  const double after = shortest({"--benchmark_filter=host/malloc/"}, name);
  EXPECT_LT(std::max(alone, after), 5 * std::min(alone, after))
      << alone << " s alone, " << after << " s after";
}

}  // namespace
// The family's end of a worker process against scripts in its place, and the worker's own words.

namespace {

ShareJob gathering() {
  ShareJob job;
  job.percent = 2.5;
  job.node = 1;
  job.width = 16;
  job.row_bytes = 1028;
  job.rows = 5'000'000'000;
  job.span_bytes = std::uint64_t{1} << 40;
  return job;
}

class Workers : public testing::Test {
 protected:
  // A program that answers as the script says.
  [[nodiscard]] std::string script(const std::string& body) {
    const std::filesystem::path path = directory_ / ("worker" + std::to_string(scripts_++));
    test::write_text(path, "#!/bin/sh\n" + body + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }

  // What the error says.
  static std::string words_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }

  test::TemporaryDirectory directory_;
  int scripts_ = 0;
};

TEST_F(Workers, get_their_job_as_words_and_read_it_back) {
  const ShareJob job = gathering();
  EXPECT_EQ(parse_share_job(to_words(job)), job);
  ShareJob products;
  products.by = cuda::ShareBy::exec_affinity;
  products.sms = 119;
  products.products = 12;
  EXPECT_EQ(parse_share_job(to_words(products)), products);
  ShareJob steps;
  steps.steps = 5;
  EXPECT_EQ(parse_share_job(to_words(steps)), steps);
}

TEST_F(Workers, refuse_other_words) {
  EXPECT_THROW(static_cast<void>(parse_share_job({})), UsageError);
  auto words = to_words(gathering());
  words[0] = "green_context";
  EXPECT_THROW(static_cast<void>(parse_share_job(words)), UsageError);
  words = to_words(gathering());
  words[6] = "many";
  EXPECT_THROW(static_cast<void>(parse_share_job(words)), UsageError);
}

TEST_F(Workers, get_their_share_by_the_environment) {
  const std::string program = script(
      "echo \"started $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE "
      "${CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING:-0}${CUDA_VISIBLE_DEVICES:-}\"; read -r "
      "end");
  setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "77", 1);
  ShareJob job = gathering();
  job.percent = 25;
  const ShareWorker percentage(job, {}, program);
  EXPECT_EQ(percentage.given_sms(), 25);
  EXPECT_EQ(percentage.seen_sms(), 0);
  job.by = cuda::ShareBy::exec_affinity;
  const std::string affine = script(
      "echo \"started ${CUDA_MPS_ACTIVE_THREAD_PERCENTAGE:-9} "
      "$CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING\"; read -r end");
  const ShareWorker affinity(job, {}, affine);
  EXPECT_EQ(affinity.given_sms(), 9);
  EXPECT_EQ(affinity.seen_sms(), 1);
}

TEST_F(Workers, begin_at_one_moment_and_end_with_the_later) {
  const std::string one = script(
      "echo 'started 8 8'; read -r w; echo ready; read -r w start; echo \"times 0.5 $start $start 0\"; read "
      "-r end");
  ShareWorker first(gathering(), {}, one);
  ShareWorker second(gathering(), {}, one);
  const double before_s = steady_now_s();
  const SidesTimes times = run_together(first, second);
  EXPECT_EQ(times.first.begun_s, times.second.begun_s);
  EXPECT_GT(times.first.begun_s, before_s);
  EXPECT_EQ(times.first.seconds, 0.5);
  EXPECT_EQ(times.seconds, -times.first.begun_s);
}

// Says that its gate opened long after the moment it was asked for, `times` times over.
std::string late_script(int times) {
  return "echo 'started 8 8'; n=0; while read -r word start; do "
         "if [ $word = ready ]; then echo ready; "
         "elif [ $n -lt " +
         std::to_string(times) +
         " ]; then n=$((n + 1)); echo \"times 0.5 $start 99999999999 0\"; "
         "else echo \"times 0.5 $start $start 0\"; fi; done";
}

TEST_F(Workers, that_begin_late_run_once_more) {
  ShareWorker first(gathering(), {}, script(late_script(0)));
  ShareWorker second(gathering(), {}, script(late_script(3)));
  const SidesTimes times = run_together(first, second);
  EXPECT_EQ(times.first.begun_s, times.second.begun_s);
  EXPECT_LT(times.second.opened_s, 99999999999.0);
}

TEST_F(Workers, that_always_begin_late_are_no_measurement) {
  ShareWorker first(gathering(), {}, script(late_script(99)));
  ShareWorker second(gathering(), {}, script(late_script(0)));
  const std::string words = words_of([&] { static_cast<void>(run_together(first, second)); });
  EXPECT_NE(words.find("did not begin at one moment: in 16 tries"), std::string::npos) << words;
}

TEST_F(Workers, that_skip_or_fail_say_why) {
  EXPECT_THROW(ShareWorker(gathering(), {}, script("echo 'skip no such thing here'")), SkipError);
  EXPECT_EQ(words_of([&] { ShareWorker(gathering(), {}, script("echo 'skip no such thing here'")); }),
            "the process that gathers: no such thing here");
  EXPECT_EQ(words_of([&] { ShareWorker(gathering(), {}, script("echo 'failed wrong result'")); }),
            "the process that gathers: wrong result");
  EXPECT_EQ(words_of([&] { ShareWorker(gathering(), {}, script("echo hello")); }),
            "the process that gathers said `hello`");
  ShareWorker later(gathering(), {}, script("echo 'started 8 8'; read -r w; echo 'failed wrong result'"));
  EXPECT_EQ(words_of([&] { static_cast<void>(later.alone()); }), "the process that gathers: wrong result");
}

TEST_F(Workers, that_die_are_told_of) {
  EXPECT_EQ(words_of([&] { ShareWorker(gathering(), {}, script("exit 3")); }),
            "the process that gathers ended with status 3");
  ShareWorker worker(gathering(), {}, script("echo 'started 8 8'; read -r w; kill -9 $$"));
  EXPECT_EQ(words_of([&] { static_cast<void>(worker.alone()); }),
            "the process that gathers was ended by signal 9 (Killed)");
  ShareJob products;
  products.products = 1;
  EXPECT_EQ(words_of([&] { ShareWorker(products, {}, script("kill -6 $$")); }),
            "the process that computes was ended by signal 6 (Aborted)");
}

TEST_F(Workers, end_with_their_owner) {
  pid_t pid = 0;
  {
    const ShareWorker worker(gathering(), {}, script("echo 'started 8 8'; exec sleep 1000"));
    pid = worker.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_TRUE(kill(pid, 0) != 0 && errno == ESRCH);
}

TEST_F(Workers, of_the_program_itself_say_why_they_cannot_work_without_mps) {
  // Without a GPU they cannot work either: what counts is that they say so and go.
  ShareJob job = gathering();
  job.node = 0;
  job.span_bytes = 1 << 20;
  job.rows = 16;
  job.by = cuda::ShareBy::exec_affinity;
  job.sms = 4;
  const Variables nowhere{{"CUDA_MPS_PIPE_DIRECTORY", (directory_ / "none").string()}};
  const std::string words = words_of([&] { ShareWorker(job, nowhere, GRAINSCOPE_PROGRAM); });
  EXPECT_EQ(words.find("the process that gathers: "), 0U) << words;
}

TEST_F(Workers, are_not_for_users) {
  const test::Ended ended = test::run_program({kWorkerCommand, kShareKind});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("started by the program itself"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace grainscope::harness
