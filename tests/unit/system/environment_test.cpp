#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "../../testing/says.hpp"
#include "grainscope/system/environment.hpp"
#include "grainscope/system/sysfs.hpp"
#include "grainscope/system/warnings.hpp"
#include "machine_tree.hpp"
#include "nvml_report.hpp"

namespace grainscope {
namespace {

using test::MachineTree;

Environment read_machine(const MachineTree& tree, const cuda::RuntimeReport& runtime = {},
                         const NvmlReport& nvml = {}) {
  return read_environment(tree.roots(), Topology::read(tree.roots()), runtime, nvml);
}

cuda::DeviceProperties cuda_gpu(int ordinal, const std::string& uuid, const std::string& bus_id) {
  cuda::DeviceProperties device;
  device.ordinal = ordinal;
  device.name = "CUDA name";
  device.uuid = uuid;
  device.pci_bus_id = bus_id;
  return device;
}

NvmlDevice nvml_gpu(const std::string& uuid, const std::string& bus_id) {
  NvmlDevice device;
  device.name = "NVML name";
  device.uuid = uuid;
  device.pci_bus_id = bus_id;
  return device;
}

TEST(Environment, policies_steered_alike_are_one_entry) {
  MachineTree tree;
  write_two_sockets(tree);
  const Environment same = read_machine(tree);
  ASSERT_EQ(same.cpu.policies.size(), 1U);
  EXPECT_EQ(same.cpu.policies[0].cpus.size(), 8U);
  EXPECT_EQ(same.cpu.policies[0].governor, "performance");
  EXPECT_EQ(same.cpu.policies[0].slowest_now_khz, 2500000U);
  tree.frequency_policy(3, "acpi-cpufreq", "powersave");
  const Environment mixed = read_machine(tree);
  ASSERT_EQ(mixed.cpu.policies.size(), 2U);
  EXPECT_EQ(mixed.cpu.policies[1].cpus, std::vector<int>{3});
}

TEST(Environment, a_policy_of_several_cpus_lists_them) {
  MachineTree tree;
  tree.frequency_policy(0, "x", "performance")
      .file("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1 2");
  EXPECT_EQ(read_machine(tree).cpu.policies.at(0).cpus, (std::vector<int>{0, 1, 2}));
}

TEST(Environment, no_cpufreq_is_no_policy) {
  MachineTree tree;
  write_container(tree);
  EXPECT_TRUE(read_machine(tree).cpu.policies.empty());
  tree.file("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0");
  EXPECT_TRUE(read_machine(tree).cpu.policies.empty()) << "an empty policy tells nothing";
}

TEST(Environment, boost_is_read_from_whoever_tells) {
  MachineTree tree;
  EXPECT_EQ(read_machine(tree).cpu.boost, std::nullopt);
  tree.file("sys/devices/system/cpu/cpufreq/boost", "1");
  EXPECT_EQ(read_machine(tree).cpu.boost, true);
  tree.file("sys/devices/system/cpu/intel_pstate/no_turbo", "1");
  tree.file("sys/devices/system/cpu/intel_pstate/status", "active");
  const Environment intel = read_machine(tree);
  EXPECT_EQ(intel.cpu.boost, false);
  EXPECT_EQ(intel.cpu.boost_source, "intel_pstate/no_turbo");
  EXPECT_EQ(intel.cpu.pstate_status, "intel_pstate active");
}

TEST(Environment, the_model_is_found_on_every_architecture) {
  MachineTree tree;
  tree.file("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f");
  EXPECT_EQ(read_machine(tree).cpu.model, "Neoverse V2");
  EXPECT_EQ(read_machine(tree).cpu.vendor, "Arm");
  tree.file("proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER9, altivec supported");
  EXPECT_EQ(read_machine(tree).cpu.model, "POWER9, altivec supported");
  tree.file("proc/cpuinfo", "");
  EXPECT_EQ(read_machine(tree).cpu.model, std::nullopt);
}

TEST(Environment, an_empty_machine_is_all_unknown) {
  MachineTree tree;
  const Environment environment = read_machine(tree);
  EXPECT_EQ(environment.cpu.model, std::nullopt);
  EXPECT_EQ(environment.cpu.smt_active, std::nullopt);
  EXPECT_EQ(environment.cpu.isolated, std::nullopt);
  EXPECT_EQ(environment.memory.total_bytes, std::nullopt);
  EXPECT_EQ(environment.memory.numa_balancing, std::nullopt);
  EXPECT_EQ(environment.memory.transparent_huge, std::nullopt);
  EXPECT_EQ(environment.memory.memlock_bytes, std::nullopt);
  EXPECT_EQ(environment.kernel.clock_source, std::nullopt);
  EXPECT_EQ(environment.kernel.virtual_machine, std::nullopt);
  EXPECT_EQ(environment.kernel.iommu_units, std::nullopt);
  EXPECT_EQ(environment.load.average_1, std::nullopt);
  EXPECT_EQ(environment.load.pressure.cpu_some, std::nullopt);
  EXPECT_EQ(environment.driver.version, std::nullopt);
}

TEST(Environment, malformed_files_are_unknown) {
  MachineTree tree;
  write_two_sockets(tree);
  for (const char* text : {"", "garbage", "99999999999999999999999"}) {
    tree.file("proc/sys/kernel/numa_balancing", text).file("proc/sys/kernel/randomize_va_space", text);
    tree.file("proc/loadavg", text)
        .file("proc/meminfo", text)
        .file("sys/devices/system/cpu/smt/active", text);
    tree.file("sys/kernel/mm/transparent_hugepage/enabled", text).file("proc/pressure/cpu", text);
    const Environment environment = read_machine(tree);
    EXPECT_EQ(environment.memory.numa_balancing, std::nullopt) << text;
    EXPECT_EQ(environment.kernel.address_randomisation, std::nullopt) << text;
    EXPECT_EQ(environment.load.average_1, std::nullopt) << text;
    EXPECT_EQ(environment.memory.total_bytes, std::nullopt) << text;
    EXPECT_EQ(environment.cpu.smt_active, std::nullopt) << text;
    EXPECT_EQ(environment.memory.transparent_huge, std::nullopt) << text;
    EXPECT_EQ(environment.load.pressure.cpu_some, std::nullopt) << text;
  }
}

TEST(Environment, pressure_and_huge_pages_are_read) {
  MachineTree tree;
  tree.file("proc/pressure/memory", "some avg10=1.50 avg60=0.05 total=9\nfull avg10=0.25 avg60=0.00 total=1");
  tree.file("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "64");
  tree.file("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "60");
  tree.file("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "2");
  const Environment environment = read_machine(tree);
  EXPECT_DOUBLE_EQ(environment.load.pressure.memory_some.value(), 1.5);
  EXPECT_DOUBLE_EQ(environment.load.pressure.memory_full.value(), 0.25);
  ASSERT_EQ(environment.memory.huge_pages.size(), 1U);
  EXPECT_EQ(environment.memory.huge_pages[0].page_bytes, std::uint64_t{2} << 20);
  EXPECT_EQ(environment.memory.huge_pages[0].free, 60U);
}

TEST(Environment, virtual_machines_are_told_by_cpuid_or_firmware) {
  MachineTree tree;
  tree.file("proc/cpuinfo", "flags : fpu hypervisor");
  EXPECT_EQ(read_machine(tree).kernel.virtual_machine, true);
  tree.file("proc/cpuinfo", "flags : fpu");
  EXPECT_EQ(read_machine(tree).kernel.virtual_machine, false);
  tree.file("proc/cpuinfo", "CPU implementer : 0x41")
      .file("sys/class/dmi/id/product_name", "KVM Virtual Machine");
  EXPECT_EQ(read_machine(tree).kernel.virtual_machine, true);
}

TEST(Environment, gpus_are_joined_by_uuid_before_address) {
  MachineTree tree;
  write_two_sockets(tree);
  cuda::RuntimeReport runtime;
  runtime.devices = {cuda_gpu(0, "GPU-b", "0000:82:00.0"), cuda_gpu(1, "GPU-a", "0000:81:00.0")};
  NvmlReport nvml;
  nvml.devices = {nvml_gpu("GPU-a", "00000000:81:00.0"), nvml_gpu("GPU-b", "00000000:82:00.0")};
  const Environment environment = read_machine(tree, runtime, nvml);
  ASSERT_EQ(environment.gpus.size(), 2U);
  ASSERT_TRUE(environment.gpus[0].nvml && environment.gpus[1].nvml);
  EXPECT_EQ(environment.gpus[0].nvml->uuid, "GPU-b");
  EXPECT_EQ(environment.gpus[1].nvml->uuid, "GPU-a");
  EXPECT_EQ(environment.gpus[1].name, "CUDA name");
}

TEST(Environment, gpus_without_a_uuid_are_joined_by_address) {
  MachineTree tree;
  cuda::RuntimeReport runtime;
  runtime.devices = {cuda_gpu(0, "", "0000:3B:00.0")};
  NvmlReport nvml;
  nvml.devices = {nvml_gpu("GPU-a", "00000000:3b:00.0")};
  const Environment environment = read_machine(tree, runtime, nvml);
  ASSERT_EQ(environment.gpus.size(), 1U);
  EXPECT_EQ(environment.gpus[0].uuid, "GPU-a");
}

// As CUDA tells of them: each by a UUID of its own, both at the address of the GPU that they are cut from.
TEST(Environment, mig_slices_have_what_nvml_tells_of_their_gpu) {
  MachineTree tree;
  cuda::RuntimeReport runtime;
  runtime.devices = {cuda_gpu(0, "GPU-slice-0", "0000:3b:00.0"), cuda_gpu(1, "GPU-slice-1", "0000:3b:00.0"),
                     cuda_gpu(2, "GPU-b", "0000:5e:00.0")};
  NvmlReport nvml;
  nvml.devices = {nvml_gpu("GPU-a", "00000000:3B:00.0"), nvml_gpu("GPU-b", "00000000:5E:00.0")};
  nvml.devices[0].mig = true;
  const Environment environment = read_machine(tree, runtime, nvml);
  ASSERT_EQ(environment.gpus.size(), 3U);
  for (const std::size_t slice : {0U, 1U}) {
    const GpuReport& gpu = environment.gpus[slice];
    ASSERT_TRUE(gpu.cuda && gpu.nvml) << slice;
    EXPECT_EQ(gpu.cuda->ordinal, static_cast<int>(slice));
    EXPECT_EQ(gpu.uuid, "GPU-slice-" + std::to_string(slice));
    EXPECT_EQ(gpu.nvml->uuid, "GPU-a");
  }
  ASSERT_TRUE(environment.gpus[2].nvml);
  EXPECT_EQ(environment.gpus[2].nvml->uuid, "GPU-b");
}

TEST(Environment, a_uuid_of_another_gpu_at_the_same_address_is_not_joined_without_mig) {
  MachineTree tree;
  cuda::RuntimeReport runtime;
  runtime.devices = {cuda_gpu(0, "GPU-a", "0000:3b:00.0")};
  NvmlReport nvml;
  nvml.devices = {nvml_gpu("GPU-b", "00000000:3b:00.0")};
  nvml.devices[0].mig = false;
  EXPECT_EQ(read_machine(tree, runtime, nvml).gpus.size(), 2U);
}

TEST(Environment, another_gpu_is_never_joined) {
  MachineTree tree;
  cuda::RuntimeReport runtime;
  runtime.devices = {cuda_gpu(0, "GPU-a", "0000:3b:00.0")};
  NvmlReport nvml;
  nvml.devices = {nvml_gpu("GPU-b", "0000:5e:00.0")};
  const Environment environment = read_machine(tree, runtime, nvml);
  ASSERT_EQ(environment.gpus.size(), 2U);
  EXPECT_FALSE(environment.gpus[0].nvml);
  EXPECT_FALSE(environment.gpus[1].cuda);
}

TEST(Environment, a_gpus_link_and_place_come_from_the_kernel_too) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("sys/bus/pci/devices/0000:81:00.0/current_link_width", "8");
  cuda::RuntimeReport runtime;
  runtime.devices = {cuda_gpu(0, "GPU-a", "0000:81:00.0")};
  const GpuReport gpu = read_machine(tree, runtime).gpus.at(0);
  EXPECT_EQ(gpu.near.node, 1);
  EXPECT_EQ(gpu.iommu, "identity");
  EXPECT_EQ(gpu.sysfs_link_width, 8);
  EXPECT_EQ(gpu.link_width_built(), 16);
  EXPECT_EQ(gpu.link_generation_built(), 5);
}

TEST(Environment, nvml_and_the_cuda_driver_are_asked_where_the_kernel_says_minus_one) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.file("sys/bus/pci/devices/0000:81:00.0/numa_node", "-1");
  NvmlReport nvml;
  nvml.devices = {nvml_gpu("GPU-a", "0000:81:00.0")};
  nvml.devices[0].local_cpus = {4, 5};
  EXPECT_EQ(read_machine(tree, {}, nvml).gpus.at(0).near.node, 1);
  nvml.devices[0].local_cpus = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(read_machine(tree, {}, nvml).gpus.at(0).near.node, std::nullopt)
      << "all CPUs are near: it does not know";
  cuda::RuntimeReport runtime;
  runtime.devices = {cuda_gpu(0, "GPU-a", "0000:81:00.0")};
  runtime.devices[0].host_numa_node = 1;
  EXPECT_EQ(read_machine(tree, runtime, nvml).gpus.at(0).near.source, "CUDA driver");
}

TEST(Environment, what_is_near_in_a_virtual_machine_of_one_node_the_driver_does_not_know_either) {
  MachineTree tree;
  tree.file("proc/cpuinfo", "flags : fpu hypervisor");
  tree.file("sys/devices/system/node/online", "0");
  tree.file("sys/devices/system/node/node0/cpulist", "0-3");
  cuda::RuntimeReport runtime;
  runtime.devices = {cuda_gpu(0, "GPU-a", "0000:81:00.0")};
  runtime.devices[0].host_numa_node = 0;
  EXPECT_EQ(read_machine(tree, runtime).gpus.at(0).near.node, std::nullopt);
}

TEST(Environment, the_driver_is_known_without_nvml) {
  MachineTree tree;
  tree.file("sys/module/nvidia/version", "570.1");
  tree.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1");
  tree.file("sys/module/nvidia_uvm/parameters/uvm_perf_prefetch_enable", "1");
  cuda::RuntimeReport runtime;
  runtime.why_none = "no device";
  NvmlReport nvml;
  nvml.why_none = "no library";
  const DriverReport driver = read_machine(tree, runtime, nvml).driver;
  EXPECT_EQ(driver.version, "570.1");
  EXPECT_EQ(driver.open_kernel_module, true);
  EXPECT_EQ(driver.uvm_parameters.at("uvm_perf_prefetch_enable"), "1");
  EXPECT_EQ(driver.why_no_cuda, "no device");
  EXPECT_EQ(driver.why_no_nvml, "no library");
}

TEST(Environment, this_machine_is_read_in_well_under_a_second) {
  const auto begin = std::chrono::steady_clock::now();
  NvmlReport report;
  if (const auto nvml = Nvml::open(report.why_none)) {
    report = nvml->report();
  }
  const Environment environment = read_environment({}, Topology::read(), {}, report);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 1.0);
  EXPECT_TRUE(environment.kernel.release.has_value());
  EXPECT_TRUE(environment.memory.total_bytes.has_value());
}

}  // namespace
namespace {

using nlohmann::json;
using test::h100;
using test::says;

Environment read_report(const MachineTree& tree, const NvmlReport& nvml) {
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
  const std::string text = text_of(read_report(tree, nvml));
  EXPECT_EQ(text.rfind("Warnings\n", 0), 0U);
  for (const char* part :
       {"AMD EPYC 9554", "NVIDIA H100 80GB HBM3", "580.159.04", "the PCI Express link runs at x8 of",
        "governor performance", "1 of 2 links active, version 4.0, 26.6 GB/s", "0000:81:00.0",
        "Ubuntu 24.04.1 LTS"}) {
    EXPECT_TRUE(says(text, part)) << part << "\n" << text;
  }
}

TEST(EnvironmentText, fits_in_100_columns) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.frequency_policy(1, "a-driver-of-an-uncommonly-long-name-that-goes-on-and-on", "powersave");
  for (const std::string& line : sysfs::split_lines(text_of(read_report(tree, h100())))) {
    EXPECT_LE(columns(line), 100U) << line;
  }
}

TEST(EnvironmentText, of_a_screen_is_what_matters_most) {
  MachineTree tree;
  write_two_sockets(tree);
  Environment environment = read_report(tree, h100());
  environment.gpus.assign(8, environment.gpus.front());
  for (int i = 0; i < 8; ++i) {
    environment.gpus[static_cast<std::size_t>(i)].cuda->ordinal = i;
  }
  environment.gpus[5].near.node = 0;
  const Warning warning{"x", Severity::severe, "hot", "slow", "cool it"};
  for (const std::size_t count : {1, 50}) {
    const std::string text = environment_screen(environment, std::vector<Warning>(count, warning));
    const auto lines = sysfs::split_lines(text);
    EXPECT_LE(lines.size(), 40U) << text;
    for (const std::string& line : lines) {
      EXPECT_LE(columns(line), 100U) << line;
    }
    for (const char* part : {"severe            hot", "remedy: cool it", "GPU 0-4           NVIDIA H100",
                             "GPU 5             NVIDIA H100", "GPU 6-7 ", "AMD EPYC 9554", "580.159.04",
                             "governor performance", "--env --full shows all of it"}) {
      EXPECT_TRUE(says(text, part)) << part << "\n" << text;
    }
    EXPECT_EQ(says(text, "  and "), count == 50U) << text;
  }
}

TEST(EnvironmentText, an_empty_machine_reads_unknown_and_never_zero_or_ok) {
  MachineTree tree;
  const std::string text = text_of(read_report(tree, {}));
  EXPECT_TRUE(says(text, "frequency         unknown (not exposed)")) << text;
  EXPECT_TRUE(says(text, "model             unknown (not exposed)")) << text;
  EXPECT_TRUE(says(text, "total             unknown (not exposed)")) << text;
  EXPECT_FALSE(says(text, " ok")) << text;
  EXPECT_FALSE(says(text, "0.00 GHz")) << text;
  EXPECT_FALSE(says(text, " 0 B")) << text;
}

TEST(EnvironmentText, a_gpu_that_tells_nothing_reads_unknown) {
  MachineTree tree;
  NvmlReport nvml;
  nvml.devices.emplace_back();
  const std::string text = text_of(read_report(tree, nvml));
  EXPECT_TRUE(says(text, "now unknown, with this slot at most unknown")) << text;
  EXPECT_TRUE(says(text, "ECC unknown (not exposed)")) << text;
}

TEST(EnvironmentText, keeps_private_things_to_itself) {
  MachineTree tree;
  write_two_sockets(tree);
  const Environment environment = read_report(tree, h100());
  for (const std::string& report : {text_of(environment), json_of(environment).dump()}) {
    EXPECT_FALSE(says(report, "S3CR3TSERIAL"));
    EXPECT_FALSE(says(report, "UUID=secret")) << "the rest of the kernel command line";
    EXPECT_TRUE(says(report, "iommu=pt"));
  }
}

TEST(EnvironmentJson, has_what_the_schema_requires) {
  MachineTree tree;
  write_two_sockets(tree);
  tree.frequency_policy(1, "x", "powersave");
  const json report = json_of(read_report(tree, h100()));
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
  const json report = json_of(read_report(tree, nvml));
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
  EXPECT_NO_THROW((void)json_of(read_report(tree, nvml)).dump());
}

}  // namespace
}  // namespace grainscope
