// What the losses of training runs are held against, and what is said of their stages.

#include <gtest/gtest.h>

#include "grainscope/core/error.hpp"
#include "grainscope/core/statistics.hpp"
#include "pipeline_rows.hpp"

namespace grainscope::harness {
namespace {

using Losses = std::vector<double>;

class PipelineLosses : public testing::Test {
 protected:
  PipelineLosses() {
    work_.reference[1] = {first_[0], first_[1], first_[2]};
    on_gpu_.gpu = GpuTarget{};
    on_gpu_.gpus = {0};
  }

  std::string verify(const Losses& losses, const PipelineSite& site) {
    return verify_losses(losses, losses, work_, site);
  }
  [[nodiscard]] Losses with(std::size_t batch, double share_more) const {
    Losses losses = first_;
    losses[batch] *= 1 + share_more;
    return losses;
  }
  static bool says(const std::string& verification, const char* what) {
    return verification.find(what) != std::string::npos;
  }

  const Losses first_{2.0, 1.9, 1.8, 1.5, 1.2, 1.0, 0.9, 0.01};
  const PipelineSite on_cpu_;
  PipelineSite on_gpu_;
  TrainingWork work_;
};

TEST_F(PipelineLosses, of_the_first_steps_are_those_in_double_precision) {
  EXPECT_TRUE(says(verify(first_, on_cpu_), "double precision within 2e-5"));
  EXPECT_THROW(verify(with(2, 3e-5), on_cpu_), FailedError);
}

TEST_F(PipelineLosses, are_equal_with_and_without_overlap) {
  EXPECT_THROW(static_cast<void>(verify_losses(first_, with(7, 1e-9), work_, on_gpu_)), FailedError);
}

TEST_F(PipelineLosses, of_two_modes_on_a_gpu_agree_to_the_last_mini_batch) {
  EXPECT_FALSE(says(verify(first_, on_gpu_), "other devices")) << "there is none yet";
  EXPECT_NO_THROW(verify(with(7, 0.5e-5), on_gpu_));
  EXPECT_THROW(verify(with(7, 2e-5), on_gpu_), FailedError);
}

TEST_F(PipelineLosses, of_two_devices_agree_to_the_last_mini_batch) {
  verify(first_, on_cpu_);
  EXPECT_TRUE(says(verify(with(6, 0.5e-3), on_gpu_), "within 1e-3 of those on other devices"));
  EXPECT_THROW(verify(with(6, 2e-3), on_cpu_), FailedError);
  EXPECT_NO_THROW(verify(with(7, 5e-3), on_cpu_)) << "small ones may differ as one of a tenth";
  EXPECT_THROW(verify(with(7, 2e-2), on_cpu_), FailedError);
}

TEST_F(PipelineLosses, on_a_share_of_a_gpu_round_as_on_another_device) {
  const Losses share = with(6, 0.5e-3);
  const auto on_a_share = [&](const Losses& losses) {
    return verify_losses(losses, losses, work_, on_gpu_, Multiprocessors::some);
  };
  EXPECT_FALSE(says(on_a_share(share), "1e-3"));
  verify(first_, on_gpu_);  // what ran on a share is nobody's measure
  EXPECT_TRUE(says(on_a_share(share), "within 1e-3 of those on the whole GPU"));
  EXPECT_THROW(on_a_share(with(6, 2e-3)), FailedError);
}

TEST_F(PipelineLosses, of_other_numbers_of_gpus_are_others) {
  verify(first_, on_gpu_);
  PipelineSite two = on_gpu_;
  two.gpus = {0, 1};
  work_.reference[2] = {3.0};
  Losses others = first_;
  others[0] = 3.0;
  EXPECT_NO_THROW(verify(others, two));
}

TEST_F(PipelineLosses, fall) {
  Losses level(8, 2.0);
  work_.reference[1] = {2.0};
  EXPECT_THROW(verify(level, on_cpu_), FailedError);
}

// Stages of 1, 10 and 2, all ten times alike but for the slowest's spread; a pipeline of `run`.
Measurement overlapped(double spread, double run) {
  gnn::StageTimes stages;
  Measurement measurement;
  std::vector<double> runs;
  for (int i = 0; i < 10; ++i) {
    stages.sample_s.push_back(1);
    stages.gather_s.push_back(10 + spread * (i % 2 == 0 ? 1 : -1));
    stages.train_s.push_back(2);
    runs.push_back(run);
  }
  measurement.samples.summary = summarize(runs);
  add_overlap(stages, measurement);
  return measurement;
}

TEST(PipelineOverlap, is_what_is_hidden_of_what_could_be) {
  EXPECT_DOUBLE_EQ(overlapped(0, 10).counters.at("overlap"), 1);
  EXPECT_DOUBLE_EQ(overlapped(0, 13).counters.at("overlap"), 0);
  EXPECT_DOUBLE_EQ(overlapped(0.1, 11.5).counters.at("overlap"), 0.5);
}

TEST(PipelineOverlap, is_not_told_where_the_slowest_stage_hides_it) {
  EXPECT_FALSE(overlapped(2, 10).counters.contains("overlap")) << "give or take 2 of 3";
}

TEST(PipelineOverlap, is_not_told_where_a_pipeline_is_faster_than_its_slowest_stage) {
  EXPECT_FALSE(overlapped(0, 9.5).counters.contains("overlap"));
  EXPECT_DOUBLE_EQ(overlapped(0.1, 9.95).counters.at("overlap"), 3.05 / 3) << "1, as far as it is known";
}

}  // namespace
}  // namespace grainscope::harness
