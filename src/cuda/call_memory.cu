// What it costs to take memory that a GPU can reach, to touch it first, and to give it back.

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/statistics.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/placement.hpp"
#include "launch.cuh"

namespace grainscope::cuda {
namespace {

// The first touch of fresh managed memory, by the GPU or by the host: the faults that give it pages. A sample
// is a new allocation, all of whose pages one kernel, or one CPU thread, writes to.

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 256;
constexpr std::size_t kPagesLookedAt = 64;

// A warp writes one word to a page, and goes on by the number of warps.
__global__ void touch_fresh_pages(std::uint32_t* words, std::uint64_t pages, std::uint64_t words_per_page,
                                  std::uint32_t seed) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  for (std::uint64_t page = warp; page < pages; page += warps) {
    if (threadIdx.x % 32 == 0) {
      words[page * words_per_page] = pattern_word(page, seed);
    }
  }
}

__global__ void count_touched_pages(const std::uint32_t* words, std::uint64_t pages,
                                    std::uint64_t words_per_page, std::uint32_t seed,
                                    unsigned long long* right) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t page = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; page < pages;
       page += stride) {
    if (words[page * words_per_page] == pattern_word(page, seed)) {
      atomicAdd(right, 1ULL);
    }
  }
}

class FirstTouchProbe final : public CallProbe {
 public:
  FirstTouchProbe(const CallSpec& spec, ManagedBudget& budget)
      : spec_(spec),
        budget_(budget),
        by_host_(spec.what == Call::managed_first_touch_by_host),
        words_per_page_(base_page_bytes() / sizeof(std::uint32_t)),
        pages_(spec.bytes / base_page_bytes()),
        guard_(spec.gpu),
        right_(spec.gpu, sizeof(unsigned long long)) {
    load_kernel(touch_fresh_pages, "load the kernel that touches pages");
    load_kernel(count_touched_pages, "load the kernel that counts pages");
  }

  double run() override {
    const ManagedBuffer memory(budget_, spec_.gpu, spec_.bytes);
    auto* words = static_cast<std::uint32_t*>(memory.data());
    // Another pattern each time, so that nothing left over can pass for it.
    ++seed_;
    const double seconds = by_host_ ? touch_from_host(words) : touch_from_gpu(words);
    expect_touched(words);
    return seconds;
  }

  std::string verify() override {
    const std::string held = "every page held what was written to it";
    return residency_known_
               ? held + ", and those looked at " + (by_host_ ? "were" : "were not") + " on the host"
               : held;
  }

  [[nodiscard]] Timing timing() const override {
    if (by_host_) {
      return {Clock::steady, false, "a CPU thread that writes one word to each page of a fresh allocation"};
    }
    return {Clock::event, true, "a kernel that writes one word to each page of a fresh allocation"};
  }
  void describe(Measurement& measurement) override { measurement.operations = 1; }

 private:
  double touch_from_gpu(std::uint32_t* words) {
    return stopwatch_.time_s(stream_, [&] {
      touch_fresh_pages<<<kBlocks, kThreads, 0, stream_.get()>>>(words, pages_, words_per_page_, seed_);
      check_launch("touch_fresh_pages");
    });
  }

  [[nodiscard]] double touch_from_host(volatile std::uint32_t* words) const {
    const double start_s = steady_now_s();
    for (std::uint64_t page = 0; page < pages_; ++page) {
      words[page * words_per_page_] = pattern_word(page, seed_);
    }
    return steady_now_s() - start_s;
  }

  void expect_touched(const std::uint32_t* words) {
    const auto presence = pages_present(words, spec_.bytes, kPagesLookedAt);
    residency_known_ = presence.has_value();
    const std::uint64_t misplaced = presence ? (by_host_ ? presence->absent : presence->present) : 0;
    if (misplaced > 0) {
      throw FailedError(std::string("fresh managed pages that the ") +
                        (by_host_ ? "host touched did not come" : "GPU touched came") +
                        " to lie on the host: " + std::to_string(misplaced) + " of those looked at");
    }
    // Only now, since this access too would bring the pages to the GPU.
    auto* counter = static_cast<unsigned long long*>(right_.data());
    check(cudaMemsetAsync(counter, 0, sizeof(*counter), stream_.get()), "clear a counter");
    count_touched_pages<<<kBlocks, kThreads, 0, stream_.get()>>>(words, pages_, words_per_page_, seed_,
                                                                 counter);
    check_launch("count_touched_pages");
    unsigned long long right = 0;
    check(cudaMemcpyAsync(&right, counter, sizeof(right), cudaMemcpyDeviceToHost, stream_.get()),
          "read a counter");
    stream_.synchronize();
    if (right != pages_) {
      throw FailedError("wrong result: " + std::to_string(right) + " of " + std::to_string(pages_) +
                        " pages hold what was written to them");
    }
  }

  CallSpec spec_;
  ManagedBudget& budget_;
  bool by_host_;
  std::uint64_t words_per_page_;
  std::uint64_t pages_;
  DeviceGuard guard_;
  Stream stream_;
  GatedStopwatch stopwatch_;
  DeviceBuffer right_;
  std::uint32_t seed_ = 0;
  bool residency_known_ = true;
};

}  // namespace

std::unique_ptr<CallProbe> make_first_touch_call(const CallSpec& spec, ManagedBudget& budget) {
  if (spec.bytes == 0 || spec.bytes % base_page_bytes() != 0) {
    throw UsageError("a first touch is of whole pages of " + format_bytes(base_page_bytes()) + ", not of " +
                     format_bytes(spec.bytes));
  }
  return std::make_unique<FirstTouchProbe>(spec, budget);
}

namespace {

// Memory that is taken and given back. A sample is one pair of calls, one of which is timed; between them the
// memory is written and read at both ends.

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

namespace {

// A pool in a stream's order keeps what is given back, so that after the first sample nothing is asked of the
// driver: the way pools are meant.

constexpr std::uint64_t kMostBytes = 256 * kMiB;  // held at once, where one allocation is not more
constexpr std::uint64_t kMostCalls = 16;

class Pool {
 public:
  explicit Pool(int gpu) {
    int supported = 0;
    check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, gpu), "ask for memory pools");
    if (supported == 0) {
      throw SkipError("GPU " + std::to_string(gpu) + " has no memory pools");
    }
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = gpu;
    check(cudaMemPoolCreate(&pool_, &properties), "create a memory pool");
    std::uint64_t keep = UINT64_MAX;
    const cudaError_t status = cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep);
    if (status != cudaSuccess) {
      static_cast<void>(cudaMemPoolDestroy(pool_));
    }
    check(status, "make a memory pool keep its memory");
  }
  ~Pool() { static_cast<void>(cudaMemPoolDestroy(pool_)); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] cudaMemPool_t get() const { return pool_; }
  // Bytes that are taken now.
  [[nodiscard]] std::uint64_t used() const {
    std::uint64_t bytes = 0;
    check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &bytes), "read a pool's use");
    return bytes;
  }

 private:
  cudaMemPool_t pool_ = nullptr;
};

class PoolProbe final : public CallProbe {
 public:
  explicit PoolProbe(const CallSpec& spec)
      : gives_back_(spec.what == Call::free_async),
        bytes_(spec.bytes),
        guard_(spec.gpu),
        pool_(spec.gpu),
        taken_(std::clamp<std::uint64_t>(kMostBytes / spec.bytes, 1, kMostCalls), nullptr) {
    const MemoryInfo card = memory_info(spec.gpu);
    if (bytes_ * taken_.size() + kDeviceReserve > card.free_bytes) {
      throw SkipError("needs " + format_bytes(bytes_ * taken_.size()) + " on GPU " +
                      std::to_string(spec.gpu) + ", which has " + format_bytes(card.free_bytes) + " free");
    }
  }

  ~PoolProbe() override {
    for (void* data : taken_) {
      if (data != nullptr) {
        static_cast<void>(cudaFreeAsync(data, stream_.get()));
      }
    }
    static_cast<void>(cudaStreamSynchronize(stream_.get()));
  }

  double run() override {
    const int calls = static_cast<int>(taken_.size());
    const double take_s = time_calls(calls, "take memory from a pool", [this](int i) {
      return cudaMallocFromPoolAsync(&taken_[static_cast<std::size_t>(i)], bytes_, pool_.get(),
                                     stream_.get());
    });
    if (pool_.used() < bytes_ * taken_.size()) {
      throw FailedError("wrong result: the pool gave less memory than was asked for");
    }
    use();
    const double give_s = time_calls(calls, "give memory back to a pool", [this](int i) {
      return cudaFreeAsync(std::exchange(taken_[static_cast<std::size_t>(i)], nullptr), stream_.get());
    });
    stream_.synchronize();
    if (pool_.used() != 0) {
      throw FailedError("wrong result: the pool still has memory in use after all of it was given back");
    }
    return gives_back_ ? give_s : take_s;
  }

  std::string verify() override {
    return "the pool counted the memory as taken, both ends of each piece held a number of its own, and the "
           "pool counted it as given back";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            gives_back_ ? "cudaFreeAsync of pieces that nothing uses any more"
                        : "cudaMallocFromPoolAsync from a pool that keeps its memory"};
  }
  void describe(Measurement& measurement) override { measurement.operations = taken_.size(); }

 private:
  [[nodiscard]] std::byte* end_of(std::size_t piece, bool last) const {
    return static_cast<std::byte*>(taken_[piece]) + (last ? bytes_ - sizeof(std::uint64_t) : 0);
  }

  // A number of its own goes to each end of each piece; only then are they read, so that pieces that share
  // memory are found out.
  void use() {
    for (std::size_t i = 0; i < 2 * taken_.size(); ++i) {
      const std::uint64_t sent = (token_ + i + 1) * 0x9e3779b97f4a7c15;
      check(cudaMemcpyAsync(end_of(i / 2, i % 2 == 1), &sent, sizeof(sent), cudaMemcpyHostToDevice,
                            stream_.get()),
            "write to memory of a pool");
    }
    for (std::size_t i = 0; i < 2 * taken_.size(); ++i) {
      std::uint64_t back = 0;
      check(cudaMemcpyAsync(&back, end_of(i / 2, i % 2 == 1), sizeof(back), cudaMemcpyDeviceToHost,
                            stream_.get()),
            "read memory of a pool");
      stream_.synchronize();
      if (back != (token_ + i + 1) * 0x9e3779b97f4a7c15) {
        throw FailedError("wrong result: what was written to a piece of the pool is not what came back");
      }
    }
    token_ += 2 * taken_.size();
  }

  bool gives_back_;
  std::uint64_t bytes_;
  DeviceGuard guard_;
  Pool pool_;
  Stream stream_;
  std::vector<void*> taken_;
  std::uint64_t token_ = 0;
};

}  // namespace

std::unique_ptr<CallProbe> make_pool_call(const CallSpec& spec) {
  if (spec.bytes < 2 * sizeof(std::uint64_t)) {
    throw UsageError("memory to be taken is 16 bytes or more, not " + std::to_string(spec.bytes));
  }
  return std::make_unique<PoolProbe>(spec);
}

namespace {

// Host memory that a GPU reads in place, from nothing until it may be read: allocation, advice, registering
// and the first touch by threads, whichever of them its kind needs. A sample takes it, has the CPU write and
// the GPU read all of it, and gives it back; of a fork the memory stays.

class MappedProbe final : public CallProbe {
 public:
  MappedProbe(const CallSpec& spec, const Topology& topology, ManagedBudget& budget)
      : spec_(spec), around_{&topology, &budget, nullptr}, guard_(spec.gpu) {
    use(take().first);  // so that what is made once, at the first use of a kind, is made
    if (forks()) {
      kept_.emplace(take().first);
      use(*kept_);
    }
  }

  double run() override {
    if (forks()) {
      return fork_once();
    }
    auto [memory, take_s] = take();
    use(memory);
    std::optional<MappedMemory> last(std::move(memory));
    const double start_s = steady_now_s();
    last.reset();
    const double give_s = steady_now_s() - start_s;
    return spec_.what == Call::give_back_mapped ? give_s : take_s;
  }

  std::string verify() override {
    const std::string read = "the GPU read every word that the CPU had written";
    return forks() ? read + ", before the forks and after them, and no page left the host as it read" : read;
  }

  [[nodiscard]] Timing timing() const override {
    switch (spec_.what) {
      case Call::take_mapped:
        return {Clock::steady, false,
                "taking memory until the GPU may read it: allocation, advice or registering, and the first "
                "touch by up to 16 threads, started for it, where the driver touches nothing"};
      case Call::give_back_mapped:
        return {Clock::steady, false, "giving back memory that the CPU wrote and the GPU read"};
      default:
        return {Clock::steady, false,
                "fork() until it returns to the process that holds the memory; the child leaves at once"};
    }
  }
  [[nodiscard]] bool on_callers_thread() const override { return forks(); }

  void describe(Measurement& measurement) override {
    measurement.operations = 1;
    measurement.counters["gpu_memory_bytes"] = summarize(gpu_bytes_).median;
    if (!unmapped_shares_.empty()) {
      measurement.counters["pages_unmapped_share"] = summarize(unmapped_shares_).median;
    }
  }

 private:
  [[nodiscard]] bool forks() const { return spec_.what == Call::fork_with_mapped; }
  [[nodiscard]] std::uint64_t free_on_gpu() const { return memory_info(spec_.gpu).free_bytes; }

  std::pair<MappedMemory, double> take() {
    const MappedRequest request{.kind = spec_.memory, .gpu = spec_.gpu, .home = spec_.node, .verify = false};
    const std::uint64_t free_before = free_on_gpu();
    const double start_s = steady_now_s();
    MappedMemory memory(request, spec_.bytes, around_);
    const double seconds = steady_now_s() - start_s;
    const std::uint64_t free_after = free_on_gpu();
    memory.verify();
    // Others may use the card meanwhile.
    gpu_bytes_.push_back(free_before > free_after ? static_cast<double>(free_before - free_after) : 0);
    return {std::move(memory), seconds};
  }

  [[nodiscard]] std::uint64_t words() const { return spec_.bytes / sizeof(std::uint32_t); }
  void use(const MappedMemory& memory) {
    grainscope::fill_pattern(static_cast<std::uint32_t*>(memory.host_data()), words(), ++seed_);
    expect_read(memory);
  }
  // The CPU wrote or read all of it just before, so only after the GPU's read is it worth a look.
  void expect_read(const MappedMemory& memory) {
    if (const auto wrong =
            find_mismatch(static_cast<const std::uint32_t*>(memory.device_data()), words(), seed_, stream_)) {
      throw FailedError("wrong result: the GPU does not read what the CPU wrote to word " +
                        std::to_string(*wrong));
    }
    memory.expect_on_host();
  }

  double fork_once() {
    const double start_s = steady_now_s();
    const pid_t child = fork();
    if (child == 0) {
      _exit(0);
    }
    const double seconds = steady_now_s() - start_s;
    if (child < 0) {
      throw EnvironmentError(std::string("fork: ") + std::strerror(errno) +
                             ". Allow more processes (ulimit -u) or more memory");
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    // Where the kernel takes the CPU's mapping away, each page faults once more.
    const auto presence = pages_present(kept_->host_data(), spec_.bytes, kPagesLookedAt);
    if (presence && presence->present + presence->absent > 0) {
      unmapped_shares_.push_back(static_cast<double>(presence->absent) /
                                 static_cast<double>(presence->present + presence->absent));
    }
    if (const auto wrong = grainscope::find_mismatch(static_cast<const std::uint32_t*>(kept_->host_data()),
                                                     words(), seed_)) {
      throw FailedError("wrong result: after a fork word " + std::to_string(*wrong) + " has changed");
    }
    expect_read(*kept_);
    return seconds;
  }

  CallSpec spec_;
  Surroundings around_;
  DeviceGuard guard_;
  Stream stream_;
  std::optional<MappedMemory> kept_;
  std::vector<double> gpu_bytes_;        // each time that it is taken
  std::vector<double> unmapped_shares_;  // after each fork
  std::uint32_t seed_ = 0;
};

}  // namespace

std::unique_ptr<CallProbe> make_mapped_call(const CallSpec& spec, const Topology& topology,
                                            ManagedBudget& budget) {
  if (spec.bytes == 0 || spec.bytes % sizeof(std::uint32_t) != 0) {
    throw UsageError("memory to be taken is whole words, not " + std::to_string(spec.bytes) + " bytes");
  }
  return std::make_unique<MappedProbe>(spec, topology, budget);
}

}  // namespace grainscope::cuda
