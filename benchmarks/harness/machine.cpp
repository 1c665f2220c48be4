#include "machine.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {
namespace {

// NVLink-C2C of Grace Hopper and Grace Blackwell: 900 GB/s both ways together.
constexpr double kChipToChipGbS = 450;

// A copy this many times the size of the last-level cache is not answered by it.
constexpr std::uint64_t kOutOfCache = 8;

// Both clock edges carry data; absent where the machine does not tell.
std::optional<double> memory_gb_s(const cuda::DeviceProperties& device) {
  if (device.memory_clock_hz == 0 || device.memory_bus_width_bits == 0) {
    return std::nullopt;
  }
  return 2.0 * static_cast<double>(device.memory_clock_hz) * device.memory_bus_width_bits / 8e9;
}

// What all multiprocessors can load: 128 bytes a cycle each, at 3 GHz. No cache of a GPU gives more.
std::optional<PhysicalLimit> load_limit(const cuda::DeviceProperties& device) {
  if (device.sm_count == 0) {
    return std::nullopt;
  }
  return PhysicalLimit{device.sm_count * 128 * 3.0,
                       std::to_string(device.sm_count) + " multiprocessors, 128 bytes a cycle at 3 GHz each"};
}

template <class T, class ToText>
std::string listed(const std::vector<T>& things, ToText to_text) {
  std::string text;
  for (const T& thing : things) {
    text += (text.empty() ? "" : ", ") + to_text(thing);
  }
  return text.empty() ? "none" : text;
}

std::string why_unusable(const GpuReport* report, const cuda::DeviceProperties& device) {
  if (report != nullptr && report->nvml && report->nvml->compute_mode == "prohibited") {
    return "GPU " + std::to_string(device.ordinal) +
           " is in compute mode `prohibited`: its owner can lift that with `nvidia-smi -c DEFAULT`";
  }
  return {};
}

}  // namespace

const GpuReport* Machine::find_gpu(int ordinal) const {
  for (const GpuReport& gpu : environment.gpus) {
    if (gpu.cuda && gpu.cuda->ordinal == ordinal) {
      return &gpu;
    }
  }
  return nullptr;
}

Machine read_machine(const Roots& roots) {
  std::string why_no_nvml;
  auto nvml = Nvml::open(why_no_nvml);
  NvmlReport nvml_report;
  if (nvml) {
    nvml_report = nvml->report();
  } else {
    nvml_report.why_none = why_no_nvml;
  }
  Topology topology = Topology::read(roots);
  cuda::RuntimeReport runtime = cuda::read_runtime();
  Environment environment = read_environment(roots, topology, runtime, nvml_report);
  std::vector<Warning> warnings = find_warnings(environment);
  return Machine{std::move(topology), std::move(runtime), std::move(nvml), std::move(environment),
                 std::move(warnings)};
}

void leave_gpu_memory(Machine& machine, std::optional<std::uint64_t> bytes, const std::vector<int>& wanted) {
  if (!bytes) {
    return;
  }
  const auto leave = [&](cuda::DeviceProperties& device) {
    const bool asked =
        wanted.empty() || std::find(wanted.begin(), wanted.end(), device.ordinal) != wanted.end();
    if (asked && *bytes > device.total_memory_bytes) {
      throw EnvironmentError("--gpu-memory " + format_bytes(*bytes) + " is more than GPU " +
                             std::to_string(device.ordinal) +
                             " has: " + format_bytes(device.total_memory_bytes));
    }
    device.held_memory_bytes = device.total_memory_bytes - std::min(*bytes, device.total_memory_bytes);
  };
  for (cuda::DeviceProperties& device : machine.runtime.devices) {
    leave(device);
  }
  for (GpuReport& gpu : machine.environment.gpus) {
    if (gpu.cuda) {
      leave(*gpu.cuda);
    }
  }
}

bool is_gpu(const Site& site) {
  return site.key.starts_with("gpu") || site.key == "peer";
}

std::string GpuTarget::locality(int node) const {
  if (!local_node) {
    return "unknown";
  }
  return *local_node == node ? "local" : "remote";
}

std::vector<GpuTarget> gpu_targets(const Machine& machine, const std::vector<int>& wanted) {
  const auto& devices = machine.runtime.devices;
  std::vector<GpuTarget> targets;
  for (const cuda::DeviceProperties& device : devices) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), device.ordinal) != wanted.end()) {
      const GpuReport* report = machine.find_gpu(device.ordinal);
      targets.push_back({device.ordinal, why_unusable(report, device),
                         report != nullptr ? report->near.node : std::nullopt});
    }
  }
  for (const int ordinal : wanted) {
    if (ordinal < 0 || ordinal >= static_cast<int>(devices.size())) {
      const std::string there =
          devices.empty() ? machine.runtime.why_none
                          : "this machine has GPUs " +
                                listed(devices, [](const auto& d) { return std::to_string(d.ordinal); });
      throw EnvironmentError("there is no GPU " + std::to_string(ordinal) + ": " + there);
    }
  }
  if (devices.empty()) {
    targets.push_back({0, machine.runtime.why_none, std::nullopt});
  }
  return targets;
}

std::vector<int> node_targets(const Machine& machine, const std::vector<int>& wanted) {
  const std::vector<int> usable = machine.topology.usable_nodes();
  for (const int node : wanted) {
    if (std::find(usable.begin(), usable.end(), node) == usable.end()) {
      throw EnvironmentError("NUMA node " + std::to_string(node) +
                             " does not exist, or this process may not use its CPUs and memory; usable: " +
                             listed(usable, [](int id) { return std::to_string(id); }) +
                             " (see `grainscope --env` and `numactl --show`)");
    }
  }
  return wanted.empty() ? usable : wanted;
}

std::optional<PhysicalLimit> host_link_limit(const Machine& machine, int gpu) {
  const GpuReport* report = machine.find_gpu(gpu);
  if (report == nullptr) {
    return std::nullopt;
  }
  if (report->nvml && report->nvml->c2c_links.value_or(0) > 0) {
    return PhysicalLimit{kChipToChipGbS, "NVLink-C2C, 450 GB/s each way"};
  }
  std::optional<int> generation;
  std::optional<int> width;
  if (report->nvml) {
    generation = report->nvml->link_generation_max;
    width = report->nvml->link_width_max;
  }
  generation = generation ? generation : report->sysfs_link_generation_max;
  width = width ? width : report->sysfs_link_width_max;
  if (generation && width) {
    if (const auto rate = pcie_link_gb_s(*generation, *width)) {
      return PhysicalLimit{*rate, "PCIe " + std::to_string(*generation) + ".0 x" + std::to_string(*width) +
                                      " before packet headers"};
    }
  }
  // Nothing crosses a link faster than the card's own memory takes or gives it.
  if (const auto rate = memory_gb_s(*report->cuda)) {
    return PhysicalLimit{*rate, "the GPU's own memory (its link is unknown)"};
  }
  return load_limit(*report->cuda);
}

std::optional<PhysicalLimit> host_link_limit(const Machine& machine, const std::vector<int>& gpus) {
  std::optional<PhysicalLimit> all;
  for (const int gpu : gpus) {
    const auto one = host_link_limit(machine, gpu);
    if (!one) {
      return std::nullopt;
    }
    if (all) {
      all->gb_s += one->gb_s;
    } else {
      all = one;
    }
  }
  if (all && gpus.size() > 1) {
    all->source += ", on each of " + std::to_string(gpus.size()) + " GPUs";
  }
  return all;
}

std::optional<PhysicalLimit> local_copy_limit(const Machine& machine, int gpu, std::uint64_t bytes) {
  const GpuReport* report = machine.find_gpu(gpu);
  if (report == nullptr) {
    return std::nullopt;
  }
  const auto rate = memory_gb_s(*report->cuda);
  if (!rate || report->cuda->l2_bytes == 0 || bytes < report->cuda->l2_bytes) {
    return load_limit(*report->cuda);
  }
  return bytes < kOutOfCache * report->cuda->l2_bytes
             ? PhysicalLimit{*rate, "the GPU's own memory"}
             : PhysicalLimit{*rate / 2, "the GPU's own memory, read and written"};
}

std::optional<PhysicalLimit> gpu_memory_limit(const Machine& machine, int gpu, std::uint64_t bytes) {
  const GpuReport* report = machine.find_gpu(gpu);
  if (report == nullptr) {
    return std::nullopt;
  }
  const cuda::DeviceProperties& device = *report->cuda;
  const auto rate = memory_gb_s(device);
  if (!rate || device.l2_bytes == 0 || bytes <= device.l2_bytes) {
    return load_limit(device);
  }
  const auto of_memory = static_cast<double>(bytes - device.l2_bytes);
  return PhysicalLimit{*rate * static_cast<double>(bytes) / of_memory,
                       "the GPU's own memory, but for what its cache holds"};
}

std::string why_no_mapping(const Machine& machine, int gpu) {
  if (machine.environment.driver.confidential_computing.value_or(false)) {
    return "confidential computing is on: the GPU cannot map host memory";
  }
  const GpuReport* report = machine.find_gpu(gpu);
  if (report != nullptr && !report->cuda->can_map_host_memory) {
    return "the GPU cannot map host memory (CUDA attribute canMapHostMemory is 0)";
  }
  return {};
}

std::string why_no_migration(const Machine& machine, int gpu) {
  const GpuReport* report = machine.find_gpu(gpu);
  if (report != nullptr && !report->cuda->concurrent_managed_access) {
    return "managed memory does not migrate on demand here (CUDA attribute concurrentManagedAccess is 0)";
  }
  return {};
}

std::string why_no_memory(const Machine& machine, cuda::MemoryKind kind, int gpu, std::uint64_t bytes) {
  if (std::string why = why_no_mapping(machine, gpu); !why.empty()) {
    return why;
  }
  const GpuReport* report = machine.find_gpu(gpu);
  if (kind != cuda::MemoryKind::managed_host || report == nullptr) {
    return {};
  }
  if (!report->cuda->concurrent_managed_access) {
    return "the GPU does not read managed memory in place (CUDA attribute concurrentManagedAccess is 0): "
           "host_alloc is the next best";
  }
  const std::uint64_t most = report->cuda->memory_bytes() / 4 * 3;
  if (bytes > most) {
    return "needs " + format_bytes(bytes) + " of managed memory that stays on the host; " +
           format_bytes(most) +
           ", three quarters of the GPU's own memory, are the most: host_alloc is the next best";
  }
  return {};
}

std::string why_not_by_several(cuda::MemoryKind kind) {
  return kind == cuda::MemoryKind::vmm_host || kind == cuda::MemoryKind::peer
             ? "several GPUs read host memory that is mapped for each of them: memory is not " +
                   std::string(cuda::name(kind))
             : "";
}

std::vector<int> sharing_gpus(const Machine& machine, int gpu) {
  constexpr std::size_t kMostGpus = 16;
  std::vector<int> gpus{gpu};
  for (const cuda::PeerLink& link : machine.runtime.peers) {
    const bool known = std::find(gpus.begin(), gpus.end(), link.to) != gpus.end();
    if (link.from == gpu && link.access && !known && gpus.size() < kMostGpus) {
      gpus.push_back(link.to);
    }
  }
  return gpus;
}

std::vector<int> team_of(const Machine& machine, int gpu) {
  std::vector<int> team;
  for (const int candidate : sharing_gpus(machine, gpu)) {
    const std::vector<int> reached = sharing_gpus(machine, candidate);
    const bool all = std::all_of(team.begin(), team.end(), [&](int member) {
      return std::find(reached.begin(), reached.end(), member) != reached.end();
    });
    if (all) {
      team.push_back(candidate);
    }
  }
  return team;
}

std::string why_no_sharing(const Machine& machine, int gpu) {
  return machine.runtime.devices.size() < 2
             ? "needs two GPUs; this machine has one"
             : "GPU " + std::to_string(gpu) + " cannot reach the memory of another";
}

std::string why_no_team(const Machine& machine, int gpu, std::size_t needed) {
  const std::size_t there = team_of(machine, gpu).size();
  return there >= needed ? std::string()
         : there < 2     ? why_no_sharing(machine, gpu)
                         : "needs " + std::to_string(needed) + " GPUs that reach each other; with GPU " +
                           std::to_string(gpu) + " there are " + std::to_string(there);
}

std::string why_no_bulk(const Machine& machine, int gpu) {
  const GpuReport* report = machine.find_gpu(gpu);
  if (report != nullptr && report->cuda->compute_major < cuda::kFirstMajorOfBulk) {
    return "the GPU has no bulk copies: they need compute capability " +
           std::to_string(cuda::kFirstMajorOfBulk) + ".0, this one has " +
           std::to_string(report->cuda->compute_major) + "." + std::to_string(report->cuda->compute_minor);
  }
  return {};
}

std::uint64_t largest_buffer(const Machine& machine, int gpu) {
  std::uint64_t most =
      machine.environment.memory.available.bytes().value_or(8 * (std::uint64_t{1} << 30)) / 2;
  if (const GpuReport* report = machine.find_gpu(gpu)) {
    most = std::min(most, report->cuda->memory_bytes() / 2);
  }
  return std::bit_floor(most);
}

PhysicalLimit cpu_limit(int threads, std::uint64_t operation_bytes) {
  const double gb_s = threads * 2 * 64 * 6.0;
  const std::string source = std::to_string(threads) + " CPU thread(s), 128 bytes a cycle at 6 GHz";
  if (operation_bytes == 0) {
    return {gb_s, source};
  }
  return {0, source + ", " + std::to_string(operation_bytes) + " bytes at least",
          static_cast<double>(operation_bytes) / (gb_s * 1e9)};
}

PhysicalLimit call_limit() {
  return {0, "a call of an empty function, six cycles at 6 GHz", 1e-9};
}

std::vector<int> Scope::near_and_far(const GpuTarget& gpu) const {
  if (nodes.size() <= 2 || !gpu.local_node) {
    return nodes;
  }
  std::vector<int> chosen;
  for (const char* wanted : {"local", "remote"}) {
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](int candidate) { return gpu.locality(candidate) == wanted; });
    if (node != nodes.end()) {
      chosen.push_back(*node);
    }
  }
  return chosen;
}

int Scope::nearest_node(const GpuTarget& gpu) const {
  if (gpu.local_node && std::find(nodes.begin(), nodes.end(), *gpu.local_node) != nodes.end()) {
    return *gpu.local_node;
  }
  return nodes.empty() ? 0 : nodes.front();
}

Scope make_scope(Preset preset, std::vector<GpuTarget> gpus, bool gpus_asked_for, std::vector<int> nodes) {
  Scope scope;
  scope.preset = preset;
  scope.sampling = sampling_of(preset).plan;
  scope.visits = sampling_of(preset).visits;
  scope.trials = sampling_of(preset).trials;
  scope.trials_s = sampling_of(preset).trials_s;
  scope.gpus_asked_for = gpus_asked_for;
  scope.gpus = std::move(gpus);
  scope.nodes = std::move(nodes);
  return scope;
}

namespace {

using namespace std::chrono_literals;

std::filesystem::path lock_path(const std::string& uuid) {
  return std::filesystem::temp_directory_path() / ("grainscope-" + uuid + ".lock");
}

std::string holder(int file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(file, text.data(), text.size() - 1, 0);
  const std::string pid(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return pid.empty() ? "another run" : "the run with process id " + pid;
}

void sign(int file) {
  const std::string pid = std::to_string(getpid());
  // Only so that another run can name this one.
  if (ftruncate(file, 0) != 0 || pwrite(file, pid.data(), pid.size(), 0) < 0) {
    return;
  }
}

void take(int file, const std::string& uuid, bool wait, const std::function<bool()>& interrupted) {
  bool said = false;
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (!wait) {
      throw EnvironmentError(uuid + " is in use by " + holder(file) + ": two runs would measure each other");
    }
    if (!said) {
      std::cerr << "grainscope: waiting for " << uuid << ", held by " << holder(file)
                << " (--no-wait gives up instead)" << std::endl;
      said = true;
    }
    if (interrupted()) {
      throw Interrupted{};
    }
    std::this_thread::sleep_for(200ms);
  }
}

}  // namespace

GpuLock::GpuLock(std::vector<std::string> uuids, bool wait, const std::function<bool()>& interrupted) {
  std::sort(uuids.begin(), uuids.end());
  try {
    for (const std::string& uuid : uuids) {
      const std::string path = lock_path(uuid);
      // Another user's file cannot be opened for writing, but a lock needs no more than reading.
      int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
      if (file < 0) {
        file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
      }
      if (file < 0) {
        throw EnvironmentError("could not open the lock file " + path + ": " + std::strerror(errno) +
                               "; remove it, or set TMPDIR to a folder that all users of the GPU share");
      }
      files_.push_back(file);
      static_cast<void>(fchmod(file, 0666));
      take(file, uuid, wait, interrupted);
      sign(file);
    }
  } catch (...) {
    release();
    throw;
  }
}

GpuLock::~GpuLock() {
  release();
}

void GpuLock::release() noexcept {
  for (const int file : files_) {
    close(file);
  }
  files_.clear();
}

}  // namespace grainscope::harness
