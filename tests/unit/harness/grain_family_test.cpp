// What grain/pieces lists for machines with a GPU, which a test need not have.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"
#include "transfer/grain.hpp"

namespace grainscope::harness {
namespace {

using test::text_of;

std::vector<Benchmark> grain_cases(const Machine& machine, Preset preset) {
  return test::listed({grain_pieces()}, machine, preset, false);
}

std::uint64_t number(const Benchmark& benchmark, const char* key) {
  return static_cast<std::uint64_t>(std::get<std::int64_t>(benchmark.id.axis(key)));
}

std::map<std::string, std::set<std::uint64_t>> grains_by_method(Preset preset) {
  std::map<std::string, std::set<std::uint64_t>> found;
  for (const Benchmark& benchmark : grain_cases(test::machine_with_gpus(1), preset)) {
    EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
    found[text_of(benchmark, "method") + " " + text_of(benchmark, "path")].insert(number(benchmark, "grain"));
  }
  return found;
}

TEST(Grains, every_preset_has_every_method_and_each_on_the_paths_that_it_has) {
  for (const Preset preset :
       {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
    std::set<std::string> found;
    for (const auto& [method, grains] : grains_by_method(preset)) {
      found.insert(method);
    }
    const std::set<std::string> wanted{"copy_engine host_to_gpu",
                                       "copy_engine gpu_to_host",
                                       "pageable_copy host_to_gpu",
                                       "pageable_copy gpu_to_host",
                                       "batch host_to_gpu",
                                       "batch gpu_to_host",
                                       "graph host_to_gpu",
                                       "graph gpu_to_host",
                                       "zero_copy_random host_to_gpu",
                                       "kernel_write_random gpu_to_host",
                                       "managed_prefetch host_to_gpu",
                                       "managed_prefetch gpu_to_host",
                                       "managed_demand host_to_gpu"};
    EXPECT_EQ(found, wanted) << name(preset);
  }
}

TEST(Grains, a_full_run_goes_from_32_bytes_to_64_mebibytes_and_paper_has_every_octave) {
  for (const Preset preset : {Preset::full, Preset::paper}) {
    for (const auto& [method, grains] : grains_by_method(preset)) {
      const bool prefetch = method.starts_with("managed_prefetch");
      const bool slow =
          method.starts_with("managed") || method.starts_with("batch") || method.starts_with("graph");
      EXPECT_EQ(*grains.begin(), prefetch ? 4 * kKiB : 32) << method;
      EXPECT_EQ(*grains.rbegin(), 64 * kMiB) << method;
      const std::size_t every = prefetch ? 15 : 22;
      const std::size_t fewer = prefetch ? 8 : 11;
      EXPECT_EQ(grains.size(), preset == Preset::full && slow ? fewer : every) << method;
    }
  }
}

TEST(Grains, a_quick_run_asks_a_few_of_the_methods_that_take_longest_to_prepare) {
  for (const auto& [method, grains] : grains_by_method(Preset::quick)) {
    if (method.starts_with("batch") || method.starts_with("graph")) {
      EXPECT_EQ(grains.size(), 4U) << method;
    } else if (method.starts_with("managed") || method.starts_with("pageable")) {
      EXPECT_EQ(grains.size(), 5U) << method;
    }
  }
}

TEST(Grains, bytes_are_whole_pieces_and_demand_is_of_memory_that_holds_each_in_a_block_of_its_own) {
  for (const Benchmark& benchmark : grain_cases(test::machine_with_gpus(1), Preset::full)) {
    const std::uint64_t grain = number(benchmark, "grain");
    const std::uint64_t bytes = number(benchmark, "bytes");
    EXPECT_EQ(bytes % grain, 0U) << benchmark.id.name();
    EXPECT_LE(bytes, 64 * kMiB) << benchmark.id.name();
    if (text_of(benchmark, "method") == "managed_demand") {
      EXPECT_EQ(benchmark.needs.managed_bytes, 64 * kMiB) << benchmark.id.name();
      EXPECT_EQ(bytes, std::min<std::uint64_t>(32 * grain, 64 * kMiB)) << benchmark.id.name();
    }
    if (text_of(benchmark, "method") == "batch" || text_of(benchmark, "method") == "graph") {
      EXPECT_GE(benchmark.needs.host_bytes, 2 * bytes) << benchmark.id.name();
      EXPECT_GE(benchmark.needs.device_bytes, 2 * bytes) << benchmark.id.name();
    }
  }
}

// One question, of pieces of one size, can be asked of a copy each, of a batch and of a kernel.
TEST(Grains, are_those_of_batches_and_of_the_gpus_memory_too) {
  for (const Preset preset : {Preset::quick, Preset::full}) {
    std::map<std::string, std::set<std::uint64_t>> sizes;
    for (const Benchmark& benchmark : test::listed({grain_pieces(), grain_gpu_memory(), shape_batch()},
                                                   test::machine_with_gpus(2), preset, false)) {
      const std::string& family = benchmark.id.family;
      const bool own = family == "grain/gpu_memory";
      sizes[family + " " + text_of(benchmark, own ? "memory" : "method") + " " +
            text_of(benchmark, own ? "direction" : "path")]
          .insert(number(benchmark, family == "shape/batch" ? "piece" : "grain"));
    }
    const std::set<std::uint64_t> common = sizes.at("shape/batch batch host_to_gpu");
    EXPECT_EQ(common.size(), preset == Preset::quick ? 3U : 7U);
    for (const auto& [where, there] : sizes) {
      for (const std::uint64_t size : common) {
        const bool page = size >= 4 * kKiB || where.find("managed_prefetch") == std::string::npos;
        EXPECT_EQ(there.contains(size), page) << where << " " << size << " " << name(preset);
      }
    }
  }
}

TEST(Grains, every_transfer_of_a_grain_can_be) {
  for (const GrainMethod& method : grain_methods()) {
    for (std::uint64_t grain = 4 * kKiB; grain <= kLargestGrain; grain *= 2) {
      EXPECT_EQ(why_no_grain(method, grain), "") << method.name << " " << grain;
      EXPECT_NO_THROW(require_possible(grain_transfer(method, 0, 0, grain))) << method.name << " " << grain;
    }
  }
}

TEST(Grains, the_user_chooses_are_taken_by_the_methods_that_have_them) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::quick, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  scope.axes = {{"grain", "4,16,3KiB,8KiB"}};
  std::map<std::string, std::set<std::uint64_t>> grains;
  std::set<std::string> left_out;
  for (const Benchmark& benchmark : list_all({grain_pieces()}, machine, scope, &left_out)) {
    grains[text_of(benchmark, "method")].insert(number(benchmark, "grain"));
  }
  using Sizes = std::set<std::uint64_t>;
  EXPECT_EQ(grains["copy_engine"], (Sizes{4, 16, 8 * kKiB}));
  EXPECT_EQ(grains["zero_copy_random"], (Sizes{16, 8 * kKiB}));  // a lane loads 16 bytes
  EXPECT_EQ(grains["managed_prefetch"], Sizes{8 * kKiB});        // which moves pages
  EXPECT_TRUE(left_out.contains("a piece is a power of two of bytes, not 3072"));
}

TEST(Grains, of_a_kernel_go_one_way) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::quick, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  scope.axes = {{"method", "zero_copy_random"}, {"path", "gpu_to_host"}};
  std::set<std::string> left_out;
  EXPECT_TRUE(list_all({grain_pieces()}, machine, scope, &left_out).empty());
  EXPECT_TRUE(left_out.contains("zero_copy_random goes the other way: path is not gpu_to_host"));
}

TEST(Grains, each_method_says_how_it_is_timed) {
  std::set<std::string> timed;
  for (const GrainMethod& method : grain_methods()) {
    timed.insert(explain(method).timed);
  }
  EXPECT_EQ(timed.size(),
            7U);  // a copy, one of pageable memory, a batch, a graph, a kernel, a prefetch, a fault
}

// Every case is listed, and those of a method that is not there say why.
void expect_skips(const Machine& machine, const std::set<std::string>& methods, const std::string& reason) {
  std::set<std::string> skipped;
  for (const Benchmark& benchmark : grain_cases(machine, Preset::quick)) {
    if (!benchmark.skip.empty()) {
      skipped.insert(text_of(benchmark, "method"));
      EXPECT_NE(benchmark.skip.find(reason), std::string::npos) << benchmark.skip;
    }
  }
  EXPECT_EQ(skipped, methods);
}

TEST(Grains, batches_need_cuda_12_8_of_toolkit_and_driver) {
  for (const bool old_toolkit : {true, false}) {
    Machine machine = test::machine_with_gpus(1);
    (old_toolkit ? machine.runtime.toolkit_version : machine.runtime.driver_version) = 12040;
    expect_skips(machine, {"batch"}, "needs CUDA 12.8");
  }
}

TEST(Grains, managed_memory_that_does_not_migrate_is_skipped) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.gpus[0].cuda->concurrent_managed_access = false;
  expect_skips(machine, {"managed_prefetch", "managed_demand"}, "does not migrate on demand");
}

TEST(Grains, kernels_need_mapped_memory_and_copies_do_not) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.driver.confidential_computing = true;
  expect_skips(machine, {"zero_copy_random", "kernel_write_random"}, "confidential computing");
}

transfer::Transfer demand(std::uint64_t bytes, std::uint64_t piece, std::uint64_t stride) {
  transfer::Transfer transfer = grain_transfer(grain_methods().back(), 0, 0, 128);
  transfer.bytes = bytes;
  transfer.piece_bytes = piece;
  transfer.stride_bytes = stride;
  return transfer;
}

TEST(PiecesOnDemand, that_overlap_or_are_no_multiple_of_16_bytes_are_refused) {
  EXPECT_NO_THROW(require_possible(demand(64, 32, 4096)));
  EXPECT_THROW(require_possible(demand(64, 32, 16)), UsageError);
  EXPECT_THROW(require_possible(demand(64, 32, 0)), UsageError);
  EXPECT_THROW(require_possible(demand(64, 0, 4096)), UsageError);
  EXPECT_THROW(require_possible(demand(80, 32, 4096)), UsageError);
  EXPECT_THROW(require_possible(demand(40, 20, 4096)), UsageError);
  EXPECT_THROW(require_possible(demand(64, 32, 4100)), UsageError);
}

TEST(PiecesOnDemand, that_lie_apart_come_by_faults_from_the_host_alone) {
  transfer::Transfer prefetch = demand(64, 32, 4096);
  prefetch.engine = transfer::Engine::prefetch;
  EXPECT_THROW(require_possible(prefetch), UsageError);
  transfer::Transfer back = demand(64, 32, 4096);
  std::swap(back.source, back.destination);
  EXPECT_THROW(require_possible(back), UsageError);
  transfer::Transfer peer = demand(64, 32, 4096);
  peer.source = transfer::Endpoint::gpu(transfer::Placement::managed, 1);
  EXPECT_THROW(require_possible(peer), UsageError);
}

TEST(PiecesOnDemand, take_the_memory_that_they_lie_in) {
  EXPECT_EQ(demand(64, 32, 4096).memory_bytes(), 8192U);
  transfer::Transfer copy;
  copy.bytes = 64;
  copy.piece_bytes = 32;
  EXPECT_EQ(copy.memory_bytes(), 64U);
}

}  // namespace
}  // namespace grainscope::harness
