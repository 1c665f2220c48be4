// The family's end of a worker process against scripts in its place, and the worker's own words.

#include "gnn/share_worker.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {
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
