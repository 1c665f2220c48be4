// Every case of the families of latencies and of calls, as the suite would run it.

#include <string>

#include "family_fixture.hpp"

namespace grainscope::harness {
namespace {

class LatencyFamilies : public FamilyTest {
 protected:
  void expect_all_to_measure(const Family& family, Preset preset) {
    std::size_t measured = 0;
    for (const Benchmark& benchmark : listed(family, preset)) {
      SCOPED_TRACE(benchmark.id.name());
      const auto measurement = run(benchmark);
      if (measurement) {
        ++measured;
        EXPECT_EQ(why_impossible(*measurement), "");
        EXPECT_GT(measurement->operations, 0U);
      }
    }
    EXPECT_GT(measured, 0U);
  }
};

TEST_F(LatencyFamilies, every_chase_measures) {
  expect_all_to_measure(latency_chase(), Preset::quick);
}

TEST_F(LatencyFamilies, every_flag_measures) {
  expect_all_to_measure(latency_flag(), Preset::quick);
}

TEST_F(LatencyFamilies, every_managed_touch_measures) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  expect_all_to_measure(latency_managed_touch(), Preset::quick);
}

TEST_F(LatencyFamilies, every_call_measures) {
  expect_all_to_measure(call(), Preset::smoke);
}

TEST_F(LatencyFamilies, a_planted_load_faster_than_light_is_called_impossible) {
  for (const Benchmark& benchmark : listed(latency_chase(), Preset::smoke)) {
    auto measurement = run(benchmark);
    if (measurement) {
      measurement->operations *= 1000;
      EXPECT_TRUE(why_impossible(*measurement).starts_with("impossible")) << benchmark.id.name();
    }
  }
}

}  // namespace
}  // namespace grainscope::harness
