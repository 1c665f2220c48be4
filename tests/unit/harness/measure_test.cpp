// How an operation is measured: what is called, in which order, by whose numbers.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {
namespace {

// Writes down what is asked of it. Samples take one second more each time.
class Written final : public Operation {
 public:
  explicit Written(std::string& calls, int trials = 0) : calls_(calls), trials_(trials) { calls_ += "new "; }
  ~Written() override { calls_ += "gone "; }
  void prepare() override { calls_ += "prepare "; }
  double run() override {
    calls_ += "run ";
    return ++runs_;
  }
  std::string verify() override {
    calls_ += "verify ";
    return "all of it";
  }
  [[nodiscard]] Timing timing() const override { return {Clock::steady, false, "nothing"}; }
  [[nodiscard]] int trials() const override { return trials_; }
  void run_counted() override { calls_ += "counted "; }
  void describe(Measurement& measurement) override {
    calls_ += "describe ";
    measurement.bytes = 512;
    measurement.limit = PhysicalLimit{1, "its own"};
  }

 private:
  std::string& calls_;
  int trials_;
  double runs_ = 0;
};

class Measuring : public testing::Test {
 protected:
  Measuring() : machine_(test::machine_without_gpu()) {}

  Machine machine_;
  LinkPeaks peaks_{machine_, [](const LinkPeak&, const std::vector<Warning>&) {}};
  Session session_{machine_, {.budget_s = 0, .warmups = 1}, peaks_, nullptr, [] { return false; }};
  std::string calls_;
};

TEST_F(Measuring, prepares_every_sample_then_verifies_and_lets_it_describe_itself) {
  Written operation(calls_);
  const Measurement measurement = measure(session_, operation);
  std::string expected = "new ";
  for (std::size_t i = 0; i < 1 + measurement.samples.seconds.size(); ++i) {
    expected += "prepare run ";
  }
  EXPECT_EQ(calls_, expected + "verify describe ");
  EXPECT_EQ(measurement.samples.seconds.front(), 2) << "the first was warm-up";
  EXPECT_EQ(measurement.verification, "all of it");
  EXPECT_EQ(measurement.timing.timed, "nothing");
  EXPECT_EQ(measurement.bytes, 512U);
  EXPECT_EQ(measurement.limit->source, "its own");
}

TEST_F(Measuring, takes_one_sample_of_each_trial) {
  Written operation(calls_, 3);
  const Measurement measurement = measure(session_, operation);
  EXPECT_EQ(calls_, "new prepare run prepare run prepare run verify describe ");
  EXPECT_EQ(measurement.samples.seconds, (std::vector<double>{1, 2, 3}));
}

TEST_F(Measuring, makes_the_operation_anew_for_each_visit_or_keeps_it) {
  const Measurement anew =
      measure(session_, [&] { return std::make_unique<Written>(calls_, 1); }, {.visits = 2});
  EXPECT_EQ(calls_, "new prepare run verify describe gone new prepare run verify describe gone ");
  EXPECT_EQ(anew.samples.seconds, (std::vector<double>{1, 1}));
  calls_.clear();
  Written operation(calls_, 1);
  const Measurement kept = measure(session_, operation, {.visits = 2});
  EXPECT_EQ(calls_, "new prepare run verify describe prepare run verify describe ");
  EXPECT_EQ(kept.samples.seconds, (std::vector<double>{1, 2}));
  EXPECT_EQ(kept.samples.summary.median, 1.5);
}

TEST_F(Measuring, by_a_limit_that_is_known_beside_the_operation) {
  Written operation(calls_, 1);
  EXPECT_EQ(measure(session_, operation, {.limit = PhysicalLimit{2, "a link"}}).limit->source, "a link");
}

TEST_F(Measuring, fails_where_the_operation_cannot_be_verified) {
  LocalOperation wrong({.run = [] { return 1.0; },
                        .verify = []() -> std::string { throw FailedError("wrong"); },
                        .timing = {}});
  EXPECT_THROW(static_cast<void>(measure(session_, wrong)), FailedError);
}

}  // namespace
}  // namespace grainscope::harness
