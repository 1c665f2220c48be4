#include "scope.hpp"

#include <algorithm>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kSmokeBytes = kMiB;
// Beyond any memory, and still a number after two more octaves or with two such buffers.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 61;

// Beyond this curves are flat, and every size takes as long as all smaller ones together.
constexpr std::uint64_t kLastOctave = 16 * kMiB;

// Octaves from a size to the next.
int stride_from(std::uint64_t bytes, Preset preset) {
  const bool every = preset == Preset::paper || (preset == Preset::full && bytes < kLastOctave);
  return every ? 1 : 2;
}

}  // namespace

std::vector<std::uint64_t> Scope::sizes(std::uint64_t low, std::uint64_t high) const {
  std::vector<std::uint64_t> all;
  if (preset == Preset::smoke) {
    all = {std::clamp(kSmokeBytes / 16, low, high), std::clamp(kSmokeBytes, low, high)};
  } else if (preset == Preset::acceptance) {
    all = {std::clamp(64 * kKiB, low, high), std::clamp(16 * kMiB, low, high),
           std::clamp(256 * kMiB, low, high)};
  } else {
    const std::uint64_t last = std::max(high, std::min(max_bytes.value_or(0), kLargest));
    for (std::uint64_t bytes = low; bytes <= last; bytes <<= stride_from(bytes, preset)) {
      all.push_back(bytes);
    }
    if (all.empty() || all.back() < high) {
      all.push_back(high);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [this](std::uint64_t bytes) { return !in_range(bytes); });
  return all;
}

std::vector<std::uint64_t> Scope::few_or_all(std::uint64_t low, std::uint64_t high,
                                             const std::vector<std::uint64_t>& few) const {
  if (dense()) {
    return sizes(low, high);
  }
  std::vector<std::uint64_t> chosen;
  for (const std::uint64_t bytes : few) {
    if (in_range(bytes) && (chosen.empty() || preset != Preset::smoke)) {
      chosen.push_back(bytes);
    }
  }
  return chosen;
}

std::vector<std::uint64_t> Scope::one_size(std::uint64_t bytes) const {
  const std::uint64_t chosen = preset == Preset::smoke ? std::min(bytes, kSmokeBytes) : bytes;
  return in_range(chosen) ? std::vector{chosen} : std::vector<std::uint64_t>{};
}

std::vector<int> Scope::nodes_for(const GpuTarget& gpu) const {
  return dense() ? nodes : near_and_far(gpu);
}

std::vector<int> Scope::near_and_far(const GpuTarget& gpu) const {
  if (nodes.size() <= 2 || !gpu.local_node) {
    return nodes;
  }
  std::vector<int> chosen;
  for (const char* wanted : {"local", "remote"}) {
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](int candidate) { return gpu.locality(candidate) == wanted; });
    if (node != nodes.end()) {
      chosen.push_back(*node);
    }
  }
  return chosen;
}

int Scope::nearest_node(const GpuTarget& gpu) const {
  if (gpu.local_node && std::find(nodes.begin(), nodes.end(), *gpu.local_node) != nodes.end()) {
    return *gpu.local_node;
  }
  return nodes.empty() ? 0 : nodes.front();
}

Scope make_scope(Preset preset, std::vector<GpuTarget> gpus, bool gpus_asked_for, std::vector<int> nodes) {
  Scope scope;
  scope.preset = preset;
  scope.sampling = sampling_of(preset).plan;
  scope.repetitions = sampling_of(preset).repetitions;
  scope.trials = sampling_of(preset).trials;
  scope.gpus_asked_for = gpus_asked_for;
  scope.gpus = std::move(gpus);
  scope.nodes = std::move(nodes);
  if (!gpus_asked_for && (preset == Preset::quick || preset == Preset::smoke) && scope.gpus.size() > 1) {
    scope.gpus.resize(1);
  }
  scope.programs_on_first = !gpus_asked_for && preset == Preset::full;
  return scope;
}

}  // namespace grainscope::harness
