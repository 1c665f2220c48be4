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

// One line of each kind, and lanes that no family puts side by side.
TEST_F(TransferFamilies, what_is_written_measures) {
  Scope scope = make_scope(Preset::smoke, gpu_targets(*machine_, {}), false, node_targets(*machine_, {}));
  for (const char* line :
       {"host(registered) -> gpu:0 by sm, 64KiB, 1MiB", "gpu:0 -> host(write_combined) by sm, 1MiB, blocks 8",
        "host(write_combined) -> gpu:0(registers) by sm, 1MiB, width 16, access strided, threads 256",
        "host(mapped) -> gpu:0 by copy_engine, 1MiB, pieces 4KiB, flush",
        "host(pinned) -> gpu:0 by copy_engine, 1MiB, submission",
        "host(mapped) -> gpu:0(registers) by sm, 1MiB, accessed_by",
        "host(mapped) -> gpu:0(registers) by sm, 1MiB, access scattered, pieces 4KiB",
        "gpu:0 -> gpu:0(registers) by sm, 1MiB", "host(managed) -> gpu:0 by fault, 1MiB",
        "host(managed) -> gpu:0 by fault, 64KiB, pieces 4KiB, stride 64KiB",
        "gpu:0 -> host(managed) by fault, 1MiB, host_threads 2", "host(managed) -> gpu:0 by prefetch, 1MiB",
        "host(registered) -> gpu:0 by sm, 1MiB; gpu:0 -> host(pageable) by copy_engine, 4MiB",
        "host(pinned) -> gpu:0 by copy_engine, 4MiB; gpu:0 -> gpu:0(registers) by sm, background, repeats "
        "20; "
        "compute(gpu:0), 2ms"}) {
    const auto written = transfer::parse_written(line);
    scope.transfers.insert(scope.transfers.end(), written.begin(), written.end());
  }
  std::size_t measured = 0;
  for (const Benchmark& benchmark : list_all({transfer_written()}, *machine_, scope)) {
    SCOPED_TRACE(benchmark.id.name());
    if (const auto measurement = run(benchmark)) {
      ++measured;
      EXPECT_EQ(why_impossible(*measurement), "");
      EXPECT_FALSE(measurement->verification.empty());
      EXPECT_GT(measurement->samples.summary.median, 0);
      EXPECT_EQ(measurement->bytes == 0, benchmark.id.name().find("submission") != std::string::npos);
    }
  }
  EXPECT_GE(measured, 10U);
}

TEST_F(TransferFamilies, pieces_in_a_peers_memory_and_in_its_own_measure) {
  expect_all_to_measure(grain_gpu_memory());
}

}  // namespace
}  // namespace grainscope::harness
