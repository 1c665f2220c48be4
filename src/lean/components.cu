// Connected components by sampling: first neighbours, some whole lists, samples, then what is not yet in
// the largest one.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "components_stages.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/runtime.hpp"

namespace grainscope::lean {
namespace {

using graph::Vertex;

class CudaLeanCc final : public LeanTraversal {
 public:
  explicit CudaLeanCc(const LeanLists& lists)
      : lists_(view_of(lists)),
        guard_(lists.gpu()),
        parents_(lists.gpu(), lists_.vertices),
        roots_(lists.gpu(), lists_.vertices),
        pieces_(lists.gpu(), lists_.most_pieces),
        state_(lists.gpu(), 1),
        reads_(lists.gpu(), kCcStages),
        grid_(static_cast<unsigned>(cuda::sm_count(lists.gpu())) * kBlocksPerSm) {}

  double run(Vertex /*source*/) override {
    start_.record(stream_);
    if (stages_) {
      stages_->launch(stream_);
    } else {
      submit<false>();  // and loads the kernels, for which a stream must not be captured
    }
    stop_.record(stream_);
    stream_.synchronize();
    if (!stages_ && !cuda::is_counted()) {  // a profiler's ranges are of launches
      stages_.emplace(cuda::Graph(stream_, [&] { submit<false>(); }));
    }
    return cuda::elapsed_s(start_, stop_);
  }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    reads_.fill_bytes(0, stream_);
    submit<true>();
    stream_.synchronize();
    std::vector<LinkReads> reads;
    for (const ReadNote& note : reads_.read(kCcStages)) {
      reads.push_back({note.sectors, note.elements, note.hot});
    }
    return reads;
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override {
    const ComponentState state = state_.read(1).front();
    std::vector<LevelResult> stages(kCcStages);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].seconds = static_cast<double>(state.began_ns[i + 1] - state.began_ns[i]) * 1e-9;
    }
    return stages;
  }
  [[nodiscard]] std::vector<Vertex> answer() const override { return parents_.read(lists_.vertices); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return parents_.bytes() + roots_.bytes() + pieces_.bytes();
  }

 private:
  static constexpr unsigned kBlocksPerSm = 8;
  static constexpr Vertex kFirstJoined = 1 << 14;

  template <bool kCount>
  void submit() {
    const ComponentArrays a{parents_.data(), roots_.data(), state_.data(), pieces_.data(), reads_.data()};
    if (lists_.out.coding == Coding::compressed) {
      submit<Coding::compressed, kCount>(a);
    } else {
      submit<Coding::plain, kCount>(a);
    }
    cuda::check_launch("the kernels of connected components");
  }

  // As many vertices at a time as are through. Nothing here waits for the link: joined all at once they would
  // climb trees that are still growing, and take longer.
  template <bool kCount>
  void join_hot(const ComponentArrays& a) {
    Vertex begin = 0;
    for (Vertex end = std::min(kFirstJoined, lists_.lists_end); begin < end;
         end = static_cast<Vertex>(std::min<std::uint64_t>(std::uint64_t{end} * 2, lists_.lists_end))) {
      join_hot_samples<kCount><<<grid_, kLeanThreads, 0, stream_.get()>>>(lists_.out, begin, end, a);
      begin = end;
    }
  }

  // Kernels that have nothing to do find that out themselves: the host knows nothing of the joins.
  template <Coding kCoding, bool kCount>
  void submit(const ComponentArrays& a) {
    const ListsView& lists = lists_.out;
    const Vertex vertices = lists_.lists_end;
    const auto sure = static_cast<std::uint32_t>(surely_sampled(lists.id_bits));
    cudaStream_t stream = stream_.get();
    clear_components<<<grid_, kLeanThreads, 0, stream>>>(a, lists_.vertices, vertices,
                                                         lists_.phases.begins[0]);
    if (lists.hot_offsets != nullptr) {
      join_hot<kCount>(a);
    }
    if (lists.firsts != nullptr) {
      join_firsts<kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, vertices, a);
    }
    for (int phase = 0; phase < kListPhases && lists_.phases.lines[phase] > 0; ++phase) {
      join_phase<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, lists_.phases, phase, a);
      join_phase_pieces<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, lists_.phases, phase, a);
    }
    settle<<<grid_, kLeanThreads, 0, stream>>>(a, vertices, a.roots, false);
    find_largest<<<1, kSampledVertices, 0, stream>>>(a, lists_.vertices, sure, false);
    join_samples<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, vertices, a);
    settle<<<grid_, kLeanThreads, 0, stream>>>(a, vertices, a.roots, true);
    find_largest<<<1, kSampledVertices, 0, stream>>>(a, lists_.vertices, sure, true);
    join_outside<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, vertices, a);
    join_pieces<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, a);
    settle<<<grid_, kLeanThreads, 0, stream>>>(a, vertices, nullptr, true);
  }

  PlacedView lists_;
  cuda::DeviceGuard guard_;
  cuda::DeviceArray<Vertex> parents_;
  cuda::DeviceArray<Vertex> roots_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<ComponentState> state_;
  cuda::DeviceArray<ReadNote> reads_;
  unsigned grid_;
  cuda::Stream stream_;
  std::optional<cuda::GraphExec> stages_;  // once they have run
  cuda::Event start_;
  cuda::Event stop_;
};

}  // namespace

std::unique_ptr<LeanTraversal> make_lean_cc(const LeanLists& lists) {
  if (view_of(lists).out.words != view_of(lists).in.words) {
    throw UsageError("components are those of an undirected graph");
  }
  if (view_of(lists).weighted) {
    throw UsageError("components are those of lists that are placed without weights");
  }
  return std::make_unique<CudaLeanCc>(lists);
}

}  // namespace grainscope::lean
