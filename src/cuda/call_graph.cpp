// What it costs to make a graph ready and to launch it, by how many kernels or copies are in it.

#include <algorithm>
#include <vector>

#include "call_graph_work.hpp"
#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/graph.hpp"

namespace grainscope::cuda {
namespace {

class GraphProbe final : public CallProbe {
 public:
  explicit GraphProbe(const CallSpec& spec)
      : launches_graph_(spec.what != Call::graph_instantiate && spec.what != Call::graph_instantiate_copies),
        // Enough for some tens of microseconds, and few enough nodes for a stream to hold them all.
        calls_(std::clamp(64 / spec.graph_nodes, 1, launches_graph_ ? 16 : 8)),
        guard_(spec.gpu),
        work_(make_graph_work(spec)),
        graph_(stream_, [this] { work_->enqueue(stream_); }),
        ready_(graph_) {
    if (graph_.nodes() != static_cast<std::size_t>(spec.graph_nodes)) {
      throw FailedError("a graph of " + std::to_string(spec.graph_nodes) + " was captured with " +
                        std::to_string(graph_.nodes()) + " nodes");
    }
    check(cudaGraphUpload(ready_.get(), stream_.get()), "upload a graph");
    stream_.synchronize();
  }

  double run() override {
    work_->prepare(stream_);
    const double seconds = launches_graph_ ? time_launches() : time_instantiations();
    work_->expect(launched_, stream_);
    return seconds;
  }

  std::string verify() override {
    return work_->checked() + (launches_graph_ ? "" : "; of each sample the last graph made was launched");
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            launches_graph_ ? "cudaGraphLaunch of a graph of " + work_->nodes() +
                                  " that was uploaded, into a stream empty at first"
                            : "cudaGraphInstantiate of a chain of " + work_->nodes()};
  }
  void describe(Measurement& measurement) override {
    measurement.operations = static_cast<std::uint64_t>(calls_);
  }

 private:
  double time_launches() {
    launched_ += static_cast<std::uint64_t>(calls_);
    const double seconds = time_calls(calls_, "launch a graph",
                                      [this](int) { return cudaGraphLaunch(ready_.get(), stream_.get()); });
    stream_.synchronize();
    return seconds;
  }

  double time_instantiations() {
    std::vector<cudaGraphExec_t> made(static_cast<std::size_t>(calls_), nullptr);
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
  int calls_;
  DeviceGuard guard_;
  Stream stream_;
  std::unique_ptr<GraphWork> work_;
  Graph graph_;
  GraphExec ready_;
  std::uint64_t launched_ = 0;
};

}  // namespace

std::unique_ptr<CallProbe> make_graph_call(const CallSpec& spec) {
  if (spec.graph_nodes < 1) {
    throw UsageError("a graph has a node or more, not " + std::to_string(spec.graph_nodes));
  }
  return std::make_unique<GraphProbe>(spec);
}

}  // namespace grainscope::cuda
