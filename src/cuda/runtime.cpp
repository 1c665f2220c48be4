#include "grainscope/cuda/runtime.hpp"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::cuda {
namespace {

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  // An attribute that this driver does not know stays at 0, which reads as "not told".
  if (cudaDeviceGetAttribute(&value, which, gpu) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return value;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < 16; ++i) {
    std::array<char, 4> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits.data();
    if (i == 3 || i == 5 || i == 7 || i == 9) {
      text += '-';
    }
  }
  return text;
}

std::string pci_text(int gpu) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), gpu), "read a GPU's PCI address");
  return lower(text.data());
}

DeviceProperties read_device(int gpu) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "read the properties of GPU " + std::to_string(gpu));
  DeviceProperties device;
  device.ordinal = gpu;
  device.name = properties.name;
  device.uuid = uuid_text(properties.uuid);
  device.pci_bus_id = pci_text(gpu);
  device.compute_major = properties.major;
  device.compute_minor = properties.minor;
  device.sm_count = properties.multiProcessorCount;
  device.total_memory_bytes = properties.totalGlobalMem;
  device.l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
  // Clock rates left cudaDeviceProp in CUDA 13; the attribute is in kHz in every version.
  device.memory_clock_hz = static_cast<std::uint64_t>(attribute(cudaDevAttrMemoryClockRate, gpu)) * 1000;
  device.memory_bus_width_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, gpu);
  device.can_map_host_memory = attribute(cudaDevAttrCanMapHostMemory, gpu) != 0;
  device.concurrent_managed_access = attribute(cudaDevAttrConcurrentManagedAccess, gpu) != 0;
  device.pageable_memory_access = attribute(cudaDevAttrPageableMemoryAccess, gpu) != 0;
  device.pageable_memory_access_uses_host_page_tables =
      attribute(cudaDevAttrPageableMemoryAccessUsesHostPageTables, gpu) != 0;
  device.host_native_atomics = attribute(cudaDevAttrHostNativeAtomicSupported, gpu) != 0;
  device.integrated = attribute(cudaDevAttrIntegrated, gpu) != 0;
  device.ecc_enabled = attribute(cudaDevAttrEccEnabled, gpu) != 0;
  device.copy_engines = attribute(cudaDevAttrAsyncEngineCount, gpu);
#if CUDART_VERSION >= 12090
  device.host_numa_node = attribute(cudaDevAttrHostNumaId, gpu);
#endif
  return device;
}

std::vector<PeerLink> read_peers(int count) {
  std::vector<PeerLink> peers;
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      int access = 0;
      if (from == to || cudaDeviceCanAccessPeer(&access, from, to) != cudaSuccess) {
        continue;
      }
      int atomics = 0;
      if (cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to) != cudaSuccess) {
        atomics = 0;
      }
      peers.push_back({from, to, access != 0, atomics != 0});
    }
  }
  static_cast<void>(cudaGetLastError());
  return peers;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string why_no_devices(int driver_version, cudaError_t status) {
  if (driver_version == 0) {
    return "no NVIDIA driver: install it, or use a machine with a GPU (`nvidia-smi` should list one)";
  }
  const std::string driver = "the driver supports CUDA " + version_text(driver_version) +
                             ", this program was built with " + version_text(CUDART_VERSION);
  switch (status) {
    case cudaErrorInsufficientDriver:
      return driver + ": update the driver or build with an older toolkit";
    case cudaErrorStubLibrary:
      return "libcuda.so is the toolkit's stub, not a driver: install the driver, or remove the stubs folder "
             "from LD_LIBRARY_PATH";
    case cudaErrorNoDevice:
    case cudaSuccess:
      return "the driver shows no GPU: see `nvidia-smi` and CUDA_VISIBLE_DEVICES";
    default:
      return std::string("the driver gave ") + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) +
             "): see `nvidia-smi` and `dmesg`";
  }
}

}  // namespace

RuntimeReport read_runtime() {
  RuntimeReport report;
  report.toolkit_version = CUDART_VERSION;
  int driver_version = 0;
  // Without a driver this succeeds and says 0: the best probe there is.
  if (cudaDriverGetVersion(&driver_version) == cudaSuccess && driver_version > 0) {
    report.driver_version = driver_version;
  }
  int count = 0;
  const cudaError_t status = driver_version > 0 ? cudaGetDeviceCount(&count) : cudaErrorNoDevice;
  static_cast<void>(cudaGetLastError());
  if (status != cudaSuccess || count == 0) {
    report.why_none = why_no_devices(driver_version, status);
    return report;
  }
  for (int gpu = 0; gpu < count; ++gpu) {
    report.devices.push_back(read_device(gpu));
  }
  report.peers = read_peers(count);
  return report;
}

ProfileRange::ProfileRange(const char* name) {
  nvtxRangePushA(name);
}

ProfileRange::~ProfileRange() {
  nvtxRangePop();
}

bool is_counted() {
  return std::getenv("GRAINSCOPE_COUNT") != nullptr;
}

}  // namespace grainscope::cuda
