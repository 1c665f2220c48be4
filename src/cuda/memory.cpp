#include "grainscope/cuda/memory.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "driver.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/hint.hpp"

namespace grainscope::cuda {
namespace {

// The context and the library's own buffers need room beside what is asked for.
constexpr std::uint64_t kDeviceReserve = 256 * kMiB;

void* device_pointer(void* host) {
  void* mapped = nullptr;
  check(cudaHostGetDevicePointer(&mapped, host, 0), "map pinned host memory into the GPU's address space");
  return mapped;
}

// Throws SkipError, with the numbers, where a card has not so much free.
void require_room(int gpu, std::uint64_t bytes) {
  const DeviceGuard guard(gpu);
  const MemoryInfo memory = memory_info(gpu);
  if (bytes + kDeviceReserve > memory.free_bytes) {
    throw SkipError("needs " + format_bytes(bytes) + " on GPU " + std::to_string(gpu) + ", which has " +
                    format_bytes(memory.free_bytes) + " free");
  }
}

}  // namespace

DeviceBuffer::DeviceBuffer(int gpu, std::uint64_t bytes) : bytes_(bytes) {
  const DeviceGuard guard(gpu);
  require_room(gpu, bytes);
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), "allocate " + format_bytes(bytes) + " on GPU " + std::to_string(gpu));
  data_.reset(data);
}

std::shared_ptr<void> hold_memory(int gpu, std::uint64_t bytes) {
  return std::make_shared<DeviceBuffer>(gpu, bytes);
}

void DeviceBuffer::Free::operator()(void* data) const noexcept {
  static_cast<void>(cudaFree(data));
}

PinnedBuffer::PinnedBuffer(std::uint64_t bytes, Kind kind) : bytes_(bytes) {
  const unsigned flags = cudaHostAllocPortable | cudaHostAllocMapped |
                         (kind == Kind::write_combined ? cudaHostAllocWriteCombined : 0U);
  void* data = nullptr;
  check(cudaHostAlloc(&data, bytes, flags), "allocate " + format_bytes(bytes) + " of pinned host memory");
  data_.reset(data);
}

void* PinnedBuffer::device_data() const {
  return device_pointer(data());
}

void PinnedBuffer::Free::operator()(void* data) const noexcept {
  static_cast<void>(cudaFreeHost(data));
}

Registration::Registration(void* data, std::uint64_t bytes) {
  check(cudaHostRegister(data, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
        "page-lock " + format_bytes(bytes) + " of host memory");
  data_.reset(data);
}

void* Registration::device_data() const {
  return device_pointer(data_.get());
}

void Registration::Unregister::operator()(void* data) const noexcept {
  static_cast<void>(cudaHostUnregister(data));
}

ManagedBuffer::ManagedBuffer(ManagedBudget& budget, int gpu, std::uint64_t bytes, ManagedUse use)
    : data_(nullptr, Free{budget, gpu, bytes, use}), bytes_(bytes) {
  const DeviceGuard guard(gpu);
  budget.reserve(gpu, bytes, use);
  void* data = nullptr;
  const cudaError_t status = cudaMallocManaged(&data, bytes, cudaMemAttachGlobal);
  if (status != cudaSuccess) {
    budget.release(gpu, bytes, use);
  }
  check(status, "allocate " + format_bytes(bytes) + " of managed memory");
  data_.reset(data);
}

void ManagedBuffer::Free::operator()(void* data) const noexcept {
  static_cast<void>(cudaFree(data));
  ManagedBudget(budget).release(gpu, bytes, use);
}

namespace {

void advise_all(const void* data, std::uint64_t bytes, cudaMemoryAdvise advice, Location where, Hint hint) {
  check(advise(data, bytes, advice, where),
        "advise " + format_bytes(bytes) + " of managed memory (" + name(hint) + ")");
}

// What the driver says of all of a range; of AccessedBy the first GPUs.
std::array<int, 16> range_attribute(const void* data, std::uint64_t bytes, cudaMemRangeAttribute attribute) {
  std::array<int, 16> said{};
  const std::size_t size = attribute == cudaMemRangeAttributeAccessedBy ? sizeof(said) : sizeof(said.front());
  check(cudaMemRangeGetAttribute(said.data(), size, attribute, data, bytes),
        "ask for the advice on " + format_bytes(bytes) + " of managed memory");
  return said;
}

bool is_in_force(const void* data, std::uint64_t bytes, Hint hint, int gpu) {
  switch (hint) {
    case Hint::read_mostly:
      return range_attribute(data, bytes, cudaMemRangeAttributeReadMostly).front() == 1;
    case Hint::preferred_gpu:
      return range_attribute(data, bytes, cudaMemRangeAttributePreferredLocation).front() == gpu;
    case Hint::preferred_host:
      return range_attribute(data, bytes, cudaMemRangeAttributePreferredLocation).front() == cudaCpuDeviceId;
    case Hint::accessed_by: {
      const auto gpus = range_attribute(data, bytes, cudaMemRangeAttributeAccessedBy);
      return std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
    }
    case Hint::none:
    case Hint::prefetch:
      break;
  }
  return true;
}

}  // namespace

void give_hint(const void* data, std::uint64_t bytes, Hint hint, int gpu) {
  switch (hint) {
    case Hint::read_mostly:
      advise_all(data, bytes, cudaMemAdviseSetReadMostly, Location::gpu(gpu), hint);
      break;
    case Hint::preferred_gpu:
      advise_all(data, bytes, cudaMemAdviseSetPreferredLocation, Location::gpu(gpu), hint);
      break;
    case Hint::preferred_host:
      advise_all(data, bytes, cudaMemAdviseSetPreferredLocation, Location::host(), hint);
      break;
    case Hint::accessed_by:
      advise_all(data, bytes, cudaMemAdviseSetAccessedBy, Location::gpu(gpu), hint);
      break;
    case Hint::none:
    case Hint::prefetch:
      return;
  }
  if (!is_in_force(data, bytes, hint, gpu)) {
    throw FailedError(std::string("the hint ") + name(hint) + " was given on " + format_bytes(bytes) +
                      " of managed memory, and the driver says that it is not in force");
  }
}

void take_back_hint(const void* data, std::uint64_t bytes, Hint hint, int gpu, const Stream& stream) {
  switch (hint) {
    case Hint::read_mostly:
      advise_all(data, bytes, cudaMemAdviseUnsetReadMostly, Location::gpu(gpu), hint);
      check(prefetch(data, bytes, Location::gpu(gpu), stream.get()),
            "bring " + format_bytes(bytes) + " of managed memory to GPU " + std::to_string(gpu));
      break;
    case Hint::preferred_gpu:
      advise_all(data, bytes, cudaMemAdviseUnsetPreferredLocation, Location::gpu(gpu), hint);
      break;
    case Hint::preferred_host:
      advise_all(data, bytes, cudaMemAdviseUnsetPreferredLocation, Location::host(), hint);
      break;
    case Hint::accessed_by:
      advise_all(data, bytes, cudaMemAdviseUnsetAccessedBy, Location::gpu(gpu), hint);
      break;
    case Hint::none:
    case Hint::prefetch:
      break;
  }
}

namespace {

constexpr std::size_t kMostOfNode = 2;
constexpr std::uint64_t kLargest = kGiB;

}  // namespace

struct PinnedReserve::State {
  std::map<int, std::vector<PinnedBuffer>> nodes;  // ascending by size
};

PinnedReserve::PinnedReserve() : state_(std::make_unique<State>()) {}
PinnedReserve::~PinnedReserve() = default;

PinnedBuffer PinnedReserve::take(std::uint64_t bytes, int node) {
  auto& waiting = state_->nodes[node];
  const auto fits = std::find_if(waiting.begin(), waiting.end(),
                                 [&](const PinnedBuffer& buffer) { return buffer.bytes() >= bytes; });
  if (fits == waiting.end()) {
    return {bytes, PinnedBuffer::Kind::cached};
  }
  PinnedBuffer taken = std::move(*fits);
  waiting.erase(fits);
  return taken;
}

void PinnedReserve::give_back(PinnedBuffer buffer, int node) {
  if (buffer.bytes() > kLargest) {
    return;
  }
  auto& waiting = state_->nodes[node];
  const auto place = std::find_if(waiting.begin(), waiting.end(),
                                  [&](const PinnedBuffer& other) { return other.bytes() >= buffer.bytes(); });
  waiting.insert(place, std::move(buffer));
  if (waiting.size() > kMostOfNode) {
    waiting.erase(waiting.begin());
  }
}

void PinnedReserve::clear() {
  state_->nodes.clear();
}

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

namespace {

// Addresses, and memory that is mapped there in pieces of one size. What has been taken so far is given back
// in the opposite order, also where a later step failed.
class VmmRange {
 public:
  // `what`: the memory, for reasons. `bytes` are whole pieces, and these whole units of `granularity`, a
  // power of two at which the addresses begin.
  VmmRange(std::string what, std::uint64_t bytes, std::uint64_t piece_bytes, std::uint64_t granularity)
      : what_(std::move(what)), bytes_(bytes), piece_bytes_(piece_bytes) {
    CUdeviceptr address = 0;
    expect_driver(driver_.reserve(&address, bytes, granularity, 0, 0), "reserve addresses for " + what_);
    address_ = address;
  }
  VmmRange(const VmmRange&) = delete;
  VmmRange& operator=(const VmmRange&) = delete;
  ~VmmRange() {
    while (pieces_ > 0) {
      static_cast<void>(driver_.unmap(address_ + --pieces_ * piece_bytes_, piece_bytes_));
    }
    static_cast<void>(driver_.free_address(address_, bytes_));
  }

  // Makes the next piece.
  void add(const CUmemAllocationProp& properties) {
    CUmemGenericAllocationHandle memory{};
    expect_driver(driver_.create(&memory, piece_bytes_, &properties, 0), "make " + what_ + " by cuMemCreate");
    const CUresult mapped = driver_.map(address_ + pieces_ * piece_bytes_, piece_bytes_, 0, memory, 0);
    // The mapping keeps the memory; without one this frees it.
    static_cast<void>(driver_.release(memory));
    expect_driver(mapped, "map " + what_);
    ++pieces_;
  }
  // Once all pieces are there.
  void let_in(const std::vector<CUmemLocation>& readers) {
    std::vector<CUmemAccessDesc> access;
    for (const CUmemLocation& reader : readers) {
      access.push_back({reader, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    }
    expect_driver(driver_.set_access(address_, bytes_, access.data(), access.size()),
                  "give access to " + what_);
  }
  [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(address_); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  Driver driver_;
  std::string what_;
  std::uint64_t bytes_;
  std::uint64_t piece_bytes_;
  std::uint64_t pieces_ = 0;
  CUdeviceptr address_ = 0;
};

// The driver's calls need the context that the runtime makes at its first use.
void need_context(int gpu) {
  const DeviceGuard guard(gpu);
  check(cudaFree(nullptr), "create a context on GPU " + std::to_string(gpu));
}

CUmemAllocationProp memory_at(CUmemLocationType type, int id) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = type;
  properties.location.id = id;
  return properties;
}

std::uint64_t granularity_of(const CUmemAllocationProp& properties, const std::string& what) {
  std::size_t granularity = 0;
  expect_driver(Driver().granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                "ask for the granularity of " + what);
  return granularity;
}

std::uint64_t in_whole(std::uint64_t pieces_of, std::uint64_t bytes) {
  return (std::max<std::uint64_t>(1, bytes) + pieces_of - 1) / pieces_of * pieces_of;
}

}  // namespace

struct HostVmmBuffer::Mapping : VmmRange {
  using VmmRange::VmmRange;
};

HostVmmBuffer::HostVmmBuffer(int gpu, int node, std::uint64_t bytes) {
  need_context(gpu);
  const DeviceGuard guard(gpu);
  const std::string what = format_bytes(bytes) + " of host memory on NUMA node " + std::to_string(node);
  const CUmemAllocationProp properties = memory_at(CU_MEM_LOCATION_TYPE_HOST_NUMA, node);
  const std::uint64_t granularity = granularity_of(properties, what);
  const std::uint64_t rounded = in_whole(granularity, bytes);
  mapping_ = std::make_unique<Mapping>(what, rounded, rounded, granularity);
  mapping_->add(properties);
  mapping_->let_in({{CU_MEM_LOCATION_TYPE_DEVICE, gpu}, properties.location});
}

HostVmmBuffer::~HostVmmBuffer() = default;
HostVmmBuffer::HostVmmBuffer(HostVmmBuffer&& other) noexcept = default;
HostVmmBuffer& HostVmmBuffer::operator=(HostVmmBuffer&& other) noexcept = default;

void* HostVmmBuffer::data() const noexcept {
  return mapping_->data();
}

std::uint64_t HostVmmBuffer::bytes() const noexcept {
  return mapping_->bytes();
}

struct InterleavedBuffer::Mapping : VmmRange {
  using VmmRange::VmmRange;
};

InterleavedBuffer::InterleavedBuffer(const std::vector<int>& gpus, std::uint64_t bytes) {
  if (gpus.empty()) {
    throw UsageError("memory interleaved over no GPU");
  }
  std::string what = format_bytes(bytes) + " interleaved over the GPUs";
  std::vector<CUmemLocation> readers;
  std::uint64_t piece = 2 * kMiB;
  for (const int gpu : gpus) {
    need_context(gpu);
    what += " " + std::to_string(gpu);
    const CUmemAllocationProp properties = memory_at(CU_MEM_LOCATION_TYPE_DEVICE, gpu);
    piece = std::max(piece, granularity_of(properties, what));
    if (std::none_of(readers.begin(), readers.end(), [&](const auto& known) { return known.id == gpu; })) {
      readers.push_back(properties.location);
    }
  }
  const std::uint64_t rounded = in_whole(piece, bytes);
  const std::uint64_t pieces = rounded / piece;
  std::map<int, std::uint64_t> share;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    share[gpus[i]] += (pieces + gpus.size() - 1 - i) / gpus.size() * piece;
  }
  for (const auto& [gpu, own] : share) {
    require_room(gpu, own);
  }
  mapping_ = std::make_unique<Mapping>(what, rounded, piece, piece);
  for (std::uint64_t at = 0; at < pieces; ++at) {
    mapping_->add(memory_at(CU_MEM_LOCATION_TYPE_DEVICE, gpus[at % gpus.size()]));
  }
  mapping_->let_in(readers);
}

InterleavedBuffer::~InterleavedBuffer() = default;
InterleavedBuffer::InterleavedBuffer(InterleavedBuffer&& other) noexcept = default;
InterleavedBuffer& InterleavedBuffer::operator=(InterleavedBuffer&& other) noexcept = default;

void* InterleavedBuffer::data() const noexcept {
  return mapping_->data();
}

std::uint64_t InterleavedBuffer::bytes() const noexcept {
  return mapping_->bytes();
}

namespace {

static_assert(sizeof(IpcHandle) == sizeof(cudaIpcMemHandle_t));

constexpr std::uint64_t kPiece = 2 * kMiB;

// Where the driver cannot share memory, the machine has no IPC that works: no wrong result. An error that
// lasts is another matter.
void check_ipc(cudaError_t status, const std::string& tried) {
  try {
    check(status, tried);
  } catch (const GpuLostError&) {
    throw;
  } catch (const FailedError& error) {
    throw SkipError(std::string("CUDA IPC does not work here: ") + error.what());
  }
}

}  // namespace

SharedBuffer::SharedBuffer(int gpu, std::uint64_t bytes)
    : memory_(gpu, (bytes + kPiece - 1) / kPiece * kPiece), handle_{} {
  const DeviceGuard guard(gpu);
  cudaIpcMemHandle_t handle{};
  check_ipc(cudaIpcGetMemHandle(&handle, memory_.data()),
            "share " + format_bytes(memory_.bytes()) + " of GPU " + std::to_string(gpu));
  std::memcpy(handle_.data(), &handle, sizeof(handle));
}

OpenedBuffer::OpenedBuffer(int gpu, const IpcHandle& handle) {
  const DeviceGuard guard(gpu);
  cudaIpcMemHandle_t of_other{};
  std::memcpy(&of_other, handle.data(), sizeof(of_other));
  void* data = nullptr;
  check_ipc(cudaIpcOpenMemHandle(&data, of_other, cudaIpcMemLazyEnablePeerAccess),
            "open for GPU " + std::to_string(gpu) + " memory that another process shares");
  data_.reset(data);
}

void OpenedBuffer::Close::operator()(void* data) const noexcept {
  static_cast<void>(cudaIpcCloseMemHandle(data));
}

static_assert(sizeof(IpcHandle) == sizeof(cudaIpcEventHandle_t));

SharedEvent share_event(int gpu) {
  const DeviceGuard guard(gpu);
  cudaEvent_t made = nullptr;
  check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | cudaEventInterprocess),
        "create an event of several processes");
  SharedEvent shared{Event(made), {}};
  cudaIpcEventHandle_t handle{};
  check_ipc(cudaIpcGetEventHandle(&handle, made), "share an event of GPU " + std::to_string(gpu));
  std::memcpy(shared.handle.data(), &handle, sizeof(handle));
  return shared;
}

Event open_event(int gpu, const IpcHandle& handle) {
  const DeviceGuard guard(gpu);
  cudaIpcEventHandle_t of_other{};
  std::memcpy(&of_other, handle.data(), sizeof(of_other));
  cudaEvent_t opened = nullptr;
  check_ipc(cudaIpcOpenEventHandle(&opened, of_other), "open an event that another process shares");
  return Event(opened);
}

}  // namespace grainscope::cuda
