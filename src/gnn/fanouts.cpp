// What may be asked of neighbour sampling.

#include <algorithm>
#include <charconv>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"

namespace grainscope::gnn {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UsageError("the fan-outs '" + text + "': " + why + "; they are 1 to " + std::to_string(kMostHops) +
                   " numbers from 1 to " + std::to_string(kMostFanout) +
                   " from the seeds outward, as in 10x25");
}

}  // namespace

const char* name(ListPlacement placement) {
  switch (placement) {
    case ListPlacement::mapped:
      return "mapped";
    case ListPlacement::device:
      return "device";
    case ListPlacement::interleaved:
      return "interleaved";
  }
  return "?";
}

std::string fanout_text(std::span<const int> fanouts) {
  std::string text;
  for (const int fanout : fanouts) {
    text += (text.empty() ? "" : "x") + std::to_string(fanout);
  }
  return text;
}

std::vector<int> parse_fanouts(const std::string& text) {
  std::vector<int> fanouts;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int fanout = 0;
    const auto [next, error] = std::from_chars(at, end, fanout);
    if (error != std::errc{} || (next != end && *next != 'x')) {
      refuse(text, "'" + std::string(at, std::find(at, end, 'x')) + "' is no such number");
    }
    fanouts.push_back(fanout);
    if (next == end) {
      break;
    }
    at = next + 1;
  }
  require_fanouts(fanouts);
  return fanouts;
}

void require_fanouts(std::span<const int> fanouts) {
  if (fanouts.empty() || fanouts.size() > kMostHops) {
    refuse(fanout_text(fanouts), std::to_string(fanouts.size()) + " hops");
  }
  for (const int fanout : fanouts) {
    if (fanout < 1 || fanout > kMostFanout) {
      refuse(fanout_text(fanouts), "a fan-out of " + std::to_string(fanout));
    }
  }
}

void require_seeds(std::span<const graph::Vertex> seeds, graph::Vertex vertices) {
  if (seeds.empty()) {
    throw UsageError("a mini-batch without seeds");
  }
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (seeds[i] >= vertices) {
      throw UsageError("seed " + std::to_string(i) + " of a mini-batch, " + std::to_string(seeds[i]) +
                       ", is no vertex of a graph that has " + std::to_string(vertices));
    }
  }
  std::vector<graph::Vertex> sorted(seeds.begin(), seeds.end());
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    throw UsageError("vertex " + std::to_string(*twice) + " is twice among the seeds of a mini-batch");
  }
}

MostOf most_of(std::span<const int> fanouts, std::uint64_t seeds, graph::Vertex vertices) {
  MostOf most;
  most.nodes.push_back(std::min<std::uint64_t>(seeds, vertices));
  for (const int fanout : fanouts) {
    most.edges.push_back(most.nodes.back() * static_cast<std::uint64_t>(fanout));
    most.nodes.push_back(std::min<std::uint64_t>(most.nodes.back() + most.edges.back(), vertices));
  }
  return most;
}

}  // namespace grainscope::gnn
