#include "scope.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

constexpr std::array<std::pair<std::string_view, Preset>, 5> kPresets{{{"smoke", Preset::smoke},
                                                                       {"quick", Preset::quick},
                                                                       {"full", Preset::full},
                                                                       {"paper", Preset::paper},
                                                                       {"acceptance", Preset::acceptance}}};

constexpr std::uint64_t kSmokeBytes = kMiB;
// Beyond any memory, and still a number after two more octaves or with two such buffers.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 61;

// Copies of some MiB by pages that others have touched are at one level for some ten calls, slower for some
// tens and then as at first; what is taken for 50 ms has both behind it.
constexpr double kWarmup_s = 0.005;
constexpr double kPatience_s = 0.05;

SamplingPlan sampling_of(Preset preset) {
  switch (preset) {
    case Preset::smoke:
      return {.ci_target = 0.1, .budget_s = 0.05, .max_samples = 64, .warmups = 1};
    case Preset::quick:
      return {.ci_target = 0.02,
              .budget_s = 0.5,
              .max_samples = 512,
              .warmups = 2,
              .warmup_s = kWarmup_s,
              .patience_s = kPatience_s};
    case Preset::full:
      return {.ci_target = 0.01,
              .budget_s = 0.5,
              .max_samples = 512,
              .warmups = 2,
              .warmup_s = kWarmup_s,
              .patience_s = kPatience_s};
    case Preset::paper:
      return {.ci_target = 0.01,
              .budget_s = 0.8,
              .max_samples = 512,
              .warmups = 2,
              .warmup_s = kWarmup_s,
              .patience_s = kPatience_s};
    case Preset::acceptance:
      return {.ci_target = 0.01,
              .budget_s = 1.0,
              .max_samples = 512,
              .warmups = 3,
              .warmup_s = kWarmup_s,
              .patience_s = kPatience_s};
  }
  return {};
}

// 64 are what the GAP benchmark suite asks for.
int trials_of(Preset preset) {
  switch (preset) {
    case Preset::smoke:
      return 2;
    case Preset::quick:
    case Preset::full:
      return 8;
    case Preset::paper:
      return 64;
    case Preset::acceptance:
      return 16;
  }
  return 8;
}

// Beyond this curves are flat, and every size takes as long as all smaller ones together.
constexpr std::uint64_t kLastOctave = 16 * kMiB;

// Octaves from a size to the next.
int stride_from(std::uint64_t bytes, Preset preset) {
  const bool every = preset == Preset::paper || (preset == Preset::full && bytes < kLastOctave);
  return every ? 1 : 2;
}

}  // namespace

Preset parse_preset(std::string_view text) {
  for (const auto& [candidate, preset] : kPresets) {
    if (candidate == text) {
      return preset;
    }
  }
  throw UsageError("there is no preset '" + std::string(text) +
                   "'; there are smoke, quick, full, paper and acceptance");
}

const char* name(Preset preset) {
  for (const auto& [text, candidate] : kPresets) {
    if (candidate == preset) {
      return text.data();
    }
  }
  return "quick";
}

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
  if (dense() || nodes.size() <= 2 || !gpu.local_node) {
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
  scope.sampling = sampling_of(preset);
  scope.repetitions = preset == Preset::acceptance ? 5 : 1;
  scope.trials = trials_of(preset);
  scope.gpus = std::move(gpus);
  scope.nodes = std::move(nodes);
  if (!gpus_asked_for && (preset == Preset::quick || preset == Preset::smoke) && scope.gpus.size() > 1) {
    scope.gpus.resize(1);
  }
  scope.programs_on_first = !gpus_asked_for && preset == Preset::full;
  return scope;
}

}  // namespace grainscope::harness
