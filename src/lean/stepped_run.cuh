#ifndef GRAINSCOPE_SRC_LEAN_STEPPED_RUN_CUH
#define GRAINSCOPE_SRC_LEAN_STEPPED_RUN_CUH

// A traversal that is one kernel whose blocks wait for each other: it notes its steps in GPU memory, and the
// host learns of them at its end.

#include <cooperative_groups.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/memory.hpp"
#include "lists.cuh"

namespace grainscope::lean {

struct StepNote {
  std::uint64_t active;  // vertices whose lists were read
  std::uint64_t edges;   // in them
  std::uint64_t end_ns;  // by the GPU's clock
  std::uint64_t pull;
};

// Device memory that a kernel notes its steps in; by one thread of the grid.
struct StepBoard {
  StepNote* notes;  // [most]
  ReadNote* reads;  // [most]; null: nothing is counted
  std::uint64_t* begun_ns;
  std::uint32_t* steps;  // 0: there were more than `most`
  std::uint32_t most;

  __device__ void begin() const {
    *begun_ns = cuda::global_timer_ns();
    *steps = 0;
  }
  __device__ void note(std::uint32_t step, std::uint64_t active, std::uint64_t edges, bool pull) const {
    notes[step] = {active, edges, cuda::global_timer_ns(), pull ? 1ULL : 0ULL};
  }
};

// What a kernel is told of where it runs: here on one GPU, which reads all lists (on several: team.cuh). Its
// meeting is where all that are at work wait for each other; every thread calls, in the same order.
struct Alone {
  class Meeting {
   public:
    __device__ explicit Meeting(const Alone& /*alone*/) {}
    // Blocks of this GPU.
    __device__ void here() const { grid_.sync(); }
    // Blocks of all GPUs; false: some did not come, and a kernel ends.
    __device__ bool all() const {
      grid_.sync();
      return true;
    }
    // The same, and tells what `read()` says on each GPU.
    template <class Read>
    __device__ bool tell(const Read& /*read*/) const {
      grid_.sync();
      return true;
    }
    // What was told last, joined: `one.join(other)`.
    template <class Read>
    [[nodiscard]] __device__ auto total(const Read& read) const {
      return read();
    }

   private:
    cooperative_groups::grid_group grid_ = cooperative_groups::this_grid();
  };
  [[nodiscard]] __device__ AllWords words() const { return {}; }
};

class SteppedRun {
 public:
  // On `gpu`, which is current. `what`: "a search", for errors.
  SteppedRun(int gpu, std::uint32_t most, std::string what)
      : gpu_(gpu), what_(std::move(what)), notes_(gpu, most), begun_(gpu, 1), steps_(gpu, 1), most_(most) {
    cuda::require_together(gpu);
  }

  // The board for a timed run.
  [[nodiscard]] StepBoard board() const {
    return {notes_.data(), nullptr, begun_.data(), steps_.data(), most_};
  }
  // Seconds between two events around the kernel. Throws FailedError where it did not come to an end.
  template <class... Arguments>
  double run(void (*kernel)(Arguments...), std::type_identity_t<Arguments>... arguments) {
    void* addresses[] = {&arguments...};
    const void* const function = reinterpret_cast<const void*>(kernel);
    const unsigned grid = cuda::full_grid(function, kLeanThreads, gpu_);
    start_.record(stream_);
    cuda::launch_together(function, grid, kLeanThreads, addresses, stream_);
    stop_.record(stream_);
    stream_.synchronize();
    read_steps();
    return cuda::elapsed_s(start_, stop_);
  }
  // What the kernel noted, which is through. Throws FailedError where it did not come to an end.
  void read_steps() {
    const std::uint32_t steps = steps_.read(1).front();
    if (steps == 0) {
      throw FailedError(what_ + " took more than " + std::to_string(most_) + " steps");
    }
    last_ = notes_.read(steps);
  }
  // What each step read, of a run on the board that `launch(board)` is given, which counts.
  template <class Launch>
  std::vector<LinkReads> count(const Launch& launch) {
    const cuda::DeviceArray<ReadNote> reads(gpu_, most_);
    reads.fill_bytes(0, stream_);
    StepBoard counting = board();
    counting.reads = reads.data();
    launch(counting);
    return reads_of(reads.read(last_.size()));
  }

  // Of the last run. Times are from the end of the step before, of the first from the beginning.
  [[nodiscard]] std::vector<LevelResult> levels() const {
    std::uint64_t before_ns = begun_.read(1).front();
    std::vector<LevelResult> levels;
    for (const StepNote& note : last_) {
      constexpr double kNanosecond = 1e-9;
      levels.push_back({note.active, note.edges, 0, 0, 0});
      levels.back().seconds = static_cast<double>(note.end_ns - before_ns) * kNanosecond;
      before_ns = note.end_ns;
    }
    return levels;
  }
  [[nodiscard]] const std::vector<StepNote>& notes() const { return last_; }
  [[nodiscard]] std::uint64_t bytes() const { return notes_.bytes(); }
  [[nodiscard]] const cuda::Stream& stream() const { return stream_; }

 private:
  int gpu_;
  std::string what_;
  cuda::DeviceArray<StepNote> notes_;
  cuda::DeviceArray<std::uint64_t> begun_;
  cuda::DeviceArray<std::uint32_t> steps_;
  std::uint32_t most_;
  cuda::Stream stream_;
  cuda::Event start_;
  cuda::Event stop_;
  std::vector<StepNote> last_;
};

}  // namespace grainscope::lean

#endif
