#ifndef GRAINSCOPE_CUDA_DEVICE_HPP
#define GRAINSCOPE_CUDA_DEVICE_HPP

// Which GPU is current, what it can reach, and the small handles that belong to one: streams, events and
// graphs.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace grainscope::cuda {

// Makes a GPU current for the calling thread and restores the previous one. Does nothing where it is current
// already: a context of that GPU which is not the primary one (cuda/sm_partition.hpp) then stays.
class [[nodiscard]] DeviceGuard {
 public:
  explicit DeviceGuard(int gpu);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_;
  bool changed_;
};

// The calling thread's GPU.
[[nodiscard]] int current_gpu();

struct MemoryInfo {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};
[[nodiscard]] MemoryInfo memory_info(int gpu);

// Multiprocessors of a GPU.
[[nodiscard]] int sm_count(int gpu);

class Event;

// A stream that does not synchronise with the default one, on the GPU current at construction.
class Stream {
 public:
  Stream();
  // Takes over one that something else has made: a green context.
  explicit Stream(cudaStream_t made) : stream_(made) {}
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_.get(); }
  // Waits for all its work; throws FailedError for an error of any of it.
  void synchronize() const;
  // What comes behind waits for what the event recorded last, on whichever GPU.
  void wait_for(const Event& event) const;

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const noexcept;
  };
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

// An event that takes the time, on the GPU current at construction.
class Event {
 public:
  Event();
  // Takes over one that something else has made: an event of several processes.
  explicit Event(cudaEvent_t made) : event_(made) {}
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_.get(); }
  void record(const Stream& stream) const;
  void synchronize() const;
  // Whether what was recorded last has ended; does not wait. Throws FailedError for an error of it.
  [[nodiscard]] bool done() const;

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept;
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

// Seconds between two events that have completed.
[[nodiscard]] double elapsed_s(const Event& start, const Event& stop);

// Work that is described once and launched as a whole.
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

// Copies that do not depend on each other, as one executable graph: its owner.
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

// While it lives, kernels and copies on `gpu` reach the memory of `peer`, in that direction alone.
// An access that somebody enabled before is left as it was. Two of them for the same direction must end in
// the reverse order of their beginning, since the first one enabled it.
class [[nodiscard]] PeerAccess {
 public:
  // Throws SkipError, with the reason, where the two cannot reach each other; FailedError for a GPU that does
  // not exist.
  PeerAccess(int gpu, int peer);
  ~PeerAccess();
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;

  // Whether this object enabled it, and so will disable it.
  [[nodiscard]] bool enabled_here() const noexcept { return enabled_here_; }

 private:
  int gpu_;
  int peer_;
  bool enabled_here_ = false;
};
// Of every two of these GPUs, both ways; one may be named more than once.
[[nodiscard]] std::vector<std::unique_ptr<PeerAccess>> reach_each_other(const std::vector<int>& gpus);

}  // namespace grainscope::cuda

#endif
