#ifndef GRAINSCOPE_CUDA_RUNTIME_HPP
#define GRAINSCOPE_CUDA_RUNTIME_HPP

// What the CUDA runtime says of this machine, as plain data, and marks for its profilers: readable by code
// that is built without a toolkit and runs without a driver.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace grainscope::cuda {

struct DeviceProperties {
  int ordinal = 0;
  std::string name;
  std::string uuid;        // "GPU-…", as nvidia-smi prints it
  std::string pci_bus_id;  // "0000:3b:00.0", lower case
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  std::uint64_t total_memory_bytes = 0;
  std::uint64_t held_memory_bytes = 0;  // of these, what --gpu-memory lets no case have
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_clock_hz = 0;  // 0: not told
  int memory_bus_width_bits = 0;      // 0: not told
  bool can_map_host_memory = false;
  bool concurrent_managed_access = false;
  bool pageable_memory_access = false;
  bool pageable_memory_access_uses_host_page_tables = false;  // ATS
  bool host_native_atomics = false;
  bool integrated = false;
  bool ecc_enabled = false;
  int copy_engines = 0;
  int host_numa_node = -1;  // as the driver tells it; -1 is unknown

  // What cases may plan with.
  [[nodiscard]] std::uint64_t memory_bytes() const { return total_memory_bytes - held_memory_bytes; }
};

// The first compute capability whose GPUs have bulk copies (TMA).
inline constexpr int kFirstMajorOfBulk = 9;

struct PeerLink {
  int from = 0;
  int to = 0;
  bool access = false;
  bool native_atomics = false;
};

// The CUDA runtime's view of the machine. `devices` is empty exactly when `why_none` says why.
struct RuntimeReport {
  std::optional<int> toolkit_version;  // 13000 for 13.0; absent when built without CUDA
  std::optional<int> driver_version;   // newest CUDA version that the driver supports
  std::string why_none;                // one sentence with the remedy; empty when there are devices
  std::vector<DeviceProperties> devices;
  std::vector<PeerLink> peers;
};

// Reads devices and peers. Never throws for missing hardware: that is `why_none`. Creates no context.
[[nodiscard]] RuntimeReport read_runtime();

// Marks what runs while it lives for a profiler that follows NVTX ranges; without one it costs nothing.
class [[nodiscard]] ProfileRange {
 public:
  explicit ProfileRange(const char* name);
  ~ProfileRange();
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
};

// Whether scripts/grainscope-count runs this program (GRAINSCOPE_COUNT is set): cases whose samples stand
// behind a gate, where a profiler cannot count, then do once more what they timed, in such a range.
[[nodiscard]] bool is_counted();

}  // namespace grainscope::cuda

#endif
