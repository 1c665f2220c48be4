#include "grainscope/cuda/graph.hpp"

#include "grainscope/cuda/check.hpp"

namespace grainscope::cuda {

Graph::Graph(const Stream& stream, const std::function<void()>& enqueue) {
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "begin to capture a graph");
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    // A stream left in capture could not be used again.
    static_cast<void>(cudaStreamEndCapture(stream.get(), &graph));
    graph_.reset(graph);
    static_cast<void>(cudaGetLastError());
    throw;
  }
  check(cudaStreamEndCapture(stream.get(), &graph), "capture a graph");
  graph_.reset(graph);
}

std::size_t Graph::nodes() const {
  std::size_t count = 0;
  check(cudaGraphGetNodes(get(), nullptr, &count), "count the nodes of a graph");
  return count;
}

void Graph::Destroy::operator()(cudaGraph_t graph) const noexcept {
  static_cast<void>(cudaGraphDestroy(graph));
}

GraphExec::GraphExec(const Graph& graph) {
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph.get(), 0), "instantiate a graph");
  exec_.reset(exec);
}

void GraphExec::launch(const Stream& stream) const {
  check(cudaGraphLaunch(get(), stream.get()), "launch a graph");
}

void GraphExec::Destroy::operator()(cudaGraphExec_t exec) const noexcept {
  static_cast<void>(cudaGraphExecDestroy(exec));
}

}  // namespace grainscope::cuda
