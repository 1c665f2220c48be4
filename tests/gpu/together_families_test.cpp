// Every case of the families of several transfers at once, as the suite would run it.

#include <set>
#include <string>
#include <utility>

#include "family_fixture.hpp"

namespace grainscope::harness {
namespace {

class TogetherFamilies : public FamilyTest {
 protected:
  // Runs every case that can run here.
  void expect_all_to_measure(const Family& family) {
    for (const Benchmark& benchmark : listed(family, Preset::smoke)) {
      SCOPED_TRACE(benchmark.id.name());
      const auto measurement = run(benchmark);
      if (!measurement) {
        continue;
      }
      ++measured_;
      EXPECT_EQ(why_impossible(*measurement), "");
      expect_lanes(*measurement);
      const bool both_ways = benchmark.id.name().find("duplex") != std::string::npos;
      EXPECT_TRUE(!both_ways || goes_both_ways(*measurement));
    }
  }

  // Each lane moved its bytes in its own time, within that of all.
  static void expect_lanes(const Measurement& measurement) {
    EXPECT_TRUE(measurement.lanes.size() == 1 ||
                measurement.verification.find("every lane") != std::string::npos)
        << measurement.verification;
    std::uint64_t bytes = 0;
    for (const LaneResult& lane : measurement.lanes) {
      EXPECT_NE(lane.from, lane.to) << lane.name;
      EXPECT_GT(lane.bytes, 0U) << lane.name;
      ASSERT_EQ(lane.seconds.size(), measurement.samples.seconds.size()) << lane.name;
      for (std::size_t i = 0; i < lane.seconds.size(); ++i) {
        EXPECT_GT(lane.seconds[i], 0) << lane.name;
        EXPECT_LE(lane.seconds[i], measurement.samples.seconds[i] * 1.001) << lane.name;
      }
      bytes += lane.bytes;
    }
    EXPECT_EQ(bytes, measurement.bytes);
    EXPECT_GE(measurement.overlap.value_or(-1), 0);
  }

  // For every lane there is one the other way.
  static bool goes_both_ways(const Measurement& measurement) {
    std::multiset<std::pair<std::string, std::string>> there;
    std::multiset<std::pair<std::string, std::string>> back;
    for (const LaneResult& lane : measurement.lanes) {
      there.insert({lane.from, lane.to});
      back.insert({lane.to, lane.from});
    }
    return there == back;
  }

  std::size_t measured_ = 0;
};

TEST_F(TogetherFamilies, every_duplex_case_measures_both_ways) {
  expect_all_to_measure(transfer_duplex());
  EXPECT_GT(measured_, 0U);
}

// Kernels that each filled the GPU would run one after the other: the partner would keep nothing.
TEST_F(TogetherFamilies, partners_of_a_copy_run_beside_it) {
  for (const Benchmark& benchmark : listed(contention(), Preset::quick)) {
    SCOPED_TRACE(benchmark.id.name());
    if (benchmark.id.name().find("/beside_") == std::string::npos) {
      continue;
    }
    const auto measurement = run(benchmark);
    if (!measurement) {
      continue;
    }
    ++measured_;
    ASSERT_TRUE(measurement->counters.contains("partner_kept"));
    EXPECT_GT(measurement->counters.at("partner_kept"), 0.25);
    EXPECT_LT(measurement->counters.at("partner_kept"), 1.2);
  }
  EXPECT_GT(measured_, 0U);
}

TEST_F(TogetherFamilies, every_collective_case_measures_every_lane) {
  expect_all_to_measure(transfer_collective());
  if (measured_ == 0) {
    GTEST_SKIP() << "needs two GPUs";
  }
}

}  // namespace
}  // namespace grainscope::harness
