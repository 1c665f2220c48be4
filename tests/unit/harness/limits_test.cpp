// Physical limits: what they are of, that every row of the host has one, and that times which are half of
// what was measured are caught, family by family.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/host_memory.hpp"
#include "harness/machine.hpp"
#include "harness/selection.hpp"
#include "host/case.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

json stored(const std::string& name) {
  std::ifstream file(std::string(GRAINSCOPE_REFERENCE) + "/" + name);
  return json::parse(file);
}

// The GPU of a stored result, as far as limits need it.
Machine machine_of(const json& result) {
  Machine machine = test::machine_without_gpu();
  const json& told = result.at("context").at("environment").at("gpus").at(0).at("cuda");
  cuda::DeviceProperties device;
  device.sm_count = told.at("sm_count");
  device.l2_bytes = told.at("l2_bytes");
  device.memory_clock_hz = told.at("memory_clock_hz");
  device.memory_bus_width_bits = told.at("memory_bus_width_bits");
  machine.environment.gpus.emplace_back().cuda = device;
  return machine;
}

// A stored row whose samples all took its median, multiplied by `factor`.
Measurement measured(const json& row, const Machine& machine, double factor) {
  Measurement measurement;
  measurement.samples.seconds.assign(8, row.at("median_s").get<double>() * factor);
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.verification = row.at("verification");
  measurement.bytes = row.value("bytes", std::uint64_t{0});
  measurement.operations = row.value("operations", std::uint64_t{0});
  for (const char* const field : {"link_bytes_least", "link_bytes"}) {  // today's name and that of before
    if (row.contains(field)) {
      measurement.link_bytes_least = row[field];
    }
  }
  if (row.contains("limit_gb_s")) {
    measurement.limit = PhysicalLimit{row["limit_gb_s"], row["limit"]};
  } else if (row["case"]["family"] == "grain/gpu_memory") {
    measurement.limit = gpu_memory_limit(machine, 0, measurement.bytes);
  }
  return measurement;
}

TEST(PhysicalLimits, of_links_and_memories_catch_half_the_time_in_each_family) {
  const json result = stored("h100-quick.json");
  const Machine machine = machine_of(result);
  std::set<std::string> limited;
  std::set<std::string> caught;
  for (const json& row : result.at("benchmarks")) {
    if (row.at("status") != "ok" || row.at("label") != "measured") {
      continue;
    }
    const std::string family = row.at("case").at("family");
    if (!measured(row, machine, 1).limit || family.starts_with("host/")) {
      continue;
    }
    limited.insert(family);
    EXPECT_EQ(why_impossible(measured(row, machine, 1)), "") << row["name"];
    if (why_impossible(measured(row, machine, 0.5)).starts_with("impossible")) {
      caught.insert(family);
    }
  }
  // Of these no row of this run comes near its limit: a copy by the driver's one thread of the CPU, a gather
  // beside a step that takes longer, and algorithms that need few of their edges.
  for (const char* const slow :
       {"transfer/host_copy", "sm_share/split", "lean/bfs", "lean/cc", "lean/sssp"}) {
    EXPECT_FALSE(caught.contains(slow));
    limited.erase(slow);
  }
  EXPECT_EQ(caught, limited);
  EXPECT_GT(caught.size(), 16U);
}

TEST(PhysicalLimits, of_a_gpus_memory_count_what_its_cache_may_hold) {
  Machine machine = test::machine_without_gpu();
  cuda::DeviceProperties device;
  device.sm_count = 100;
  device.l2_bytes = 50 * kMiB;
  device.memory_clock_hz = 1'000'000'000;
  device.memory_bus_width_bits = 4096;  // 1024 GB/s
  machine.environment.gpus.emplace_back().cuda = device;
  EXPECT_DOUBLE_EQ(gpu_memory_limit(machine, 0, 100 * kMiB)->gb_s, 2048);
  EXPECT_NEAR(gpu_memory_limit(machine, 0, 500 * kMiB)->gb_s, 1024 / 0.9, 1e-9);
  EXPECT_DOUBLE_EQ(gpu_memory_limit(machine, 0, 50 * kMiB)->gb_s, 38'400) << "all may come from the cache";
  EXPECT_DOUBLE_EQ(local_copy_limit(machine, 0, kMiB)->gb_s, 38'400);
  EXPECT_DOUBLE_EQ(local_copy_limit(machine, 0, 500 * kMiB)->gb_s, 512);
  EXPECT_FALSE(gpu_memory_limit(machine, 1, kMiB));
}

class HostLimits : public testing::Test {
 protected:
  Measurement run(const Benchmark& benchmark) {
    LinkPeaks peaks(machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
    Session session(machine_, {.ci_target = 0.1, .budget_s = 0.01, .warmups = 1}, peaks, nullptr,
                    [] { return false; });
    return benchmark.run(session);
  }
  Machine machine_ = test::machine_without_gpu();
};

TEST_F(HostLimits, every_row_of_the_host_has_one_and_no_copy_of_24_tb_a_second_passes) {
  std::size_t ran = 0;
  for (const Benchmark& benchmark :
       test::listed({host_memcpy(), host_latency(), host_first_touch(), host_flush()}, machine_,
                    Preset::smoke, true)) {
    if (!benchmark.skip.empty()) {
      continue;
    }
    Measurement measurement;
    try {
      measurement = run(benchmark);
    } catch (const std::exception&) {
      continue;  // no huge pages here
    }
    ++ran;
    ASSERT_TRUE(measurement.limit) << benchmark.id.name();
    EXPECT_EQ(why_impossible(measurement), "") << benchmark.id.name();
    // Of many threads more is possible.
    if (benchmark.id.family == "host/memcpy" && test::text_of(benchmark, "threads") == "1") {
      EXPECT_LT(measurement.limit->gb_s, 24'000);
    }
  }
  EXPECT_GT(ran, 3U);
}

TEST_F(HostLimits, a_cycle_is_that_of_a_cpu_between_one_and_six_gigahertz) {
  EXPECT_GT(cycle_s(), 1 / 6.5e9);
  EXPECT_LT(cycle_s(), 1 / 0.8e9);
}

}  // namespace
}  // namespace grainscope::harness
