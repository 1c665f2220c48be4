#include "grainscope/core/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
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

// An interval of 2.4 % at any n: more than the target, and not so much more that nobody would wait for it.
std::vector<double> wild_samples(std::size_t n) {
  std::vector<double> samples(n);
  for (std::size_t i = 0; i < n; ++i) {
    samples[i] = i % 2 == 0 ? 1 : 1.05;
  }
  return samples;
}

// Sessions of samples drawn by `draw`, a millisecond apart; how they ended.
struct Ends {
  int sessions = 0;
  int reached = 0;
  int early = 0;  // neither at the target nor at the most samples
};

template <class Draw>
Ends ends_of(const SamplingPlan& plan, const Draw& draw) {
  Ends ends;
  std::mt19937_64 random(7);
  for (ends.sessions = 0; ends.sessions < 2000; ++ends.sessions) {
    std::vector<double> samples(plan.max_samples);
    for (double& sample : samples) {
      sample = draw(random);
    }
    FakeWork work(samples, 1e-3);
    const Samples drawn = work.sample(plan);
    ends.reached += drawn.reached_target ? 1 : 0;
    ends.early += !drawn.reached_target && drawn.seconds.size() < plan.max_samples ? 1 : 0;
  }
  return ends;
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
  FakeWork work({1.5, 1.5, 1.5, 1.5});
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

// A beginning that falls from twice to 1.1 times the second that everything behind it takes.
std::vector<double> falling(std::size_t n) {
  std::vector<double> samples(n);
  for (std::size_t i = 0; i < n; ++i) {
    samples[i] = 2 - 0.9 * static_cast<double>(i) / static_cast<double>(n);
  }
  return samples;
}

TEST(DrawSamples, drops_what_was_taken_before_the_operation_settled) {
  for (const std::size_t slow : {8U, 12U, 24U, 40U}) {
    FakeWork work(falling(slow));
    const Samples samples = work.sample(plan_without_warmup());
    EXPECT_EQ(samples.summary.median, 1.0) << slow;
    EXPECT_TRUE(samples.reached_target);
    EXPECT_EQ(samples.unsettled.size() + samples.seconds.size(), work.taken());
    EXPECT_GE(samples.unsettled.size(), 8U);
    EXPECT_EQ(samples.summary.n, samples.seconds.size());
  }
}

TEST(DrawSamples, drops_an_unsettled_half_when_the_budget_is_used_up_too) {
  FakeWork work(falling(9), 0.01);
  SamplingPlan plan = plan_without_warmup();
  plan.budget_s = 0.175;
  const Samples samples = work.sample(plan);
  EXPECT_EQ(work.taken(), 18U);
  EXPECT_EQ(samples.unsettled.size(), 8U);  // at n = 16; the ten that are left are too few to be told apart
  EXPECT_EQ(samples.seconds.size(), 10U);
  EXPECT_EQ(samples.summary.median, 1.0);
  plan.budget_s = 0.155;
  FakeWork shorter(falling(9), 0.01);
  EXPECT_EQ(shorter.sample(plan).seconds.size(), 8U);
}

TEST(DrawSamples, keeps_a_change_that_is_below_the_target) {
  // 1 % apart, with outliers that keep the interval wide.
  std::vector<double> first(16, 1.01);
  for (const std::size_t i : {0U, 1U, 2U, 8U, 9U, 10U}) {
    first[i] = i < 8 ? 1.3 : 0.7;
  }
  FakeWork work(first);
  SamplingPlan plan = plan_without_warmup();
  plan.max_samples = 16;
  EXPECT_EQ(work.sample(plan).unsettled.size(), 0U);
}

TEST(DrawSamples, drops_next_to_nothing_of_what_only_varies) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> spread(0, 0.3);
  int set_aside = 0;
  constexpr int kSessions = 2000;
  for (int session = 0; session < kSessions; ++session) {
    SamplingPlan plan = plan_without_warmup();
    plan.max_samples = 512;
    plan.patience_s = 0.05;
    std::vector<double> samples(512);
    for (double& sample : samples) {
      // Every other session has two levels that take turns by chance.
      sample = spread(random) * (session % 2 == 1 && random() % 2 == 0 ? 3 : 1);
    }
    FakeWork work(samples, 1e-3);
    set_aside += work.sample(plan).unsettled.empty() ? 0 : 1;
  }
  EXPECT_LT(set_aside, kSessions / 50);
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

TEST(DrawSamples, gives_up_at_the_second_look_where_the_target_is_out_of_reach) {
  // Half of them five times as long: 67 % at n = 16, and still 4 % at 4096.
  std::vector<double> hopeless;
  for (int i = 0; i < 4096; ++i) {
    hopeless.push_back(i % 2 == 0 ? 1 : 5);
  }
  FakeWork work(hopeless);
  const Samples samples = work.sample(plan_without_warmup());
  EXPECT_EQ(samples.seconds.size(), 16U);
  EXPECT_FALSE(samples.reached_target);
  EXPECT_TRUE(samples.summary.ci95.has_value());
}

TEST(DrawSamples, gives_up_where_the_budget_leaves_too_few_samples) {
  // 4.9 % of the median at n = 16: 1 % is a matter of 384 samples.
  std::vector<double> noisy;
  for (int i = 0; i < 1000; ++i) {
    noisy.push_back(i % 2 == 0 ? 1 : 1.1);
  }
  SamplingPlan plan = plan_without_warmup();
  plan.ci_target = 0.01;
  plan.budget_s = 0.5;
  plan.max_samples = 512;
  FakeWork fast(noisy, 1e-3);
  EXPECT_EQ(fast.sample(plan).seconds.size(), 128U);  // at 500 samples 1.7 % are foretold, then 2.5
  FakeWork slow(noisy, 1e-2);
  EXPECT_EQ(slow.sample(plan).seconds.size(), 16U);  // at 50 samples 2.8 %
}

TEST(DrawSamples, of_a_hopeless_distribution_nearly_all_sessions_end_early) {
  const SamplingPlan plan{.ci_target = 0.01, .budget_s = 1e9, .max_samples = 512, .warmups = 0};
  std::lognormal_distribution<double> wide(0, 1);
  const Ends ends = ends_of(plan, [&](auto& random) { return wide(random); });
  EXPECT_GT(ends.early, ends.sessions * 99 / 100);
}

TEST(DrawSamples, of_a_distribution_that_gets_there_hardly_any_session_ends_early) {
  const SamplingPlan plan{.ci_target = 0.01, .budget_s = 1e9, .max_samples = 512, .warmups = 0};
  // The interval is 1 % wide at about 150 samples, each way.
  std::normal_distribution<double> narrow(1, 0.05);
  const Ends ends = ends_of(plan, [&](auto& random) { return narrow(random); });
  EXPECT_LT(ends.early, ends.sessions / 100);
  EXPECT_GT(ends.reached, ends.sessions * 95 / 100);
}

TEST(DrawSamples, outliers_that_are_rare_end_no_session_early) {
  const SamplingPlan plan{.ci_target = 0.01, .budget_s = 1e9, .max_samples = 512, .warmups = 0};
  std::normal_distribution<double> narrow(1, 0.02);
  std::bernoulli_distribution strays(0.04);
  const Ends ends = ends_of(plan, [&](auto& random) { return narrow(random) * (strays(random) ? 50 : 1); });
  EXPECT_LT(ends.early, ends.sessions / 100);
  EXPECT_GT(ends.reached, ends.sessions * 98 / 100);
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

TEST(DrawSamples, short_operations_warm_up_for_a_while_and_not_for_ever) {
  SamplingPlan plan = plan_without_warmup();
  plan.warmups = 2;
  plan.warmup_s = 0.005;
  for (const auto& [wall_s, warmups] :
       std::vector<std::pair<double, std::size_t>>{{0.01, 2}, {0.0011, 5}, {1e-6, kMostWarmups}}) {
    FakeWork work({}, wall_s);
    const Samples samples = work.sample(plan);
    EXPECT_EQ(samples.warmups, warmups);
    EXPECT_EQ(work.taken(), warmups + 8);
  }
}

TEST(DrawSamples, foretells_nothing_before_its_patience_is_at_an_end) {
  std::vector<double> noisy;
  for (int i = 0; i < 4096; ++i) {
    noisy.push_back(i % 2 == 0 ? 1 : 5);
  }
  SamplingPlan plan = plan_without_warmup();
  plan.patience_s = 0.1;
  FakeWork work(noisy, 1e-3);
  EXPECT_EQ(work.sample(plan).seconds.size(), 128U);
}

TEST(Samples, keep_of_what_was_noted_at_every_call_what_belongs_to_them) {
  Samples samples;
  samples.seconds = {3, 4};
  samples.unsettled = {2};
  std::vector<int> noted{0, 1, 2, 3, 4};  // two warm-ups and an unsettled one first
  samples.keep_sampled(noted);
  EXPECT_EQ(noted, (std::vector<int>{3, 4}));
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

TEST(Samples, of_several_visits_are_all_kept_and_summarised_together) {
  Samples all;
  Samples first;
  first.seconds = {1, 2};
  first.unsettled = {9};
  first.warmups = 2;
  first.reached_target = true;
  first.wall_s = 0.5;
  all.append(first);
  EXPECT_TRUE(all.reached_target);
  Samples second = first;
  second.seconds = {3, 4, 5};
  second.reached_target = false;
  all.append(second);
  EXPECT_EQ(all.seconds, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(all.unsettled, (std::vector<double>{9, 9}));
  EXPECT_EQ(all.warmups, 4U);
  EXPECT_EQ(all.wall_s, 1);
  EXPECT_EQ(all.summary.median, 3);
  EXPECT_FALSE(all.reached_target) << "one visit did not";
}

TEST(ShareOf, several_visits_take_the_time_of_one_and_the_whole_plan_is_that_of_one) {
  const SamplingPlan plan{.ci_target = 0.02, .budget_s = 0.6, .max_samples = 512, .patience_s = 0.06};
  const SamplingPlan share = share_of(plan, 3);
  EXPECT_DOUBLE_EQ(share.budget_s, 0.2);
  EXPECT_DOUBLE_EQ(share.patience_s, 0.02);
  EXPECT_EQ(share.max_samples, 170U);
  EXPECT_EQ(share.least_samples, 4U);
  EXPECT_DOUBLE_EQ(share.ci_target, 0.02 * std::sqrt(3.0));
  EXPECT_EQ(share_of(plan, 1).budget_s, 0.6);
  EXPECT_EQ(share_of(plan, 1).least_samples, 8U);
}

TEST(ShareOf, a_slow_operation_is_sampled_four_times_and_has_no_interval) {
  FakeWork work({}, 1);
  const Samples samples =
      work.sample(share_of({.ci_target = 0.02, .budget_s = 0.6, .max_samples = 512, .warmups = 0}, 3));
  EXPECT_EQ(samples.seconds.size(), 4U);
  EXPECT_FALSE(samples.summary.ci95);
  EXPECT_FALSE(samples.reached_target);
}

}  // namespace
}  // namespace grainscope
