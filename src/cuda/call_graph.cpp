// What it costs to make a graph ready and to launch it, by how many kernels are in it.

#include <algorithm>
#include <vector>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/graph.hpp"
#include "grainscope/cuda/launch_counter.hpp"

namespace grainscope::cuda {
namespace {

class GraphProbe final : public Probe {
 public:
  explicit GraphProbe(const CallSpec& spec)
      : launches_graph_(spec.what == Call::graph_launch),
        nodes_(spec.graph_nodes),
        // Enough for some tens of microseconds, and few enough kernels for a stream to hold them all.
        calls_(std::clamp(64 / nodes_, 1, launches_graph_ ? 16 : 8)),
        guard_(spec.gpu),
        counter_(spec.gpu),
        graph_(stream_,
               [this] {
                 for (int i = 0; i < nodes_; ++i) {
                   counter_.launch(stream_);
                 }
               }),
        ready_(graph_) {
    if (graph_.nodes() != static_cast<std::size_t>(nodes_)) {
      throw FailedError("a graph of " + std::to_string(nodes_) + " kernels was captured with " +
                        std::to_string(graph_.nodes()) + " nodes");
    }
    check(cudaGraphUpload(ready_.get(), stream_.get()), "upload a graph");
    stream_.synchronize();
  }

  double sample() override { return launches_graph_ ? time_launches() : time_instantiations(); }

  std::string verify() override {
    counter_.expect(launched_ * static_cast<std::uint64_t>(nodes_), stream_);
    return launches_graph_
               ? "a counter on the GPU shows as many kernels as graphs were launched, times their nodes"
               : "each last graph of a sample was launched and ran all its kernels";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            launches_graph_ ? "cudaGraphLaunch of a graph that was uploaded, into a stream empty at first"
                            : "cudaGraphInstantiate of a chain of kernels of one thread"};
  }
  [[nodiscard]] std::uint64_t operations() const override { return static_cast<std::uint64_t>(calls_); }

 private:
  double time_launches() {
    launched_ += operations();
    const double seconds = time_calls(calls_, "launch a graph",
                                      [this](int) { return cudaGraphLaunch(ready_.get(), stream_.get()); });
    stream_.synchronize();
    return seconds;
  }

  double time_instantiations() {
    std::vector<cudaGraphExec_t> made(operations(), nullptr);
    const double seconds = time_calls(calls_, "instantiate a graph", [&](int i) {
      return cudaGraphInstantiate(&made[static_cast<std::size_t>(i)], graph_.get(), 0);
    });
    std::vector<GraphExec> owned;
    owned.reserve(made.size());
    for (cudaGraphExec_t exec : made) {
      owned.emplace_back(exec);
    }
    owned.back().launch(stream_);
    ++launched_;
    stream_.synchronize();
    return seconds;
  }

  bool launches_graph_;
  int nodes_;
  int calls_;
  DeviceGuard guard_;
  Stream stream_;
  LaunchCounter counter_;
  Graph graph_;
  GraphExec ready_;
  std::uint64_t launched_ = 0;
};

}  // namespace

std::unique_ptr<Probe> make_graph_call(const CallSpec& spec) {
  if (spec.graph_nodes < 1) {
    throw UsageError("a graph has a kernel or more, not " + std::to_string(spec.graph_nodes));
  }
  return std::make_unique<GraphProbe>(spec);
}

}  // namespace grainscope::cuda
