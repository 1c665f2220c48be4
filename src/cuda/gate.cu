#include "grainscope/cuda/gate.hpp"

#include <cuda_runtime.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "launch.cuh"

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
  load_kernel(spin_until_open, "load the gate's kernel");
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

GatedRun::GatedRun(Gate& gate, std::vector<GatedWork> works) : gate_(gate), works_(std::move(works)) {
  const auto make_current = [](const GatedWork& work, std::optional<DeviceGuard>& guard) {
    if (work.gpu) {
      guard.emplace(*work.gpu);
    }
  };
  try {
    for (const GatedWork& work : works_) {
      std::optional<DeviceGuard> guard;
      make_current(work, guard);
      gate_.close(*work.stream);
      if (work.start != nullptr) {
        work.start->record(*work.stream);
      }
    }
    for (const GatedWork& work : works_) {
      std::optional<DeviceGuard> guard;
      make_current(work, guard);
      work.enqueue();
      if (work.stop != nullptr) {
        work.stop->record(*work.stream);
      }
    }
  } catch (...) {
    let_go();
    throw;
  }
}

GatedRun::~GatedRun() {
  if (!ended_) {
    let_go();
  }
}

void GatedRun::let_go() noexcept {
  gate_.open();
  for (const GatedWork& work : works_) {
    static_cast<void>(cudaStreamSynchronize(work.stream->get()));
  }
}

GatedRun::Times GatedRun::open(double start_s, const std::function<void()>& wait) {
  Times times;
  while (steady_now_s() < start_s) {
  }
  times.begun_s = steady_now_s();
  gate_.open();
  times.opened_s = steady_now_s();
  if (wait) {
    wait();
  }
  for (const GatedWork& work : works_) {
    if (work.stop != nullptr) {
      work.stop->synchronize();
    } else {
      work.stream->synchronize();
    }
  }
  times.ended_s = steady_now_s();
  ended_ = true;
  gate_.check_opened_in_time();
  return times;
}

double GatedStopwatch::time_s(const Stream& stream, const std::function<void()>& enqueue) {
  GatedRun(gate_, {{&stream, std::cref(enqueue), &start_, &stop_}}).open();
  return elapsed_s(start_, stop_);
}

namespace {

// Twice the cache, so that nothing that was read before is left of it.
std::uint64_t evictor_bytes(int gpu) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, gpu), "read the size of a GPU's cache");
  return std::max<std::uint64_t>(2 * static_cast<std::uint64_t>(bytes), kMiB);
}

}  // namespace

GatherRig::GatherRig(int gpu, std::size_t lists, std::uint64_t output_bytes, Word word)
    : lists_(lists),
      output_(output_bytes > 0 ? std::make_optional<DeviceBuffer>(gpu, output_bytes) : std::nullopt),
      evictor_(gpu, evictor_bytes(gpu)),
      word_(gpu, sizeof(unsigned long long)) {
  check(cudaMemset(word_.data(), word == Word::lowest ? 0xff : 0, word_.bytes()), "clear a check's result");
}

void GatherRig::make_cold(const Stream& stream) const {
  constexpr int kOther = 0xa5;
  if (output_) {
    check(cudaMemsetAsync(output_->data(), kOther, output_->bytes(), stream.get()), "overwrite an output");
  }
  check(cudaMemsetAsync(evictor_.data(), 0, evictor_.bytes(), stream.get()), "overwrite the GPU's cache");
}

std::uint64_t GatherRig::found(const Stream& stream, const char* none) const {
  stream.synchronize();
  unsigned long long word = 0;
  check(cudaMemcpy(&word, word_.data(), sizeof(word), cudaMemcpyDeviceToHost), "read a check's result");
  if (checks_ == 0) {
    throw FailedError(std::string("wrong result: ") + none);
  }
  return word;
}

}  // namespace grainscope::cuda
