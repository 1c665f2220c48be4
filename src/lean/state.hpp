#ifndef GRAINSCOPE_SRC_LEAN_STATE_HPP
#define GRAINSCOPE_SRC_LEAN_STATE_HPP

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/measurement.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::lean {

// One level of a traversal, as its kernel notes it.
struct LevelNote {
  std::uint64_t active;
  std::uint64_t edges;
  std::uint64_t end_ns;
  std::uint64_t pull;
};

// Their times are from the end of the one before, of the first from `begun_ns`.
[[nodiscard]] inline std::vector<LevelResult> levels_of(const std::vector<LevelNote>& notes,
                                                        std::uint64_t begun_ns) {
  std::vector<LevelResult> levels;
  for (const LevelNote& note : notes) {
    constexpr double kNanosecond = 1e-9;
    levels.push_back({note.active, note.edges, 0, 0, 0});
    levels.back().seconds = static_cast<double>(note.end_ns - begun_ns) * kNanosecond;
    begun_ns = note.end_ns;
  }
  return levels;
}

inline void require_vertex(graph::Vertex source, graph::Vertex vertices) {
  if (source >= vertices) {
    throw UsageError("there is no vertex " + std::to_string(source) + " to start from: the graph has " +
                     std::to_string(vertices));
  }
}

// Throws SkipError where a GPU cannot launch blocks that wait for each other.
inline void require_together(int gpu) {
  int together = 0;
  cuda::check(cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, gpu),
              "ask whether blocks may wait for each other");
  if (together == 0) {
    throw SkipError("GPU " + std::to_string(gpu) + " cannot launch blocks that wait for each other");
  }
}

// As many blocks as the GPU, which is current, holds at once.
inline void launch_together(const void* kernel, int threads, int gpu, void** arguments,
                            const cuda::Stream& stream) {
  int blocks = 0;
  cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0),
              "ask how many blocks a multiprocessor holds");
  const auto grid = static_cast<unsigned>(std::max(1, blocks * cuda::sm_count(gpu)));
  cuda::check(cudaLaunchCooperativeKernel(kernel, dim3(grid), dim3(static_cast<unsigned>(threads)), arguments,
                                          0, stream.get()),
              "launch a traversal with all its blocks at once");
}

// Values in a GPU's memory; never of no bytes.
template <class T>
class DeviceValues {
 public:
  DeviceValues(int gpu, std::uint64_t count) : memory_(gpu, std::max<std::uint64_t>(count, 1) * sizeof(T)) {}
  [[nodiscard]] T* get() const { return static_cast<T*>(memory_.data()); }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }
  [[nodiscard]] std::vector<T> read(std::uint64_t count) const {
    std::vector<T> values(count);
    cuda::check(cudaMemcpy(values.data(), memory_.data(), count * sizeof(T), cudaMemcpyDeviceToHost),
                "read what a traversal found");
    return values;
  }

 private:
  cuda::DeviceBuffer memory_;
};

}  // namespace grainscope::lean

#endif
