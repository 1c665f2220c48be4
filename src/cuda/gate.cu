#include <cuda_runtime.h>

#include <cstdint>

#include "global_timer.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/gate.hpp"

namespace grainscope::cuda {

struct Gate::Flags {
  volatile std::uint32_t open;
  volatile std::uint32_t timed_out;
};

namespace {

__global__ void spin_until_open(volatile std::uint32_t* open, volatile std::uint32_t* timed_out,
                                std::uint64_t timeout_ns) {
  const std::uint64_t start = global_timer_ns();
  while (*open == 0) {
    if (global_timer_ns() - start > timeout_ns) {
      *timed_out = 1;
      return;
    }
  }
}

}  // namespace

Gate::Gate(double timeout_s) : memory_(sizeof(Flags), PinnedBuffer::Kind::cached), timeout_s_(timeout_s) {
  load();
}

void Gate::load() {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, spin_until_open), "load the gate's kernel");
}

void Gate::close(const Stream& stream) {
  auto* flags = static_cast<Flags*>(memory_.data());
  flags->open = 0;
  flags->timed_out = 0;
  auto* mapped = static_cast<Flags*>(memory_.device_data());
  spin_until_open<<<1, 1, 0, stream.get()>>>(&mapped->open, &mapped->timed_out,
                                             static_cast<std::uint64_t>(timeout_s_ * 1e9));
  check_launch("spin_until_open");
}

void Gate::open() noexcept {
  static_cast<Flags*>(memory_.data())->open = 1;
}

void Gate::check_opened_in_time() const {
  if (static_cast<const Flags*>(memory_.data())->timed_out != 0) {
    throw FailedError(
        "the gate timed out: what was enqueued behind it waited for the stream, so the time "
        "would not be that of the work");
  }
}

double GatedStopwatch::time_s(const Stream& stream, const std::function<void()>& enqueue) {
  gate_.close(stream);
  try {
    start_.record(stream);
    enqueue();
    stop_.record(stream);
  } catch (...) {
    gate_.open();
    static_cast<void>(cudaStreamSynchronize(stream.get()));
    throw;
  }
  gate_.open();
  stop_.synchronize();
  gate_.check_opened_in_time();
  return elapsed_s(start_, stop_);
}

}  // namespace grainscope::cuda
