#include "grainscope/cuda/copy_graph.hpp"

#include "grainscope/cuda/check.hpp"

namespace grainscope::cuda {

CopyGraph::CopyGraph() {
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "create a graph");
  graph_.reset(graph);
}

void CopyGraph::add(void* to, const void* from, std::size_t bytes) {
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddMemcpyNode1D(&node, graph_.get(), nullptr, 0, to, from, bytes, cudaMemcpyDefault),
        "add a copy to a graph");
}

void CopyGraph::instantiate(const Stream& stream) {
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph_.get(), 0), "instantiate a graph of copies");
  executable_.reset(executable);
  check(cudaGraphUpload(executable, stream.get()), "bring a graph of copies to the GPU");
}

void CopyGraph::launch(const Stream& stream) const {
  check(cudaGraphLaunch(executable_.get(), stream.get()), "launch a graph of copies");
}

void CopyGraph::DestroyGraph::operator()(cudaGraph_t graph) const noexcept {
  static_cast<void>(cudaGraphDestroy(graph));
}

void CopyGraph::DestroyExecutable::operator()(cudaGraphExec_t executable) const noexcept {
  static_cast<void>(cudaGraphExecDestroy(executable));
}

}  // namespace grainscope::cuda
