// Every case of the families of one transfer at a time that have no test of their own parts.

#include "family_fixture.hpp"

namespace grainscope::harness {
namespace {

class TransferFamilies : public FamilyTest {
 protected:
  void expect_all_to_measure(const Family& family) {
    std::size_t measured = 0;
    for (const Benchmark& benchmark : listed(family, Preset::smoke)) {
      SCOPED_TRACE(benchmark.id.name());
      if (const auto measurement = run(benchmark)) {
        ++measured;
        EXPECT_EQ(why_impossible(*measurement), "");
        EXPECT_GT(measurement->bytes, 0U);
        EXPECT_GT(measurement->samples.summary.median, 0);
      }
    }
    EXPECT_GT(measured, 0U);
  }
};

TEST_F(TransferFamilies, every_copy_within_the_host_measures) {
  expect_all_to_measure(transfer_host_copy());
}

TEST_F(TransferFamilies, pieces_in_a_peers_memory_and_in_its_own_measure) {
  expect_all_to_measure(grain_gpu_memory());
}

}  // namespace
}  // namespace grainscope::harness
