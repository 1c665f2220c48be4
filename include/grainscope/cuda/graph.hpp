#ifndef GRAINSCOPE_CUDA_GRAPH_HPP
#define GRAINSCOPE_CUDA_GRAPH_HPP

// Owners of graphs: work that is described once and launched as a whole.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {

class Graph {
 public:
  // What `enqueue` puts into `stream`, one after another; none of it runs. Throws what `enqueue` throws.
  Graph(const Stream& stream, const std::function<void()>& enqueue);
  [[nodiscard]] cudaGraph_t get() const noexcept { return graph_.get(); }
  [[nodiscard]] std::size_t nodes() const;

 private:
  struct Destroy {
    void operator()(cudaGraph_t graph) const noexcept;
  };
  std::unique_ptr<CUgraph_st, Destroy> graph_;
};

// A graph made ready to be launched.
class GraphExec {
 public:
  explicit GraphExec(const Graph& graph);
  // Takes over what cudaGraphInstantiate gave.
  explicit GraphExec(cudaGraphExec_t exec) noexcept : exec_(exec) {}
  [[nodiscard]] cudaGraphExec_t get() const noexcept { return exec_.get(); }
  // Enqueues all of it.
  void launch(const Stream& stream) const;

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t exec) const noexcept;
  };
  std::unique_ptr<CUgraphExec_st, Destroy> exec_;
};

}  // namespace grainscope::cuda

#endif
