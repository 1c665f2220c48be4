// What a call costs each of several threads that make it at once: they share a context, and its locks.

#include <algorithm>
#include <string>
#include <vector>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/launch_counter.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::cuda {
namespace {

constexpr int kCalls = 128;  // of each thread a sample

class ThreadedProbe final : public CallProbe {
 public:
  explicit ThreadedProbe(const CallSpec& spec)
      : launches_kernels_(spec.what == Call::launch_by_threads),
        guard_(spec.gpu),
        team_(spec.threads, current_affinity()),
        streams_(static_cast<std::size_t>(spec.threads)),
        statuses_(streams_.size(), cudaSuccess),
        counter_(spec.gpu) {
    // The current GPU is a thread's own; a thread keeps it from sample to sample.
    static_cast<void>(team_.run([&](int worker) { note(worker, cudaSetDevice(spec.gpu)); }));
    expect_success("make a GPU current on every thread");
  }

  double run() override {
    if (!launches_kernels_) {
      launch_one_each();
    }
    const double seconds = team_.run([this](int worker) {
      const Stream& stream = streams_[static_cast<std::size_t>(worker)];
      for (int i = 0; i < kCalls; ++i) {
        note(worker, launches_kernels_ ? counter_.try_launch(stream) : cudaDeviceSynchronize());
      }
    });
    expect_success(launches_kernels_ ? "launch kernels from many threads" : "wait on many threads");
    if (launches_kernels_) {
      launched_ += streams_.size() * kCalls;
      synchronize();
    }
    return seconds;
  }

  std::string verify() override {
    synchronize();
    counter_.expect(launched_, streams_.front());
    return launches_kernels_ ? "every kernel that any thread launched added 1 to a counter on the GPU"
                             : "the work waited for was done: its kernels added 1 to a counter on the GPU";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            launches_kernels_
                ? "launches of a kernel of one thread, by host threads that start together, each into a "
                  "stream of its own"
                : "cudaDeviceSynchronize on a GPU whose work is done, by host threads that start together"};
  }
  [[nodiscard]] bool on_callers_thread() const override { return false; }
  // What one thread does: a call's cost to who makes it.
  void describe(Measurement& measurement) override { measurement.operations = kCalls; }

 private:
  void note(int worker, cudaError_t status) {
    if (status != cudaSuccess) {
      statuses_[static_cast<std::size_t>(worker)] = status;
    }
  }

  void expect_success(const char* tried) {
    for (cudaError_t& status : statuses_) {
      check(std::exchange(status, cudaSuccess), tried);
    }
  }

  void launch_one_each() {
    for (const Stream& stream : streams_) {
      counter_.launch(stream);
      ++launched_;
    }
    synchronize();
  }

  void synchronize() const {
    for (const Stream& stream : streams_) {
      stream.synchronize();
    }
  }

  bool launches_kernels_;
  DeviceGuard guard_;
  ThreadTeam team_;
  std::vector<Stream> streams_;
  std::vector<cudaError_t> statuses_;  // of each thread: the last that was no success
  LaunchCounter counter_;
  std::uint64_t launched_ = 0;
};

}  // namespace

std::unique_ptr<CallProbe> make_threaded_call(const CallSpec& spec) {
  if (spec.threads < 2) {
    throw UsageError("calls by threads are by two or more, not " + std::to_string(spec.threads));
  }
  if (const auto cpus = current_affinity().size(); static_cast<std::size_t>(spec.threads) > cpus) {
    throw SkipError(std::to_string(spec.threads) + " threads do not find a CPU each: the node has " +
                    std::to_string(cpus));
  }
  return std::make_unique<ThreadedProbe>(spec);
}

}  // namespace grainscope::cuda
