#include "grainscope/cuda/device.hpp"

#include <set>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"

namespace grainscope::cuda {

int current_gpu() {
  int gpu = 0;
  check(cudaGetDevice(&gpu), "read the current GPU");
  return gpu;
}

DeviceGuard::DeviceGuard(int gpu) : previous_(current_gpu()), changed_(previous_ != gpu) {
  if (changed_) {
    check(cudaSetDevice(gpu), "make GPU " + std::to_string(gpu) + " current");
  }
}

DeviceGuard::~DeviceGuard() {
  if (changed_) {
    static_cast<void>(cudaSetDevice(previous_));
  }
}

MemoryInfo memory_info(int gpu) {
  const DeviceGuard guard(gpu);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "read the free memory of GPU " + std::to_string(gpu));
  return {free_bytes, total_bytes};
}

std::uint64_t free_memory(int gpu) {
  return memory_info(gpu).free_bytes;
}

int sm_count(int gpu) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu),
        "read the multiprocessor count of GPU " + std::to_string(gpu));
  return count;
}

Stream::Stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
  stream_.reset(stream);
}

void Stream::synchronize() const {
  check(cudaStreamSynchronize(get()), "finish the work of a stream");
}

void Stream::Destroy::operator()(cudaStream_t stream) const noexcept {
  static_cast<void>(cudaStreamDestroy(stream));
}

Event::Event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "create an event");
  event_.reset(event);
}

void Stream::wait_for(const Event& event) const {
  check(cudaStreamWaitEvent(get(), event.get(), 0), "let a stream wait for an event");
}

void Event::record(const Stream& stream) const {
  check(cudaEventRecord(get(), stream.get()), "record an event");
}

void Event::synchronize() const {
  check(cudaEventSynchronize(get()), "wait for an event");
}

bool Event::done() const {
  const cudaError_t status = cudaEventQuery(get());
  if (status == cudaErrorNotReady) {
    // No error, but the next check of a launch would find it.
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(status, "ask whether an event is over");
  return true;
}

void Event::Destroy::operator()(cudaEvent_t event) const noexcept {
  static_cast<void>(cudaEventDestroy(event));
}

double elapsed_s(const Event& start, const Event& stop) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), "read the time between two events");
  return static_cast<double>(milliseconds) * 1e-3;
}

PeerAccess::PeerAccess(int gpu, int peer) : gpu_(gpu), peer_(peer) {
  const std::string what = "the memory of GPU " + std::to_string(peer) + " from GPU " + std::to_string(gpu);
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, gpu, peer), "ask whether one can reach " + what);
  if (can == 0) {
    throw SkipError("GPU " + std::to_string(gpu) + " cannot reach the memory of GPU " + std::to_string(peer) +
                    " (cudaDeviceCanAccessPeer gives 0): see `nvidia-smi topo -p2p r`");
  }
  const DeviceGuard guard(gpu);
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    // It stays as the last error until somebody reads it.
    static_cast<void>(cudaGetLastError());
    return;
  }
  check(status, "reach " + what);
  enabled_here_ = true;
}

PeerAccess::~PeerAccess() {
  int previous = 0;
  // Not by a DeviceGuard: a destructor does not throw.
  if (!enabled_here_ || cudaGetDevice(&previous) != cudaSuccess || cudaSetDevice(gpu_) != cudaSuccess) {
    return;
  }
  static_cast<void>(cudaDeviceDisablePeerAccess(peer_));
  static_cast<void>(cudaSetDevice(previous));
}

std::vector<std::unique_ptr<PeerAccess>> reach_each_other(const std::vector<int>& gpus) {
  const std::set<int> each(gpus.begin(), gpus.end());
  std::vector<std::unique_ptr<PeerAccess>> accesses;
  for (const int gpu : each) {
    for (const int peer : each) {
      if (gpu != peer) {
        accesses.push_back(std::make_unique<PeerAccess>(gpu, peer));
      }
    }
  }
  return accesses;
}

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

namespace {

cudaMemLocation to_cuda(Location location) {
  cudaMemLocation result{};
  switch (location.kind) {
    case Location::Kind::gpu:
      result.type = cudaMemLocationTypeDevice;
      break;
    case Location::Kind::host:
      result.type = cudaMemLocationTypeHost;
      break;
    case Location::Kind::host_node:
      result.type = cudaMemLocationTypeHostNuma;
      break;
  }
  result.id = location.id;
  return result;
}

}  // namespace

#if CUDART_VERSION >= 13000
cudaError_t prefetch(const void* data, std::size_t bytes, Location to, cudaStream_t stream) {
  return cudaMemPrefetchAsync(data, bytes, to_cuda(to), 0, stream);
}

cudaError_t advise(const void* data, std::size_t bytes, cudaMemoryAdvise advice, Location where) {
  return cudaMemAdvise(data, bytes, advice, to_cuda(where));
}
#else
cudaError_t prefetch(const void* data, std::size_t bytes, Location to, cudaStream_t stream) {
  return cudaMemPrefetchAsync_v2(data, bytes, to_cuda(to), 0, stream);
}

cudaError_t advise(const void* data, std::size_t bytes, cudaMemoryAdvise advice, Location where) {
  return cudaMemAdvise_v2(data, bytes, advice, to_cuda(where));
}
#endif

#if CUDART_VERSION >= 12080
cudaError_t copy_batch(void* const* to, const void* const* from, const std::size_t* sizes, std::size_t count,
                       cudaStream_t stream) {
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t applies_from = 0;
#if CUDART_VERSION >= 13000
  return cudaMemcpyBatchAsync(to, from, sizes, count, &attributes, &applies_from, 1, stream);
#else
  // CUDA 12 tells which copy failed, and takes the same arrays without const.
  std::size_t failed = 0;
  return cudaMemcpyBatchAsync(const_cast<void**>(to), const_cast<void**>(from),
                              const_cast<std::size_t*>(sizes), count, &attributes, &applies_from, 1, &failed,
                              stream);
#endif
}
#else
cudaError_t copy_batch(void* const* /*to*/, const void* const* /*from*/, const std::size_t* /*sizes*/,
                       std::size_t /*count*/, cudaStream_t /*stream*/) {
  return cudaErrorNotSupported;
}
#endif

#if CUDART_VERSION >= 13000
// The calls take arrays without const, and one location for all ranges from the first on.
cudaError_t prefetch_batch(const ManagedRanges& ranges, Location to, cudaStream_t stream) {
  cudaMemLocation location = to_cuda(to);
  std::size_t applies_from = 0;
  return cudaMemPrefetchBatchAsync(const_cast<void**>(ranges.data), const_cast<std::size_t*>(ranges.sizes),
                                   ranges.count, &location, &applies_from, 1, 0, stream);
}

cudaError_t discard_batch(const ManagedRanges& ranges, cudaStream_t stream) {
  return cudaMemDiscardBatchAsync(const_cast<void**>(ranges.data), const_cast<std::size_t*>(ranges.sizes),
                                  ranges.count, 0, stream);
}

cudaError_t discard_and_prefetch_batch(const ManagedRanges& ranges, Location to, cudaStream_t stream) {
  cudaMemLocation location = to_cuda(to);
  std::size_t applies_from = 0;
  return cudaMemDiscardAndPrefetchBatchAsync(const_cast<void**>(ranges.data),
                                             const_cast<std::size_t*>(ranges.sizes), ranges.count, &location,
                                             &applies_from, 1, 0, stream);
}
#else
cudaError_t prefetch_batch(const ManagedRanges& /*ranges*/, Location /*to*/, cudaStream_t /*stream*/) {
  return cudaErrorNotSupported;
}

cudaError_t discard_batch(const ManagedRanges& /*ranges*/, cudaStream_t /*stream*/) {
  return cudaErrorNotSupported;
}

cudaError_t discard_and_prefetch_batch(const ManagedRanges& /*ranges*/, Location /*to*/,
                                       cudaStream_t /*stream*/) {
  return cudaErrorNotSupported;
}
#endif

}  // namespace grainscope::cuda
