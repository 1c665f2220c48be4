#ifndef GRAINSCOPE_SRC_GRAPH_DIVIDED_CUH
#define GRAINSCOPE_SRC_GRAPH_DIVIDED_CUH

// Traversals over several GPUs. Each has the lists of its own vertices within reach and a copy of the state
// of all vertices, in which it writes down what it finds. A level is three steps of each GPU: it takes from
// the others' copies what they found of its vertices, counts which of these are active, and walks their
// lists. A GPU takes and counts once all have walked, and walks once all have counted. Programs that lower
// values write them into the copy of the vertex's own GPU, too, while they walk.

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "program.cuh"
#include "traversals.hpp"

namespace grainscope::graph {

inline constexpr int kSharingThreads = 256;

template <class Program>
__global__ void __launch_bounds__(kSharingThreads)
    take_from_others(Program program, Others<Program> others, VertexRange range) {
  constexpr std::uint64_t kStep = Program::kSharedAtOnce;
  std::uint64_t first = range.first + (std::uint64_t{blockIdx.x} * kSharingThreads + threadIdx.x) * kStep;
  for (; first < range.last; first += std::uint64_t{gridDim.x} * kSharingThreads * kStep) {
    program.take(static_cast<Vertex>(first), others);
  }
}

// Summaries of all GPUs that share a level, in device memory of each.
struct Summaries {
  const LevelSummary* of[1 + Others<ProgramDefaults>::kMost];
  int count;
};
// One thread: their sum, in the same order on every GPU.
static __global__ void add_summaries(Summaries summaries, LevelSummary* total) {
  LevelSummary sum{};
  for (int i = 0; i < summaries.count; ++i) {
    sum.active += summaries.of[i]->active;
    sum.edges += summaries.of[i]->edges;
    sum.rest += summaries.of[i]->rest;
  }
  *total = sum;
}

template <class State>
class DividedTraversal final : public Traversal {
  using Program = typename State::Program;

 public:
  DividedTraversal(Parts parts, Access access) : guard_(parts.front()->request().gpu) {
    if (parts.size() > 1 + Others<Program>::kMost) {
      throw UsageError("a graph is divided among at most " + std::to_string(1 + Others<Program>::kMost) +
                       " GPUs, not " + std::to_string(parts.size()));
    }
    accesses_ = cuda::reach_each_other(gpus_of(parts));
    for (const PlacedGraph* part : parts) {
      const cuda::DeviceGuard guard(part->request().gpu);
      ranks_.push_back(std::make_unique<Rank>(*part, access));
    }
    for (const auto& rank : ranks_) {
      rank->worker.share_level(rank->total.data());
      for (const auto& other : ranks_) {
        rank->summaries.of[rank->summaries.count++] = other->worker.summary();
      }
      introduce(*rank);
    }
  }
  // After a run that failed kernels may still read the memory of other GPUs.
  ~DividedTraversal() override {
    for (const auto& rank : ranks_) {
      static_cast<void>(cudaStreamSynchronize(rank->worker.stream().get()));
    }
  }

  double run(Vertex source) override { return start(source, {}); }
  void spoil() override {
    each([](const Rank& rank) {
      rank.state.spoil(rank.worker.stream());
      rank.worker.stream().synchronize();
    });
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return times_.read(); }
  void follow(Vertex source, const LevelVisitor& visit) override { start(source, {.visit = &visit}); }
  WalkStatistics statistics(Vertex source) override {
    each([](Rank& rank) {
      rank.blocks = std::make_unique<DeviceArray<BlockLoads>>(rank.gpu(), rank.worker.noted_grid());
      rank.blocks->fill_bytes(0, rank.worker.stream());
    });
    std::vector<BlockLoads> all;
    try {
      start(source, {});
      for (const auto& rank : ranks_) {
        const std::vector<BlockLoads> blocks = rank->blocks->read(rank->worker.noted_grid());
        all.insert(all.end(), blocks.begin(), blocks.end());
      }
    } catch (...) {
      forget_blocks();
      throw;
    }
    forget_blocks();
    return statistics_of(all);
  }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override {
    return gathered<std::uint32_t>([](const State& state, Vertex count) { return state.answer(count); });
  }
  [[nodiscard]] std::vector<float> ranks() const override {
    return gathered<float>([](const State& state, Vertex count) { return state.ranks(count); });
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& rank : ranks_) {
      bytes += rank->state.gpu_bytes() + rank->worker.gpu_bytes();
    }
    return bytes;
  }

 private:
  // One GPU's, which is current while it is made and used.
  struct Rank {
    Rank(const PlacedGraph& part, Access access)
        : state(part),
          program(state.program()),
          worker(part, access),
          total(part.request().gpu, 1),
          others(part.request().gpu, 1) {}
    [[nodiscard]] int gpu() const { return worker.gpu(); }

    State state;
    Program program;
    LevelWorker<Program> worker;
    DeviceArray<LevelSummary> total;
    DeviceArray<OwnedValues> others;
    Summaries summaries{};
    cuda::Event counted;
    cuda::Event walked;
    std::unique_ptr<DeviceArray<BlockLoads>> blocks;  // where loads are counted
  };

  // Tells a program that writes into the others' copies where these are.
  void introduce(Rank& rank) const {
    if constexpr (requires { rank.program.elsewhere; }) {
      OwnedValues others{};
      for (const auto& other : ranks_) {
        if (other.get() != &rank) {
          others.range[others.count] = other->worker.graph().range;
          others.of[others.count++] = other->program.values;
        }
      }
      const cuda::DeviceGuard guard(rank.gpu());
      cuda::check(cudaMemcpy(rank.others.data(), &others, sizeof(others), cudaMemcpyHostToDevice),
                  "tell a GPU where the others' values are");
    }
  }
  // As the state has it, for this traversal.
  static Program program_of(const Rank& rank) {
    Program program = rank.state.program();
    program.over_link = rank.worker.over_link();
    if constexpr (requires { program.elsewhere; }) {
      program.elsewhere = rank.others.data();
    }
    return program;
  }

  // Where loads were counted: later runs do not.
  void forget_blocks() {
    for (const auto& rank : ranks_) {
      rank->blocks.reset();
    }
  }

  static std::vector<int> gpus_of(Parts parts) {
    std::vector<int> gpus;
    for (const PlacedGraph* part : parts) {
      gpus.push_back(part->request().gpu);
    }
    return gpus;
  }

  // For each GPU, while it is current.
  template <class Function>
  void each(const Function& function) {
    for (const auto& rank : ranks_) {
      const cuda::DeviceGuard guard(rank->gpu());
      function(*rank);
    }
  }
  void wait_for_all(const Rank& rank, cuda::Event Rank::*event) const {
    for (const auto& other : ranks_) {
      if (other.get() != &rank) {
        rank.worker.stream().wait_for((*other).*event);
      }
    }
  }
  void take(const Rank& rank) const {
    Others<Program> others;
    for (const auto& other : ranks_) {
      if (other.get() != &rank) {
        others.of[others.count++] = other->program;
      }
    }
    const VertexRange range = rank.worker.graph().range;
    const auto grid = static_cast<unsigned>(cuda::sm_count(rank.gpu())) * 8;
    take_from_others<<<grid, kSharingThreads, 0, rank.worker.stream().get()>>>(rank.program, others, range);
    cuda::check_launch("take_from_others");
  }

  double start(Vertex source, const LevelObserver& observer) {
    const Vertex vertices = ranks_.front()->worker.graph().vertices;
    require_vertex(source, vertices);
    const cuda::DeviceGuard guard(ranks_.front()->gpu());
    const cuda::Stream& stream = ranks_.front()->worker.stream();
    times_.begin(stream);
    each([&](Rank& rank) {
      const cuda::Stream& own = rank.worker.stream();
      if (&rank != ranks_.front().get()) {
        own.wait_for(times_.begun());
      }
      rank.worker.begin();
      rank.state.clear(source, own);
      rank.program = program_of(rank);
      rank.walked.record(own);
    });
    for (std::uint64_t level = 0;; ++level) {
      LevelTimes::require(level, State::most_levels(vertices));
      const LevelSummary summary = submit_level(level, observer);
      if (ranks_.front()->program.satisfied(summary)) {
        break;
      }
      times_.add(summary.active, summary.edges);
      each([](Rank& rank) { rank.program.next_level(); });
    }
    each([](Rank& rank) {
      rank.worker.stream().synchronize();
      rank.worker.require_complete();
    });
    return times_.all_s();
  }

  // Everything of one level is submitted; then the host learns whether it was one, while it is walked.
  LevelSummary submit_level(std::uint64_t level, const LevelObserver& observer) {
    each([&](Rank& rank) {
      wait_for_all(rank, &Rank::walked);
      if (level > 0) {
        take(rank);
      }
      rank.worker.count(rank.program);
      rank.counted.record(rank.worker.stream());
    });
    each([&](Rank& rank) {
      wait_for_all(rank, &Rank::counted);
      add_summaries<<<1, 1, 0, rank.worker.stream().get()>>>(rank.summaries, rank.total.data());
      rank.worker.emit(rank.program);
    });
    const Rank& first = *ranks_.front();
    summary_.submit(first.total.data(), first.worker.stream());
    if (observer.visit != nullptr) {
      tell_active(*observer.visit);
    }
    each([&](Rank& rank) {
      rank.worker.walk(rank.program, {.blocks = rank.blocks ? rank.blocks->data() : nullptr});
      rank.walked.record(rank.worker.stream());
    });
    wait_for_all(first, &Rank::walked);
    times_.end(level).record(first.worker.stream());
    return summary_.wait();
  }

  void tell_active(const LevelVisitor& visit) {
    std::vector<Vertex> all;
    each([&](const Rank& rank) {
      const std::vector<Vertex> active = rank.worker.active();
      all.insert(all.end(), active.begin(), active.end());
    });
    if (!all.empty()) {
      visit(all);
    }
  }

  // Of each vertex what the GPU says that has its list.
  template <class T, class Read>
  [[nodiscard]] std::vector<T> gathered(const Read& read) const {
    const Vertex vertices = ranks_.front()->worker.graph().vertices;
    std::vector<T> all(vertices);
    for (const auto& rank : ranks_) {
      const VertexRange range = rank->worker.graph().range;
      const std::vector<T> own = read(rank->state, vertices);
      std::copy(own.begin() + range.first, own.begin() + range.last, all.begin() + range.first);
    }
    return all;
  }

  cuda::DeviceGuard guard_;
  std::vector<std::unique_ptr<cuda::PeerAccess>> accesses_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  SummaryReader summary_;
  LevelTimes times_;
};

}  // namespace grainscope::graph

#endif
