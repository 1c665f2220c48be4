#ifndef GRAINSCOPE_SRC_LEAN_TEAM_CUH
#define GRAINSCOPE_SRC_LEAN_TEAM_CUH

// Traversals by several GPUs over lists that they share (run.hpp): whose words are whose, a stream of each,
// and where their kernels wait for each other.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/lean/run.hpp"
#include "lists.cuh"
#include "stepped_run.cuh"

namespace grainscope::lean {

inline constexpr std::size_t kMostOfTeam = 16;

// What kernels of one GPU reach of the others.
template <class T>
struct Others {
  T of[kMostOfTeam - 1];
  int count = 0;
};

// Where the blocks of one GPU note for all that they came to a meeting; in its memory.
struct TeamBoard {
  static constexpr std::size_t kMostTold = 32;  // bytes
  struct alignas(16) Told {
    unsigned char bytes[kMostTold];
  };
  unsigned arrived;             // blocks of this GPU, over all meetings
  unsigned over;                // meetings that they may leave
  unsigned gone;                // somebody waited in vain
  unsigned there[kMostOfTeam];  // written by each other GPU: meetings that all its blocks came to
  Told told[2][kMostOfTeam];    // by each other GPU, in one meeting and in the next that tells something
  Told total;
};

// A number that others wait for. What was written before is there for them by a fence before the number is
// set and one behind the read that saw it.
__device__ inline void set_number(unsigned* address, unsigned number) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(address), "r"(number) : "memory");
}
__device__ inline unsigned number_at(const unsigned* address) {
  unsigned number;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(number) : "l"(address) : "memory");
  return number;
}

// Past caches that others' writes do not reach.
template <class T>
__device__ T read_told(const TeamBoard::Told& from) {
  static_assert(sizeof(T) <= TeamBoard::kMostTold && sizeof(T) % sizeof(unsigned) == 0);
  union Words {
    T value;
    unsigned words[sizeof(T) / sizeof(unsigned)];
    __device__ Words() {}
  } read;
#pragma unroll
  for (std::size_t i = 0; i < sizeof(T) / sizeof(unsigned); ++i) {
    read.words[i] = __ldcg(reinterpret_cast<const unsigned*>(from.bytes) + i);
  }
  return read.value;
}

// What a kernel of one of several GPUs is told of where it runs. Each has a kernel whose blocks all run at
// once, and they come to the same meetings.
struct TeamPlace {
  TeamBoard* board;
  Others<TeamBoard*> others;
  DealtWords dealt;
  std::uint64_t patience_ns;  // so long one GPU waits for another

  [[nodiscard]] __device__ DealtWords words() const { return dealt; }

  class Meeting {
   public:
    __device__ explicit Meeting(const TeamPlace& place) : place_(place) {}
    __device__ void here() {
      static_cast<void>(pass(
          [] {
            __threadfence();
            return true;
          },
          [] {}));
    }
    __device__ bool all() {
      return pass([&] { return wait_for_others(); }, [] {});
    }
    // Joined in the order of the GPUs, so that all know the same to the last bit.
    template <class Read>
    __device__ bool tell(const Read& read) {
      using Total = decltype(read());
      TeamBoard& board = *place_.board;
      TeamBoard::Told* const told = board.told[totals_ % 2];
      const bool came = pass(
          [&] {
            __threadfence();  // what the other blocks wrote before they came is to be read
            const Total own = read();
            for (int i = 0; i < place_.others.count; ++i) {
              place(own, place_.others.of[i]->told[totals_ % 2][place_.dealt.of]);
            }
            if (!wait_for_others()) {
              return false;
            }
            Total all = place_.dealt.of == 0 ? own : read_told<Total>(told[0]);
            for (unsigned gpu = 1; gpu < place_.dealt.among; ++gpu) {
              all.join(gpu == place_.dealt.of ? own : read_told<Total>(told[gpu]));
            }
            place(all, board.total);
            __threadfence();
            return true;
          },
          [&] { place(read_told<Total>(board.total), of_block()); });
      ++totals_;
      return came;
    }
    template <class Read>
    [[nodiscard]] __device__ auto total(const Read& read) const {
      return *reinterpret_cast<const decltype(read())*>(of_block().bytes);
    }

   private:
    // One load of a block, not of each of its warps: they would stand in line.
    __device__ static TeamBoard::Told& of_block() {
      __shared__ TeamBoard::Told told;
      return told;
    }
    template <class T>
    __device__ static void place(const T& value, TeamBoard::Told& to) {
      *reinterpret_cast<T*>(to.bytes) = value;
    }
    // One thread of the block that came last calls `close()`, and tells the other blocks; it says whether the
    // meeting was held. All writes of this GPU are before it, behind a fence, which `close()` has. `then()`:
    // by one thread of each block, before the others go on.
    template <class Close, class Then>
    __device__ bool pass(const Close& close, const Then& then) {
      TeamBoard& board = *place_.board;
      ++meetings_;
      bool failed = false;
      __syncthreads();
      if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&board.arrived, 1) + 1 == meetings_ * gridDim.x) {
          failed = !close();
          if (failed) {
            board.gone = 1;
            __threadfence();
          }
          set_number(&board.over, meetings_);
        } else {
          while (number_at(&board.over) != meetings_) {
          }
          __threadfence();
          failed = __ldcg(&board.gone) != 0;
        }
        then();
      }
      return __syncthreads_or(failed ? 1 : 0) == 0;
    }
    // Behind it what other GPUs wrote before they came is there.
    __device__ bool wait_for_others() const {
      TeamBoard& board = *place_.board;
      __threadfence_system();
      for (int i = 0; i < place_.others.count; ++i) {
        set_number(&place_.others.of[i]->there[place_.dealt.of], meetings_);
      }
      const std::uint64_t since_ns = cuda::global_timer_ns();
      for (unsigned gpu = 0; gpu < place_.dealt.among; ++gpu) {
        while (gpu != place_.dealt.of && static_cast<int>(number_at(board.there + gpu) - meetings_) < 0) {
          if (cuda::global_timer_ns() - since_ns > place_.patience_ns) {
            return false;
          }
        }
      }
      __threadfence_system();
      return true;
    }

    const TeamPlace& place_;
    unsigned meetings_ = 0;
    unsigned totals_ = 0;
  };
};

class TeamRun {
 public:
  // `lists` outlives it. Throws SkipError where the environment lets kernels run only one by one.
  explicit TeamRun(LeanTeam lists) : lists_(lists.begin(), lists.end()), guard_(require(lists)) {
    require_side_by_side();
    std::vector<int> gpus;
    for (const LeanLists* each : lists_) {
      const cuda::DeviceGuard guard(each->gpu());
      members_.push_back(std::make_unique<Member>());
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
  // So many of the team are on the GPU of number i: one, but in tests.
  [[nodiscard]] unsigned sharing(std::size_t i) const {
    return static_cast<unsigned>(std::count_if(lists_.begin(), lists_.end(),
                                               [&](const LeanLists* each) { return each->gpu() == gpu(i); }));
  }
  [[nodiscard]] bool shares() const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (sharing(i) > 1) {
        return true;
      }
    }
    return false;
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
    start_.record(stream(0));
    for (std::size_t i = 1; i < size(); ++i) {
      stream(i).wait_for(start_);
    }
  }
  // What `enqueue()` submits to all streams, for the first one.
  template <class Enqueue>
  [[nodiscard]] cuda::Graph graph_of(const Enqueue& enqueue) const {
    return cuda::Graph(stream(0), [&] {
      members_.front()->done.record(stream(0));
      for (std::size_t i = 1; i < size(); ++i) {
        stream(i).wait_for(members_.front()->done);
      }
      enqueue();
      close();
    });
  }
  // Seconds; waits for all.
  double finish() {
    close();
    stop_.record(stream(0));
    synchronize();
    return cuda::elapsed_s(start_, stop_);
  }

 private:
  struct Member {
    cuda::Stream stream;
    cuda::Event done;
  };

  // The first stream waits for all.
  void close() const {
    each([&](std::size_t i, const cuda::Stream& stream) { members_[i]->done.record(stream); });
    wait_for_others(0);
  }
  void wait_for_others(std::size_t i) const {
    for (std::size_t other = 0; other < size(); ++other) {
      if (other != i) {
        stream(i).wait_for(members_[other]->done);
      }
    }
  }

  static void require_side_by_side() {
    if (cuda::is_counted()) {
      throw SkipError("a profiler counts one kernel at a time: those of several GPUs wait for each other");
    }
    const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    if (blocking != nullptr && std::string_view(blocking) != "0") {
      throw SkipError("kernels of several GPUs wait for each other: unset CUDA_LAUNCH_BLOCKING");
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
  cuda::Event start_;
  cuda::Event stop_;
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

// As Traversal::spoil.
template <class States>
void spoil_all(const TeamRun& run, const States& states) {
  run.each([&](std::size_t i, const cuda::Stream& stream) { states[i]->spoil(stream); });
  run.synchronize();
}

// Boards for so many kernels of a run, each of which runs on all GPUs at once.
class TeamBoards {
 public:
  // `run` outlives it. `what`: "a search", for errors.
  TeamBoards(const TeamRun& run, std::size_t kernels, std::string what)
      : run_(run), kernels_(kernels), what_(std::move(what)) {
    run_.each([&](std::size_t i, const cuda::Stream&) {
      boards_.push_back(std::make_unique<cuda::DeviceArray<TeamBoard>>(run_.gpu(i), kernels));
    });
  }
  // Before the kernels of a run, within its time.
  void clear() const {
    run_.each([&](std::size_t i, const cuda::Stream& stream) { boards_[i]->fill_bytes(0, stream); });
    run_.meet();
  }
  // Where kernel number `kernel` of the run is on GPU number i.
  [[nodiscard]] TeamPlace place(std::size_t i, std::size_t kernel) const {
    const auto board = [&](std::size_t other) { return boards_[other]->data() + kernel; };
    return {board(i), run_.others<TeamBoard*>(i, board), run_.words(i), kPatience_s * 1'000'000'000};
  }
  // A kernel on each GPU, all blocks of which are at work at once. `arguments(i)`: those of number i's.
  template <class... Parameters, class Arguments>
  void launch(void (*kernel)(Parameters...), const Arguments& arguments) const {
    const void* const function = reinterpret_cast<const void*>(kernel);
    std::vector<unsigned> grids;  // known, and the kernels loaded, before the first one waits for the others
    run_.each([&](std::size_t i, const cuda::Stream&) {
      grids.push_back(std::max(1U, cuda::full_grid(function, kLeanThreads, run_.gpu(i)) / run_.sharing(i)));
    });
    if (run_.shares()) {
      run_.meet();  // what waits on a multiprocessor keeps kernels off it that divide its memory otherwise
    }
    run_.each([&](std::size_t i, const cuda::Stream& stream) {
      std::tuple<Parameters...> values = arguments(i);
      std::apply(
          [&](auto&... each) {
            void* addresses[] = {&each...};
            if (run_.sharing(i) == 1) {
              cuda::launch_together(function, grids[i], kLeanThreads, addresses, stream);
            } else {  // beside others of the same GPU
              cuda::check(
                  cudaLaunchKernel(function, dim3(grids[i]), dim3(kLeanThreads), addresses, 0, stream.get()),
                  "launch a kernel beside another");
            }
          },
          values);
    });
  }
  // After a run. Throws FailedError where kernels did not run at the same time.
  void require_met() const {
    for (const auto& of_gpu : boards_) {
      for (const TeamBoard& board : of_gpu->read(kernels_)) {
        if (board.gone != 0) {
          throw FailedError(what_ + " by several GPUs: their kernels did not run at the same time for " +
                            std::to_string(kPatience_s) + " s; let nothing else use these GPUs");
        }
      }
    }
  }

 private:
  // No phase of a step takes that long.
  static constexpr std::uint64_t kPatience_s = 60;

  const TeamRun& run_;
  std::size_t kernels_;
  std::string what_;
  std::vector<std::unique_ptr<cuda::DeviceArray<TeamBoard>>> boards_;
};

// A traversal that is one kernel on each GPU of a team; they meet between the phases of a step.
class TeamSteps {
 public:
  TeamSteps(TeamRun& run, std::uint32_t most, const std::string& what)
      : run_(run), most_(most), boards_(run, 1, what) {
    run_.each([&](std::size_t i, const cuda::Stream&) {
      notes_.push_back(std::make_unique<SteppedRun>(run_.gpu(i), most, what));
    });
  }

  // Seconds. `arguments(i, place, board)`: those of the kernel on GPU number i, whose `place` says where it
  // runs. Throws FailedError where the kernels did not come to an end, or did not run at the same time.
  template <class... Parameters, class Arguments>
  double run(void (*kernel)(Parameters...), const Arguments& arguments) {
    return run_on([&](std::size_t i) { return notes_[i]->board(); }, kernel, arguments);
  }
  // What each step read, by all GPUs.
  template <class... Parameters, class Arguments>
  std::vector<LinkReads> count(void (*kernel)(Parameters...), const Arguments& arguments) {
    std::vector<std::unique_ptr<cuda::DeviceArray<ReadNote>>> reads;
    run_.each([&](std::size_t i, const cuda::Stream& stream) {
      reads.push_back(std::make_unique<cuda::DeviceArray<ReadNote>>(run_.gpu(i), most_));
      reads.back()->fill_bytes(0, stream);
    });
    const auto counting = [&](std::size_t i) {
      StepBoard board = notes_[i]->board();
      board.reads = reads[i]->data();
      return board;
    };
    static_cast<void>(run_on(counting, kernel, arguments));
    std::vector<LinkReads> all(notes().size());
    for (const auto& of_gpu : reads) {
      const std::vector<ReadNote> each = of_gpu->read(all.size());
      for (std::size_t step = 0; step < all.size(); ++step) {
        add_reads(each[step], all[step]);
      }
    }
    return all;
  }
  // By the first GPU's clock.
  [[nodiscard]] std::vector<LevelResult> levels() const { return notes_.front()->levels(); }
  [[nodiscard]] const std::vector<StepNote>& notes() const { return notes_.front()->notes(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_of(notes_); }

 private:
  template <class BoardOf, class... Parameters, class Arguments>
  double run_on(const BoardOf& board_of, void (*kernel)(Parameters...), const Arguments& arguments) {
    run_.begin();
    boards_.clear();
    boards_.launch(kernel, [&](std::size_t i) { return arguments(i, boards_.place(i, 0), board_of(i)); });
    const double seconds = run_.finish();
    boards_.require_met();
    notes_.front()->read_steps();
    return seconds;
  }

  TeamRun& run_;
  std::uint32_t most_;
  TeamBoards boards_;
  std::vector<std::unique_ptr<SteppedRun>> notes_;  // of each GPU
};

}  // namespace grainscope::lean

#endif
