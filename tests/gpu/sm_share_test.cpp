// sm_share/gather and sm_share/split as the suite runs them, and clients of a daemon of the test's own.

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include "family_fixture.hpp"
#include "gnn/share_worker.hpp"
#include "grainscope/core/units.hpp"
#include "mps_fixture.hpp"

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

class SmShareFamilies : public FamilyTest {
 protected:
  void expect_all_to_measure(const Family& family) {
    for (const Benchmark& benchmark : listed(family, Preset::smoke)) {
      SCOPED_TRACE(benchmark.id.name());
      const auto measurement = run(benchmark);
      if (!measurement) {
        continue;
      }
      ++measured_;
      EXPECT_EQ(why_impossible(*measurement), "");
      const auto& counters = measurement->counters;
      EXPECT_GE(counters.at("given_sms"), 1);
      EXPECT_LE(counters.at("given_sms"), counters.at("available_sms"));
      EXPECT_GT(*measurement->link_bytes_least, 0U);
      EXPECT_TRUE(measurement->link_peak_gb_s.has_value());
      expect_lanes(*measurement);
    }
  }

  static void expect_lanes(const Measurement& measurement) {
    for (const LaneResult& lane : measurement.lanes) {
      ASSERT_EQ(lane.seconds.size(), measurement.samples.seconds.size());
      for (std::size_t i = 0; i < lane.seconds.size(); ++i) {
        EXPECT_LE(lane.seconds[i], measurement.samples.seconds[i] * 1.001) << lane.name;
      }
      EXPECT_GT(lane.alone_s.value_or(0), 0) << lane.name;
    }
    if (!measurement.lanes.empty()) {
      EXPECT_EQ(measurement.lanes.size(), 2U);
      EXPECT_GT(measurement.counters.at("rest_sms"), 0);
      EXPECT_GT(measurement.counters.at("gather_slowdown"), 0.5);
      EXPECT_GT(measurement.counters.at("compute_slowdown"), 0.5);
      EXPECT_LE(measurement.overlap.value_or(2), 1);
    }
  }

  static bool no_directory_is_left() {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path())) {
      if (entry.path().filename().string().starts_with("grainscope-mps-")) {
        return false;
      }
    }
    return true;
  }

  std::size_t measured_ = 0;
};

TEST_F(SmShareFamilies, every_gather_of_the_smoke_preset_measures) {
  expect_all_to_measure(sm_share_gather());
  EXPECT_GT(measured_, 0U);
  EXPECT_TRUE(no_directory_is_left());
}

TEST_F(SmShareFamilies, every_split_of_the_smoke_preset_measures) {
  expect_all_to_measure(sm_share_split());
  EXPECT_GT(measured_, 0U);
}

class MpsClients : public UnderMps<SmShareFamilies> {
 protected:
  [[nodiscard]] int sms_of_a_tenth() override {
    return ShareWorker(products(ShareBy::mps_percentage, 10), daemon_->client_variables()).seen_sms();
  }

  [[nodiscard]] ShareJob products(ShareBy by, double percent) const {
    ShareJob job;
    job.by = by;
    job.percent = percent;
    job.sms = static_cast<int>(percent / 100 * all_);
    job.node = machine_->topology.usable_nodes().front();
    job.products = 2;
    return job;
  }
  [[nodiscard]] ShareJob gather(ShareBy by, double percent) const {
    ShareJob job = products(by, percent);
    job.products = 0;
    job.width = 16;
    job.row_bytes = 1024;
    job.rows = 4096;
    job.span_bytes = 16 * kMiB;
    return job;
  }
};

TEST_F(MpsClients, have_the_percentage_that_was_asked_and_are_right) {
  int before = 0;
  for (const double percent : {5.0, 25.0, 50.0}) {
    ShareWorker worker(gather(ShareBy::mps_percentage, percent), daemon_->client_variables());
    EXPECT_GT(worker.seen_sms(), before) << percent;
    EXPECT_LE(worker.seen_sms(), percent / 100 * all_ + 8) << percent;
    EXPECT_EQ(worker.seen_sms(), worker.given_sms()) << percent;
    before = worker.seen_sms();
    EXPECT_GT(worker.alone(), 0);
    EXPECT_FALSE(worker.verify().empty());
  }
}

TEST_F(MpsClients, have_contexts_of_so_many_multiprocessors_where_the_driver_makes_them) {
  try {
    ShareWorker worker(gather(ShareBy::exec_affinity, 10), daemon_->client_variables());
    EXPECT_GE(worker.given_sms(), all_ / 10);
    EXPECT_LE(worker.given_sms(), all_ / 10 + 8);
    EXPECT_EQ(worker.seen_sms(), worker.given_sms());
    EXPECT_GT(worker.alone(), 0);
    EXPECT_FALSE(worker.verify().empty());
  } catch (const SkipError& error) {
    GTEST_SKIP() << error.what();
  }
}

TEST_F(MpsClients, of_both_sides_run_at_once) {
  ShareWorker producer(gather(ShareBy::mps_percentage, 10), daemon_->client_variables());
  ShareWorker consumer(products(ShareBy::mps_percentage, 90), daemon_->client_variables());
  for (int sample = 0; sample < 3; ++sample) {
    const SidesTimes times = run_together(producer, consumer);
    EXPECT_GE(times.seconds, times.first.seconds);
    EXPECT_GE(times.seconds, times.second.seconds);
    EXPECT_LT(times.seconds, 1);
  }
  EXPECT_FALSE(producer.verify().empty());
  EXPECT_FALSE(consumer.verify().empty());
}

TEST_F(MpsClients, that_train_are_right_beside_one_that_gathers) {
  ShareWorker producer(gather(ShareBy::mps_percentage, 10), daemon_->client_variables());
  ShareJob job = products(ShareBy::mps_percentage, 90);
  job.products = 0;
  job.steps = 4;
  ShareWorker consumer(job, daemon_->client_variables());
  EXPECT_GT(consumer.given_sms(), all_ / 2);
  for (int sample = 0; sample < 3; ++sample) {
    const SidesTimes times = run_together(producer, consumer);
    EXPECT_GE(times.seconds, times.second.seconds);
    EXPECT_LT(times.seconds, 1);
  }
  EXPECT_FALSE(producer.verify().empty());
  EXPECT_NE(consumer.verify().find("bit for bit"), std::string::npos);
}

TEST_F(MpsClients, that_are_killed_are_told_of_and_leave_nothing) {
  ShareWorker worker(products(ShareBy::mps_percentage, 50), daemon_->client_variables());
  kill(worker.pid(), SIGKILL);
  try {
    static_cast<void>(worker.alone());
    FAIL() << "it answered";
  } catch (const FailedError& error) {
    EXPECT_NE(std::string(error.what()).find("signal 9"), std::string::npos) << error.what();
  }
  const std::filesystem::path directory = daemon_->directory();
  daemon_->stop();
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace grainscope::harness
