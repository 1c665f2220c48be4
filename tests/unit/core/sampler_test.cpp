#include "grainscope/core/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "grainscope/core/error.hpp"

namespace grainscope {
namespace {

// A source of samples on a clock that moves only when one is taken.
class FakeWork {
 public:
  explicit FakeWork(std::vector<double> first, double wall_s_per_sample = 1e-6)
      : first_(std::move(first)), wall_s_per_sample_(wall_s_per_sample) {}

  Samples sample(const SamplingPlan& plan) {
    return draw_samples(
        plan, [this] { return next(); }, [this] { return now_s_; },
        [this] { return taken_ >= interrupt_after_; });
  }

  // Everything behind the first samples takes a second.
  double next() {
    now_s_ += wall_s_per_sample_;
    const std::size_t i = taken_++;
    return i < first_.size() ? first_[i] : 1.0;
  }

  void interrupt_after(std::size_t samples) { interrupt_after_ = samples; }
  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  std::vector<double> first_;
  double wall_s_per_sample_;
  double now_s_ = 100;
  std::size_t taken_ = 0;
  std::size_t interrupt_after_ = std::numeric_limits<std::size_t>::max();
};

SamplingPlan plan_without_warmup() {
  return {.ci_target = 0.02, .budget_s = 1e9, .max_samples = 4096, .warmups = 0};
}

// Never two alike within 2 %.
std::vector<double> wild_samples(std::size_t n) {
  std::vector<double> samples(n);
  for (std::size_t i = 0; i < n; ++i) {
    samples[i] = i % 2 == 0 ? 1 : 5;
  }
  return samples;
}

TEST(DrawSamples, stops_at_eight_when_the_target_is_reached_there) {
  FakeWork work({});
  const Samples samples = work.sample(plan_without_warmup());
  EXPECT_EQ(samples.seconds.size(), 8U);
  EXPECT_TRUE(samples.reached_target);
  EXPECT_EQ(samples.summary.median, 1.0);
  EXPECT_EQ(samples.summary.n, 8U);
}

TEST(DrawSamples, does_not_look_between_8_and_16) {
  // One outlier: the interval is wide up to n = 10 and narrow from n = 11, where its ranks leave the end out.
  FakeWork work({5});
  const Samples samples = work.sample(plan_without_warmup());
  EXPECT_EQ(samples.seconds.size(), 16U);
  EXPECT_TRUE(samples.reached_target);
}

TEST(DrawSamples, does_not_look_between_16_and_32) {
  // Four outliers: wide at n = 16, narrow from n = 20.
  FakeWork work({5, 5, 5, 5});
  EXPECT_EQ(work.sample(plan_without_warmup()).seconds.size(), 32U);
}

TEST(DrawSamples, stops_at_the_budget_between_two_looks) {
  FakeWork work(wild_samples(1000), 0.01);
  SamplingPlan plan = plan_without_warmup();
  plan.budget_s = 0.195;
  const Samples samples = work.sample(plan);
  EXPECT_EQ(samples.seconds.size(), 20U);
  EXPECT_FALSE(samples.reached_target);
  EXPECT_NEAR(samples.wall_s, 0.2, 1e-9);
}

TEST(DrawSamples, takes_eight_samples_even_past_the_budget) {
  FakeWork work(wild_samples(1000), 3600);
  SamplingPlan plan = plan_without_warmup();
  plan.budget_s = 0.5;
  const Samples samples = work.sample(plan);
  EXPECT_EQ(samples.seconds.size(), 8U);
  EXPECT_FALSE(samples.reached_target);
  EXPECT_TRUE(samples.summary.ci95.has_value());
}

TEST(DrawSamples, stops_at_the_most_samples_allowed) {
  FakeWork work(wild_samples(1000));
  SamplingPlan plan = plan_without_warmup();
  plan.max_samples = 21;
  EXPECT_EQ(work.sample(plan).seconds.size(), 21U);
}

TEST(DrawSamples, a_most_below_eight_still_gives_an_interval) {
  FakeWork work(wild_samples(1000));
  SamplingPlan plan = plan_without_warmup();
  plan.max_samples = 1;
  EXPECT_EQ(work.sample(plan).seconds.size(), 8U);
}

TEST(DrawSamples, looks_at_the_interval_when_it_has_to_stop) {
  FakeWork work({5});
  SamplingPlan plan = plan_without_warmup();
  plan.max_samples = 12;
  const Samples samples = work.sample(plan);
  EXPECT_EQ(samples.seconds.size(), 12U);
  EXPECT_TRUE(samples.reached_target);
}

TEST(DrawSamples, warmups_are_run_and_not_kept) {
  FakeWork work({900, 800, 700}, 0.01);
  SamplingPlan plan = plan_without_warmup();
  plan.warmups = 3;
  const Samples samples = work.sample(plan);
  EXPECT_EQ(work.taken(), 11U);
  EXPECT_EQ(samples.seconds, std::vector<double>(8, 1.0));
  EXPECT_NEAR(samples.wall_s, 0.08, 1e-9);
}

TEST(DrawSamples, samples_stay_in_the_order_taken) {
  FakeWork work({1.003, 1.001, 1.002, 1.004});
  const Samples samples = work.sample(plan_without_warmup());
  EXPECT_EQ(samples.seconds, (std::vector<double>{1.003, 1.001, 1.002, 1.004, 1, 1, 1, 1}));
}

TEST(DrawSamples, a_sample_that_is_not_a_positive_time_fails) {
  for (const double bad : {0.0, -1e-9, std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (const std::size_t place : {0U, 1U, 5U, 9U}) {
      std::vector<double> samples = wild_samples(16);
      samples[place] = bad;
      FakeWork work(samples);
      SamplingPlan plan = plan_without_warmup();
      plan.warmups = 1;
      EXPECT_THROW(static_cast<void>(work.sample(plan)), FailedError) << bad << " at " << place;
      EXPECT_EQ(work.taken(), place + 1);
    }
  }
}

TEST(DrawSamples, an_interruption_ends_it_before_the_next_sample) {
  for (const std::size_t after : {0U, 1U, 7U, 13U}) {
    FakeWork work(wild_samples(1000));
    work.interrupt_after(after);
    SamplingPlan plan = plan_without_warmup();
    plan.warmups = 2;
    EXPECT_THROW(static_cast<void>(work.sample(plan)), Interrupted);
    EXPECT_EQ(work.taken(), after);
  }
}

TEST(SteadyNow, never_goes_back) {
  double last = steady_now_s();
  for (int i = 0; i < 1000; ++i) {
    const double now = steady_now_s();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace grainscope
