// What it costs to take memory from a pool in a stream's order, and to give it back. The pool keeps what is
// given back, so that after the first sample nothing is asked of the driver: the way pools are meant.

#include <algorithm>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {
namespace {

constexpr std::uint64_t kMostBytes = 256 * kMiB;  // held at once, where one allocation is not more
constexpr std::uint64_t kMostCalls = 16;
constexpr std::uint64_t kDeviceReserve = 256 * kMiB;

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

}  // namespace grainscope::cuda
