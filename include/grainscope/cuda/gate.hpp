#ifndef GRAINSCOPE_CUDA_GATE_HPP
#define GRAINSCOPE_CUDA_GATE_HPP

// What stands around a timed region on a GPU. A gate holds a stream back until everything behind it has
// been enqueued, so that what is timed is the work and not its submission; a rig for gathers keeps output
// and cache clean and collects what checks find.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

// A kernel that spins on a flag in host memory, with a time-out on the GPU's own clock. One gate may be
// closed on several streams, of several GPUs; it opens for all of them at once. Never put a pageable copy or
// a host fault behind it: those may wait for the stream before they return.
class Gate {
 public:
  // Loads the kernel for the current GPU, since loading it lazily behind a spinning one can deadlock.
  explicit Gate(double timeout_s = 5.0);
  // The same for another GPU, which must be current.
  static void load();
  // Enqueues the spinning kernel. The stream's GPU must be current.
  void close(const Stream& stream);
  // Lets the stream go on.
  void open() noexcept;
  // Call when the stream has finished: throws FailedError if the gate opened by its time-out.
  void check_opened_in_time() const;

 private:
  struct Flags;  // in mapped host memory
  PinnedBuffer memory_;
  double timeout_s_;
};

// A stream's part of what stands behind one gate.
struct GatedWork {
  const Stream* stream = nullptr;
  std::function<void()> enqueue;
  const Event* start = nullptr;  // recorded as soon as the gate is closed; null: by nobody
  const Event* stop = nullptr;   // recorded behind the work, and waited for; null: the stream is waited for
  std::optional<int> gpu = {};   // made current for this part; absent: it is
};

// Work of one or several streams behind one gate. Every gate is closed before any work stands behind one:
// streams may share a queue of the hardware. What the works use outlives the run.
class GatedRun {
 public:
  // Closes the gate and enqueues. What `enqueue` throws opens it again.
  GatedRun(Gate& gate, std::vector<GatedWork> works);
  // One that was not opened is opened and waited for: the GPU is never left to spin.
  ~GatedRun();
  GatedRun(const GatedRun&) = delete;
  GatedRun& operator=(const GatedRun&) = delete;

  // On the clock of steady_now_s, which all processes of a machine share: when the gate was about to open,
  // when it surely had, and when all work had ended.
  struct Times {
    double begun_s = 0;
    double opened_s = 0;
    double ended_s = 0;
  };
  // Opens the gate, at a moment of that clock or at once where it is past, and waits: by `wait` first, where
  // work may never end by itself. Throws FailedError for a failed operation or a gate that timed out, and
  // what `wait` throws.
  Times open(double start_s = 0, const std::function<void()>& wait = {});

 private:
  void let_go() noexcept;

  Gate& gate_;
  std::vector<GatedWork> works_;
  bool ended_ = false;
};

// Seconds that `enqueue`'s work takes on `stream`, between two events behind a closed gate.
// Ends at a checked event. Throws FailedError for a failed operation or a gate that timed out.
class GatedStopwatch {
 public:
  [[nodiscard]] double time_s(const Stream& stream, const std::function<void()>& enqueue);

 private:
  Gate gate_;
  Event start_;
  Event stop_;
};

// What every gather on a GPU has around its timed region: lists that samples take in turn, an output and a
// cache that hold nothing of what came before, and a word that checks of all samples write to.
class GatherRig {
 public:
  // What the word is before any check: all ones, for the lowest place of something wrong, or 0, for a sum.
  enum class Word { lowest, sum };
  inline static constexpr std::uint64_t kNothingWrong = ~std::uint64_t{0};

  // On `gpu`, which is current. `output_bytes` 0: nothing is written.
  GatherRig(int gpu, std::size_t lists, std::uint64_t output_bytes, Word word);

  // Enqueues: overwrites the output, and the GPU's L2 cache.
  void make_cold(const Stream& stream) const;
  // Number of the list whose turn it is.
  [[nodiscard]] std::size_t next_list() noexcept { return samples_++ % lists_; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }

  [[nodiscard]] std::byte* output() const { return static_cast<std::byte*>(output_->data()); }
  [[nodiscard]] std::uint64_t output_bytes() const { return output_->bytes(); }

  // The word (device), for one check more.
  [[nodiscard]] unsigned long long* word() noexcept {
    ++checks_;
    return static_cast<unsigned long long*>(word_.data());
  }
  // Waits; what all checks left there. Throws FailedError where there was none: "no rows were gathered".
  [[nodiscard]] std::uint64_t found(const Stream& stream, const char* none) const;

 private:
  std::size_t lists_;
  std::optional<DeviceBuffer> output_;
  DeviceBuffer evictor_;
  DeviceBuffer word_;
  std::uint64_t samples_ = 0;
  std::uint64_t checks_ = 0;
};

}  // namespace grainscope::cuda

#endif
