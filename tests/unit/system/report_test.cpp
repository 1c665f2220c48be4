#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "contains.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/warnings.hpp"
#include "machine_tree.hpp"
#include "nvml_report.hpp"

namespace grainscope {
namespace {

using nlohmann::json;
using test::contains;
using test::h100;
using test::MachineTree;

Environment read(const MachineTree& tree, const NvmlReport& nvml) {
  cuda::RuntimeReport runtime;
  for (const NvmlDevice& gpu : nvml.devices) {
    cuda::DeviceProperties device;
    device.name = gpu.name.value_or("unnamed");
    device.uuid = gpu.uuid.value_or("");
    device.pci_bus_id = "0000:81:00.0";
    runtime.devices.push_back(device);
  }
  return read_environment(tree.roots(), Topology::read(tree.roots()), runtime, nvml);
}

std::string text_of(const Environment& environment) {
  return environment_text(environment, find_warnings(environment));
}

json json_of(const Environment& environment) {
  return environment_json(environment, find_warnings(environment));
}

std::size_t columns(const std::string& line) {
  std::size_t count = 0;
  for (const char byte : line) {
    count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80 ? 1 : 0;
  }
  return count;
}

TEST(EnvironmentText, names_the_machine_and_puts_warnings_first) {
  MachineTree tree;
  write_two_sockets(tree);
  NvmlReport nvml = h100();
  nvml.devices[0].link_width = 8;
  const std::string text = text_of(read(tree, nvml));
  EXPECT_EQ(text.rfind("Warnings\n", 0), 0U);
  for (const char* part :
       {"AMD EPYC 9554", "NVIDIA H100 80GB HBM3", "580.159.04", "the PCI Express link runs at x8 of",
        "governor performance", "1 of 2 links active, version 4.0, 26.6 GB/s", "0000:81:00.0",
        "Ubuntu 24.04.1 LTS"}) {
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  }
}

TEST(EnvironmentText, fits_in_100_columns) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.frequency_policy(1, "a-driver-of-an-uncommonly-long-name-that-goes-on-and-on", "powersave");
  for (const std::string& line : sysfs::split_lines(text_of(read(tree, h100())))) {
    EXPECT_LE(columns(line), 100U) << line;
  }
}

TEST(EnvironmentText, an_empty_machine_reads_unknown_and_never_zero_or_ok) {
  MachineTree tree;
  const std::string text = text_of(read(tree, {}));
  EXPECT_TRUE(contains(text, "frequency         unknown (not exposed)")) << text;
  EXPECT_TRUE(contains(text, "model             unknown (not exposed)")) << text;
  EXPECT_TRUE(contains(text, "total             unknown (not exposed)")) << text;
  EXPECT_FALSE(contains(text, " ok")) << text;
  EXPECT_FALSE(contains(text, "0.00 GHz")) << text;
  EXPECT_FALSE(contains(text, " 0 B")) << text;
}

TEST(EnvironmentText, a_gpu_that_tells_nothing_reads_unknown) {
  MachineTree tree;
  NvmlReport nvml;
  nvml.devices.emplace_back();
  const std::string text = text_of(read(tree, nvml));
  EXPECT_TRUE(contains(text, "now unknown, with this slot at most unknown")) << text;
  EXPECT_TRUE(contains(text, "ECC unknown (not exposed)")) << text;
}

TEST(EnvironmentText, keeps_private_things_to_itself) {
  MachineTree tree;
  write_two_sockets(tree);
  const Environment environment = read(tree, h100());
  for (const std::string& report : {text_of(environment), json_of(environment).dump()}) {
    EXPECT_FALSE(contains(report, "S3CR3TSERIAL"));
    EXPECT_FALSE(contains(report, "UUID=secret")) << "the rest of the kernel command line";
    EXPECT_TRUE(contains(report, "iommu=pt"));
  }
}

TEST(EnvironmentJson, has_what_the_schema_requires) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.frequency_policy(1, "x", "powersave");
  const json report = json_of(read(tree, h100()));
  EXPECT_EQ(report.at("cpu").at("model"), "AMD EPYC 9554");
  ASSERT_FALSE(report.at("cpu").at("caches").empty());
  for (const json& cache : report.at("cpu").at("caches")) {
    EXPECT_TRUE(cache.at("level").is_number_integer());
    EXPECT_TRUE(cache.at("type").is_string());
    EXPECT_TRUE(cache.at("bytes").is_number_integer());
    EXPECT_TRUE(cache.at("shared_by").is_number_integer());
  }
  EXPECT_EQ(report.at("driver").at("version"), "580.159.04");
  EXPECT_EQ(report.at("gpus").at(0).at("name"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(report.at("gpus").at(0).at("numa_node"), 1);
  ASSERT_FALSE(report.at("warnings").empty());
  for (const json& warning : report.at("warnings")) {
    EXPECT_EQ(warning.size(), 5U) << "the schema allows no more fields";
    for (const char* key : {"id", "severity", "finding", "effect", "remedy"}) {
      EXPECT_TRUE(warning.at(key).is_string()) << key;
    }
  }
}

TEST(EnvironmentJson, unknown_is_null) {
  MachineTree tree;
  NvmlReport nvml;
  nvml.devices.emplace_back();
  const json report = json_of(read(tree, nvml));
  EXPECT_TRUE(report.at("cpu").at("model").is_null());
  EXPECT_TRUE(report.at("cpu").at("frequency_policies").is_null());
  EXPECT_TRUE(report.at("cpu").at("boost").is_null());
  EXPECT_TRUE(report.at("memory").at("total_bytes").is_null());
  EXPECT_TRUE(report.at("driver").at("version").is_null());
  EXPECT_TRUE(report.at("gpus").at(0).at("numa_node").is_null());
  // The GPU of NVML has no identity, so it is not joined to the one that CUDA shows.
  ASSERT_EQ(report.at("gpus").size(), 2U);
  EXPECT_TRUE(report.at("gpus").at(0).at("nvml").is_null());
  EXPECT_TRUE(report.at("gpus").at(1).at("nvml").at("link_width").is_null());
  EXPECT_TRUE(report.at("gpus").at(1).at("nvml").at("processes").is_null());
}

TEST(EnvironmentJson, text_that_is_no_utf8_does_not_spoil_the_file) {
  MachineTree tree;
  NvmlReport nvml = h100();
  nvml.devices[0].processes = std::vector<NvmlProcess>{{1, "bad\xff name", std::nullopt, "compute"}};
  EXPECT_NO_THROW((void)json_of(read(tree, nvml)).dump());
}

}  // namespace
}  // namespace grainscope
