#include "grainscope/cuda/host_vmm.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <string>

#include "driver_entry_point.hpp"
#include "driver_status.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {
namespace {

struct Driver {
  decltype(cuMemGetAllocationGranularity)* granularity =
      driver_function<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(cuMemCreate)* create = driver_function<decltype(cuMemCreate)>("cuMemCreate");
  decltype(cuMemRelease)* release = driver_function<decltype(cuMemRelease)>("cuMemRelease");
  decltype(cuMemAddressReserve)* reserve =
      driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(cuMemAddressFree)* free_address = driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(cuMemMap)* map = driver_function<decltype(cuMemMap)>("cuMemMap");
  decltype(cuMemUnmap)* unmap = driver_function<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(cuMemSetAccess)* set_access = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess");
};

}  // namespace

// What has been taken so far: given back in the opposite order, also where a later step failed.
struct HostVmmBuffer::Mapping {
  Driver driver;
  CUdeviceptr address = 0;
  std::uint64_t bytes = 0;
  bool mapped = false;

  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (mapped) {
      static_cast<void>(driver.unmap(address, bytes));
    }
    if (address != 0) {
      static_cast<void>(driver.free_address(address, bytes));
    }
  }
};

HostVmmBuffer::HostVmmBuffer(int gpu, int node, std::uint64_t bytes) {
  const DeviceGuard guard(gpu);
  // The driver's calls need the context that the runtime makes at its first use.
  check(cudaFree(nullptr), "create a context on GPU " + std::to_string(gpu));
  mapping_ = std::make_unique<Mapping>();
  const Driver& driver = mapping_->driver;
  const std::string what = format_bytes(bytes) + " of host memory on NUMA node " + std::to_string(node);

  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  properties.location.id = node;
  std::size_t granularity = 0;
  expect_driver(driver.granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                "ask for the granularity of " + what);
  const std::uint64_t rounded = (bytes + granularity - 1) / granularity * granularity;

  CUdeviceptr address = 0;
  expect_driver(driver.reserve(&address, rounded, granularity, 0, 0), "reserve addresses for " + what);
  mapping_->address = address;
  mapping_->bytes = rounded;
  CUmemGenericAllocationHandle memory{};
  expect_driver(driver.create(&memory, rounded, &properties, 0), "make " + what + " by cuMemCreate");
  const CUresult mapped = driver.map(address, rounded, 0, memory, 0);
  // The mapping keeps the memory; without one this frees it.
  static_cast<void>(driver.release(memory));
  expect_driver(mapped, "map " + what);
  mapping_->mapped = true;

  std::array<CUmemAccessDesc, 2> access{};
  access[0].location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu};
  access[1].location = properties.location;
  access[0].flags = access[1].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  expect_driver(driver.set_access(address, rounded, access.data(), access.size()),
                "give GPU " + std::to_string(gpu) + " and the host access to " + what);
}

HostVmmBuffer::~HostVmmBuffer() = default;
HostVmmBuffer::HostVmmBuffer(HostVmmBuffer&& other) noexcept = default;
HostVmmBuffer& HostVmmBuffer::operator=(HostVmmBuffer&& other) noexcept = default;

void* HostVmmBuffer::data() const noexcept {
  return reinterpret_cast<void*>(mapping_->address);
}

std::uint64_t HostVmmBuffer::bytes() const noexcept {
  return mapping_->bytes;
}

}  // namespace grainscope::cuda
