#ifndef GRAINSCOPE_SRC_LEAN_TEAM_CUH
#define GRAINSCOPE_SRC_LEAN_TEAM_CUH

// Traversals by several GPUs over lists that they share (run.hpp): whose words are whose, a stream of each,
// and where they wait for each other.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../cuda/launch.cuh"
#include "../cuda/level_times.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/lean/run.hpp"
#include "lists.cuh"

namespace grainscope::lean {

inline constexpr std::size_t kMostOfTeam = 16;

// What kernels of one GPU reach of the others.
template <class T>
struct Others {
  T of[kMostOfTeam - 1];
  int count = 0;
};

class TeamRun {
 public:
  // `lists` outlives it.
  explicit TeamRun(LeanTeam lists) : lists_(lists.begin(), lists.end()), guard_(require(lists)) {
    std::vector<int> gpus;
    for (const LeanLists* each : lists_) {
      const cuda::DeviceGuard guard(each->gpu());
      members_.push_back(std::make_unique<Member>());
      members_.back()->multiprocessors = cuda::sm_count(each->gpu());
      gpus.push_back(each->gpu());
    }
    accesses_ = cuda::reach_each_other(gpus);
  }
  TeamRun(const TeamRun&) = delete;
  TeamRun& operator=(const TeamRun&) = delete;

  [[nodiscard]] std::size_t size() const { return lists_.size(); }
  [[nodiscard]] int gpu(std::size_t i) const { return lists_[i]->gpu(); }
  [[nodiscard]] const PlacedView& view(std::size_t i) const { return view_of(*lists_[i]); }
  [[nodiscard]] const cuda::Stream& stream(std::size_t i) const { return members_[i]->stream; }
  [[nodiscard]] DealtWords words(std::size_t i) const {
    return {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(size())};
  }
  // Blocks that fill GPU number i, so many on a multiprocessor.
  [[nodiscard]] unsigned grid(std::size_t i, unsigned blocks) const {
    return static_cast<unsigned>(members_[i]->multiprocessors) * blocks;
  }
  // What `get(other)` says of every GPU but number i.
  template <class T, class Get>
  [[nodiscard]] Others<T> others(std::size_t i, const Get& get) const {
    Others<T> others;
    for (std::size_t other = 0; other < size(); ++other) {
      if (other != i) {
        others.of[others.count++] = get(other);
      }
    }
    return others;
  }
  // Each vertex's value, from the GPU that reads its list: `read(i)` has all values of GPU number i.
  template <class T, class Read>
  [[nodiscard]] std::vector<T> gathered(const Read& read) const {
    std::vector<T> all = read(0);
    for (std::size_t i = 1; i < size(); ++i) {
      const std::vector<T> own = read(i);
      for (std::size_t word = i; word * kWarpLanes < all.size(); word += size()) {
        const std::size_t first = word * kWarpLanes;
        const std::size_t last = std::min(first + kWarpLanes, all.size());
        std::copy(own.begin() + static_cast<std::ptrdiff_t>(first),
                  own.begin() + static_cast<std::ptrdiff_t>(last),
                  all.begin() + static_cast<std::ptrdiff_t>(first));
      }
    }
    return all;
  }

  // For each GPU, while it is current: `function(i, stream)`.
  template <class Function>
  void each(const Function& function) const {
    for (std::size_t i = 0; i < size(); ++i) {
      const cuda::DeviceGuard guard(gpu(i));
      function(i, members_[i]->stream);
    }
  }
  // Later work on any GPU waits for earlier work on all.
  void meet() const {
    each([&](std::size_t i, const cuda::Stream& stream) { members_[i]->done.record(stream); });
    for (std::size_t i = 0; i < size(); ++i) {
      wait_for_others(i);
    }
  }
  void synchronize() const {
    for (const auto& member : members_) {
      member->stream.synchronize();
    }
  }

  // A run, between two events of the first GPU. What is submitted next begins with it.
  void begin() {
    times_.begin(stream(0));
    for (std::size_t i = 1; i < size(); ++i) {
      stream(i).wait_for(times_.begun());
    }
  }
  // Behind what the first GPU was given of a step.
  void end_step(std::uint64_t active, std::uint64_t edges) {
    const cuda::DeviceGuard guard(gpu(0));
    times_.end(times_.size()).record(stream(0));
    times_.add(active, edges);
  }
  // Seconds; waits for all.
  double finish() {
    each([&](std::size_t i, const cuda::Stream& stream) { members_[i]->done.record(stream); });
    wait_for_others(0);
    stop_.record(stream(0));
    synchronize();
    return cuda::elapsed_s(times_.begun(), stop_);
  }
  [[nodiscard]] std::vector<LevelResult> levels() const { return times_.read(); }

 private:
  struct Member {
    cuda::Stream stream;
    cuda::Event done;
    int multiprocessors = 0;
  };

  void wait_for_others(std::size_t i) const {
    for (std::size_t other = 0; other < size(); ++other) {
      if (other != i) {
        stream(i).wait_for(members_[other]->done);
      }
    }
  }

  // The first one's GPU.
  static int require(LeanTeam lists) {
    if (lists.empty() || lists.size() > kMostOfTeam) {
      throw UsageError("lists are read together by 1 to " + std::to_string(kMostOfTeam) + " GPUs, not " +
                       std::to_string(lists.size()));
    }
    const PlacedView& first = view_of(*lists.front());
    for (const LeanLists* each : lists) {
      if (view_of(*each).out.words != first.out.words || view_of(*each).in.words != first.in.words) {
        throw UsageError("GPUs that read lists together share what is on the host: LeanPlacement::beside");
      }
    }
    return lists.front()->gpu();
  }

  std::vector<const LeanLists*> lists_;
  cuda::DeviceGuard guard_;
  std::vector<std::unique_ptr<cuda::PeerAccess>> accesses_;
  std::vector<std::unique_ptr<Member>> members_;
  cuda::LevelTimes times_;
  cuda::Event stop_;
};

// The notes in which each GPU of a team counts what a step reads, in runs that count.
class TeamReads {
 public:
  explicit TeamReads(const TeamRun& run) : run_(run) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      notes_.push_back(std::make_unique<cuda::DeviceArray<ReadNote>>(run.gpu(i), 1));
    }
  }
  void begin(bool counts) {
    counts_ = counts;
    reads_.clear();
  }
  [[nodiscard]] ReadNote* note(std::size_t i) const { return counts_ ? notes_[i]->data() : nullptr; }
  // Before a step.
  void clear() const {
    if (counts_) {
      run_.each([&](std::size_t i, const cuda::Stream& stream) { notes_[i]->fill_bytes(0, stream); });
    }
  }
  // What it read, of all GPUs; waits.
  void take() {
    if (!counts_) {
      return;
    }
    run_.synchronize();
    reads_.emplace_back();
    for (const auto& note : notes_) {
      add_reads(note->read(1).front(), reads_.back());
    }
  }
  [[nodiscard]] const std::vector<LinkReads>& reads() const { return reads_; }

 private:
  const TeamRun& run_;
  std::vector<std::unique_ptr<cuda::DeviceArray<ReadNote>>> notes_;
  bool counts_ = false;
  std::vector<LinkReads> reads_;
};

// The last member of a traversal by a team. After a run that failed kernels may still read the memory of
// other GPUs: this waits for them before that goes.
class TeamDrain {
 public:
  explicit TeamDrain(const TeamRun& run) : run_(run) {}
  ~TeamDrain() {
    for (std::size_t i = 0; i < run_.size(); ++i) {
      static_cast<void>(cudaStreamSynchronize(run_.stream(i).get()));
    }
  }
  TeamDrain(const TeamDrain&) = delete;
  TeamDrain& operator=(const TeamDrain&) = delete;

 private:
  const TeamRun& run_;
};

// Of GPU memory, by the states of a team.
template <class States>
std::uint64_t bytes_of(const States& states) {
  std::uint64_t bytes = 0;
  for (const auto& state : states) {
    bytes += state->bytes();
  }
  return bytes;
}

// What a kernel of each GPU leaves for the host to read at the end of a step.
template <class T>
class TeamCounters {
 public:
  explicit TeamCounters(const TeamRun& run)
      : run_(run), host_(run.size() * sizeof(T), cuda::PinnedBuffer::Kind::cached) {}
  // From device memory of GPU number i, behind what its stream was given.
  void fetch(std::size_t i, const T* from, const cuda::Stream& stream) const {
    cuda::check(cudaMemcpyAsync(data() + i, from, sizeof(T), cudaMemcpyDeviceToHost, stream.get()),
                "read what a step came to");
  }
  // All of them; waits.
  [[nodiscard]] std::span<const T> wait() const {
    run_.synchronize();
    return {data(), run_.size()};
  }

 private:
  [[nodiscard]] T* data() const { return static_cast<T*>(host_.data()); }
  const TeamRun& run_;
  cuda::PinnedBuffer host_;
};

}  // namespace grainscope::lean

#endif
