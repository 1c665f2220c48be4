#ifndef GRAINSCOPE_SRC_CUDA_CALL_GRAPH_WORK_HPP
#define GRAINSCOPE_SRC_CUDA_CALL_GRAPH_WORK_HPP

// What the nodes of a graph do whose calls are timed: the least that leaves a trace.

#include <cstdint>
#include <memory>
#include <string>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/probe.hpp"

namespace grainscope::cuda {

class GraphWork {
 public:
  virtual ~GraphWork() = default;
  GraphWork(const GraphWork&) = delete;
  GraphWork& operator=(const GraphWork&) = delete;

  // Puts all nodes into `stream`, one after another.
  virtual void enqueue(const Stream& stream) = 0;
  // Clears the traces of the sample before, in stream order.
  virtual void prepare(const Stream& stream) { static_cast<void>(stream); }
  // Throws FailedError unless the graph has run `launches` times since construction, all nodes of it, the
  // last time after prepare(). Waits for `stream`.
  virtual void expect(std::uint64_t launches, const Stream& stream) = 0;
  // "kernels of one thread".
  [[nodiscard]] virtual std::string nodes() const = 0;
  // What expect() has checked, in a sentence.
  [[nodiscard]] virtual std::string checked() const = 0;

 protected:
  GraphWork() = default;
};

// Kernels, or copies within the GPU's memory: the call says which. The GPU is current.
[[nodiscard]] std::unique_ptr<GraphWork> make_graph_work(const CallSpec& spec);

}  // namespace grainscope::cuda

#endif
