// Runs whose GPU is lost on the way, by families that say so.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "fake_run.hpp"
#include "grainscope/core/error.hpp"
#include "harness/result_store.hpp"
#include "run_folder.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Ended;
using test::fake_case;
using test::fake_name;
using test::says;

const char* const kMessage = "could not finish the work of a stream: cudaErrorIllegalAddress";
const std::string kLostInB = "the GPU was lost while " + fake_name("b") + " ran";

class LostGpu : public test::FakeRun {
 protected:
  // Cases a to d; b loses the GPU. What runs leaves a file of its name behind.
  [[nodiscard]] std::vector<Benchmark> cases() const {
    std::vector<Benchmark> list;
    for (const std::string name : {"a", "b", "c", "d"}) {
      list.push_back(fake_case(name, [this, name](Session& session) {
        test::write_text(directory_ / name, "");
        if (name == "b") {
          throw GpuLostError(kMessage);
        }
        return test::honest(session);
      }));
    }
    return list;
  }

  [[nodiscard]] bool ran(const std::string& name) const { return std::filesystem::exists(directory_ / name); }
};

TEST_F(LostGpu, ends_the_run_with_1_and_starts_nothing_more) {
  const Ended ended = begin(cases());
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_EQ(ended.signal, 0);
  EXPECT_TRUE(says(ended.err, kLostInB + "; go on with --resume " + folder().string()));
  EXPECT_TRUE(ran("a") && ran("b"));
  EXPECT_FALSE(ran("c") || ran("d"));
}

TEST_F(LostGpu, leaves_a_whole_result_that_says_so) {
  static_cast<void>(begin(cases()));
  const json part = result();
  EXPECT_EQ(test::names_of(part), (std::vector{fake_name("a"), fake_name("b")}));
  EXPECT_EQ(test::row_named(part, fake_name("a"))["status"], "ok");
  EXPECT_EQ(test::row_named(part, fake_name("b"))["status"], "failed");
  EXPECT_EQ(test::row_named(part, fake_name("b"))["reason"], kMessage);
  const json& run = part["context"]["run"];
  EXPECT_EQ(run["complete"], false);
  EXPECT_EQ(run["why_incomplete"], kLostInB);
  EXPECT_EQ(run["counts"], (json{{"ok", 1}, {"skipped", 0}, {"failed", 1}}));
  EXPECT_EQ(test::cases_in(read_journal(folder())), (std::set<std::string>{fake_name("a"), fake_name("b")}));
}

TEST_F(LostGpu, goes_on_with_what_is_missing_in_a_new_process) {
  static_cast<void>(begin(cases()));
  std::filesystem::remove(directory_ / "a");
  std::filesystem::remove(directory_ / "b");
  const Ended ended = resume(cases());
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_FALSE(ran("a") || ran("b"));
  EXPECT_TRUE(ran("c") && ran("d"));
  const json whole = result();
  EXPECT_EQ(test::names_of(whole),
            (std::vector{fake_name("a"), fake_name("b"), fake_name("c"), fake_name("d")}));
  EXPECT_EQ(whole["context"]["run"]["complete"], true);
  EXPECT_EQ(whole["context"]["run"]["counts"], (json{{"ok", 3}, {"skipped", 0}, {"failed", 1}}));
}

TEST_F(LostGpu, in_the_last_case_leaves_nothing_to_go_on_with) {
  auto two = cases();
  two.resize(2);
  EXPECT_EQ(begin(two).status, 1);
  EXPECT_EQ(result()["context"]["run"]["complete"], true);
}

TEST_F(LostGpu, between_two_visits_fails_the_row_and_says_in_which) {
  auto list = cases();
  list[1].run = [this](Session& session) {
    if (ran("b")) {
      throw GpuLostError(kMessage);
    }
    test::write_text(directory_ / "b", "");
    return test::honest(session);
  };
  const Ended ended = begin(list, {"--benchmark_repetitions=3", "--one-process"});
  EXPECT_EQ(ended.status, 1) << ended.err;
  const json whole = result();
  EXPECT_EQ(test::row_named(whole, fake_name("b"))["reason"], std::string("in visit 2 of 3: ") + kMessage);
  EXPECT_EQ(whole["context"]["run"]["why_incomplete"], kLostInB);
}

TEST_F(LostGpu, is_said_where_nothing_is_kept) {
  test::Child child = test::Child::of([&] { return test::run_fakes(test::fake_family(cases()), {}); });
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(says(ended.err, "grainscope: " + kLostInB + "\n"));
  EXPECT_TRUE(says(ended.out, kMessage));
}

}  // namespace
}  // namespace grainscope::harness
