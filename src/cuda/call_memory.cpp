// What it costs to take memory that a GPU can reach, and to give it back. A sample is one pair of calls, one
// of which is timed; between them the memory is written and read at both ends.

#include <algorithm>
#include <cstring>
#include <optional>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::cuda {
namespace {

// What the context and the library need beside the memory asked for.
constexpr std::uint64_t kDeviceReserve = 256 * kMiB;
constexpr unsigned kHostFlags = cudaHostAllocPortable | cudaHostAllocMapped;
constexpr unsigned kRegisterFlags = cudaHostRegisterPortable | cudaHostRegisterMapped;

bool is_one_of(Call call, std::initializer_list<Call> calls) {
  return std::find(calls.begin(), calls.end(), call) != calls.end();
}

bool is_on_host(Call call) {
  return is_one_of(call, {Call::host_alloc, Call::host_free, Call::host_register, Call::host_unregister});
}
bool registers(Call call) {
  return is_one_of(call, {Call::host_register, Call::host_unregister});
}
bool is_managed(Call call) {
  return is_one_of(call, {Call::malloc_managed, Call::managed_free});
}
bool gives_back(Call call) {
  return is_one_of(call, {Call::free, Call::host_free, Call::host_unregister, Call::managed_free});
}

// A share of the managed budget for as long as it lives.
class ManagedShare {
 public:
  ManagedShare(ManagedBudget& budget, int gpu, std::uint64_t bytes)
      : budget_(budget), gpu_(gpu), bytes_(bytes) {
    budget_.reserve(gpu_, bytes_);
  }
  ~ManagedShare() { budget_.release(gpu_, bytes_); }
  ManagedShare(const ManagedShare&) = delete;
  ManagedShare& operator=(const ManagedShare&) = delete;

 private:
  ManagedBudget& budget_;
  int gpu_;
  std::uint64_t bytes_;
};

class MemoryProbe final : public CallProbe {
 public:
  MemoryProbe(const CallSpec& spec, const Topology& topology, ManagedBudget& budget)
      : spec_(spec), topology_(topology), guard_(spec.gpu), echo_(spec.gpu, sizeof(std::uint64_t)) {
    if (registers(spec.what)) {
      memory_.emplace(
          topology,
          HostMemoryRequest{.bytes = spec.bytes, .node = spec.node, .pages = spec.pages, .touch_threads = 4});
      expect_huge_pages();
      data_ = memory_->data();
    }
    if (is_managed(spec.what)) {
      share_.emplace(budget, spec.gpu, spec.bytes);
    } else if (!is_on_host(spec.what)) {
      const MemoryInfo card = memory_info(spec.gpu);
      if (spec.bytes + kDeviceReserve > card.free_bytes) {
        throw SkipError("needs " + format_bytes(spec.bytes) + " on GPU " + std::to_string(spec.gpu) +
                        ", which has " + format_bytes(card.free_bytes) + " free");
      }
    }
  }

  ~MemoryProbe() override {
    if (taken_) {
      static_cast<void>(give());
    }
  }

  double run() override {
    const double take_s =
        time_calls(1, "take " + format_bytes(spec_.bytes) + " of memory", [this](int) { return take(); });
    taken_ = true;
    expect_known_as(is_on_host(spec_.what)   ? cudaMemoryTypeHost
                    : is_managed(spec_.what) ? cudaMemoryTypeManaged
                                             : cudaMemoryTypeDevice);
    use();
    taken_ = false;
    const double give_s = time_calls(1, "give " + format_bytes(spec_.bytes) + " of memory back",
                                     [this](int) { return give(); });
    expect_known_as(cudaMemoryTypeUnregistered);
    return gives_back(spec_.what) ? give_s : take_s;
  }

  std::string verify() override {
    return "between the two calls the memory was known to CUDA, and both its ends held a number that went to "
           "the GPU and came back; after them it was not known any more";
  }

  [[nodiscard]] Timing timing() const override { return {Clock::steady, false, timed()}; }
  void describe(Measurement& measurement) override { measurement.operations = 1; }

 private:
  [[nodiscard]] const char* timed() const {
    switch (spec_.what) {
      case Call::malloc:
        return "cudaMalloc";
      case Call::free:
        return "cudaFree of memory from cudaMalloc, on an idle GPU";
      case Call::host_alloc:
        return "cudaHostAlloc, portable and mapped";
      case Call::host_free:
        return "cudaFreeHost";
      case Call::host_register:
        return "cudaHostRegister, portable and mapped, of memory that was touched";
      case Call::host_unregister:
        return "cudaHostUnregister";
      case Call::malloc_managed:
        return "cudaMallocManaged; its first touch is not in it";
      default:
        return "cudaFree of managed memory of which both ends were touched";
    }
  }

  cudaError_t take() {
    if (registers(spec_.what)) {
      return cudaHostRegister(data_, spec_.bytes, kRegisterFlags);
    }
    if (is_on_host(spec_.what)) {
      return cudaHostAlloc(&data_, spec_.bytes, kHostFlags);
    }
    return is_managed(spec_.what) ? cudaMallocManaged(&data_, spec_.bytes, cudaMemAttachGlobal)
                                  : cudaMalloc(&data_, spec_.bytes);
  }

  cudaError_t give() {
    if (registers(spec_.what)) {
      return cudaHostUnregister(data_);
    }
    return is_on_host(spec_.what) ? cudaFreeHost(data_) : cudaFree(data_);
  }

  void expect_known_as(cudaMemoryType type) const {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, data_), "ask what a pointer points to");
    if (attributes.type != type) {
      throw FailedError(std::string("wrong result: the memory is ") +
                        (type == cudaMemoryTypeUnregistered ? "still known to CUDA after it was given back"
                                                            : "not known to CUDA as what was asked for"));
    }
  }

  // A number goes to each end, from there to the GPU, and back.
  void use() {
    auto* bytes = static_cast<std::byte*>(data_);
    for (std::byte* end : {bytes, bytes + spec_.bytes - sizeof(std::uint64_t)}) {
      const std::uint64_t sent = ++token_ * 0x9e3779b97f4a7c15;
      std::uint64_t back = 0;
      if (is_on_host(spec_.what)) {
        std::memcpy(end, &sent, sizeof(sent));
      } else {
        check(cudaMemcpy(end, &sent, sizeof(sent), cudaMemcpyDefault), "write to new memory");
      }
      check(cudaMemcpy(echo_.data(), end, sizeof(sent), cudaMemcpyDefault), "read new memory");
      check(cudaMemcpy(&back, echo_.data(), sizeof(back), cudaMemcpyDefault), "read a number back");
      if (back != sent) {
        throw FailedError("wrong result: what was written to an end of the new memory is not what came back");
      }
    }
    if (is_on_host(spec_.what) && topology_.nodes().size() > 1) {
      verify_placement(data_, spec_.bytes, spec_.node, 64);
    }
  }

  void expect_huge_pages() const {
    if (spec_.pages == PageKind::transparent_huge &&
        !is_transparent_huge(memory_->data(), spec_.bytes).value_or(true)) {
      throw SkipError(
          "the kernel did not grant transparent huge pages: see /sys/kernel/mm/transparent_hugepage");
    }
  }

  CallSpec spec_;
  const Topology& topology_;
  DeviceGuard guard_;
  DeviceBuffer echo_;
  std::optional<HostMemory> memory_;  // what is registered
  std::optional<ManagedShare> share_;
  void* data_ = nullptr;
  bool taken_ = false;
  std::uint64_t token_ = 0;
};

}  // namespace

std::unique_ptr<CallProbe> make_memory_call(const CallSpec& spec, const Topology& topology,
                                            ManagedBudget& budget) {
  if (spec.bytes < 2 * sizeof(std::uint64_t)) {
    throw UsageError("memory to be taken is 16 bytes or more, not " + std::to_string(spec.bytes));
  }
  return std::make_unique<MemoryProbe>(spec, topology, budget);
}

}  // namespace grainscope::cuda
