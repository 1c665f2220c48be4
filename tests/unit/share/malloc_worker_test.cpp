// Calls of malloc in a process of their own: that process, and the row that it makes.

#include "host/malloc.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

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
}  // namespace grainscope::harness
