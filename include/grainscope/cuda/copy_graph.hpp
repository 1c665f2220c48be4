#ifndef GRAINSCOPE_CUDA_COPY_GRAPH_HPP
#define GRAINSCOPE_CUDA_COPY_GRAPH_HPP

// Copies that do not depend on each other, as one executable graph: its owner.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {

class CopyGraph {
 public:
  CopyGraph();
  // One more copy of `bytes`, beside all others; before instantiate().
  void add(void* to, const void* from, std::size_t bytes);
  // Makes it executable and brings it to the GPU, in stream order. Once.
  void instantiate(const Stream& stream);
  // Enqueues all its copies. Throws FailedError before instantiate().
  void launch(const Stream& stream) const;

 private:
  struct DestroyGraph {
    void operator()(cudaGraph_t graph) const noexcept;
  };
  struct DestroyExecutable {
    void operator()(cudaGraphExec_t executable) const noexcept;
  };
  std::unique_ptr<CUgraph_st, DestroyGraph> graph_;
  std::unique_ptr<CUgraphExec_st, DestroyExecutable> executable_;
};

}  // namespace grainscope::cuda

#endif
