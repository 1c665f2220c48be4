// Neighbour sampling but for the samplers themselves: what may be asked of it, where runs start, the
// serial oracle, and what a mini-batch must be whatever was drawn.

#include "grainscope/gnn/sampling.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/share_work.hpp"

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

// Labelled vertices and epochs: a Feistel network over numbers (Luby and Rackoff, SIAM J. Comput. 17, 1988)
// gives each its place, so that nothing is shuffled one after another.

namespace {

using graph::Vertex;

constexpr int kRounds = 4;

// What numbers are drawn for; no two purposes share a stream.
constexpr std::uint64_t kLabels = 0x6c6162656c;
constexpr std::uint64_t kOrder = 0x6f72646572;

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key)
    : size_(size),
      key_(key),
      half_bits_(static_cast<int>((std::bit_width(std::max<std::uint64_t>(size, 2) - 1) + 1) / 2)) {}

// A bijection of the numbers of 2 · half_bits_ bits.
std::uint64_t Permutation::step(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & mask;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = random_number(random_number(key_, static_cast<std::uint64_t>(round)), right);
    const std::uint64_t next = left ^ (mixed >> (64 - half_bits_));
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  // Numbers beyond the size are walked over: whoever starts below it comes back below it, at a place of its
  // own.
  do {
    i = step(i);
  } while (i >= size_);
  return i;
}

std::uint64_t labelled_count(Vertex vertices, double percent) {
  const double wanted = static_cast<double>(vertices) * percent / 100;
  const auto count = percent > 0 && percent <= 100 ? static_cast<std::uint64_t>(std::llround(wanted)) : 0;
  if (count == 0) {
    throw UsageError("labelling " + std::to_string(percent) + " percent of " + std::to_string(vertices) +
                     " vertices labels none, or is no share: above 0, at most 100, and at least one vertex");
  }
  return count;
}

std::vector<Vertex> labelled_vertices(Vertex vertices, double percent, std::uint64_t seed) {
  const std::uint64_t count = labelled_count(vertices, percent);
  const Permutation places(vertices, random_number(kLabels, seed));
  std::vector<Vertex> labelled(count);
#pragma omp parallel for if (count > 65536)
  for (std::uint64_t i = 0; i < count; ++i) {
    labelled[i] = static_cast<Vertex>(places(i));
  }
  std::sort(labelled.begin(), labelled.end());
  return labelled;
}

std::vector<Vertex> epoch_order(std::span<const Vertex> labelled, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation places(labelled.size(), random_number(random_number(kOrder, seed), epoch));
  std::vector<Vertex> order(labelled.size());
#pragma omp parallel for if (order.size() > 65536)
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = labelled[places(i)];
  }
  return order;
}

std::uint64_t for_each_batch(const graph::Csr& neighbours, std::span<const Vertex> labelled,
                             const RunRequest& request, const std::function<void(const MiniBatch&)>& visit) {
  if (labelled.empty() || request.batch == 0 || request.epochs == 0) {
    throw UsageError("a run of " + std::to_string(request.epochs) + " epochs over " +
                     std::to_string(labelled.size()) + " labelled vertices in mini-batches of " +
                     std::to_string(request.batch) + ": none of them may be 0");
  }
  CpuSampler sampler(neighbours, request.sample);
  const std::uint64_t an_epoch = (labelled.size() + request.batch - 1) / request.batch;
  const std::uint64_t most = request.most_batches == 0 ? UINT64_MAX : request.most_batches;
  MiniBatch sampled;
  std::uint64_t done = 0;
  const std::uint64_t last = request.first_epoch + request.epochs;
  for (std::uint64_t epoch = request.first_epoch; epoch < last && done < most; ++epoch) {
    const std::vector<Vertex> order = epoch_order(labelled, request.sample.seed, epoch);
    for (std::uint64_t b = 0; b < an_epoch && done < most; ++b, ++done) {
      const std::uint64_t first = b * request.batch;
      const std::uint64_t count = std::min(request.batch, order.size() - first);
      sampler.sample(std::span(order).subspan(first, count), epoch * an_epoch + b, sampled);
      visit(sampled);
    }
  }
  return done;
}

Trace sampled_trace(const graph::Csr& neighbours, std::span<const Vertex> labelled,
                    const RunRequest& request) {
  Trace trace;
  for_each_batch(neighbours, labelled, request, [&](const MiniBatch& batch) { trace.add(batch.nodes); });
  return trace;
}

// A mini-batch for steps that are repeated on it.

std::unique_ptr<FixedBatch> make_fixed_batch(const graph::Csr& in_edges, TrainingRequest request) {
  constexpr int kReferenceSteps = 3;
  request.batches = 1;
  auto batch = std::make_unique<FixedBatch>();
  batch->plan = plan_training(in_edges, request);
  const TrainingPlan& plan = batch->plan;
  CpuSampler(plan.neighbours, request.sample).sample(plan.seeds.front(), 0, batch->sampled);
  const std::vector<graph::Vertex>& nodes = batch->sampled.nodes;
  const std::uint32_t columns = request.shape.features;
  batch->rows.resize(nodes.size() * columns);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      batch->rows[i * columns + column] = feature(kFeatureSeed, nodes[i], column);
    }
  }
  HostSage<double> model(request.shape, plan.parameters);
  for (int step = 0; step < kReferenceSteps; ++step) {
    batch->losses.push_back(model.add_gradient(batch->sampled, batch->rows.data(), plan.labels));
    model.update(request.rate);
  }
  return batch;
}

// The oracle of neighbour sampling: one thread, a set for each destination's places, a sort for each hop.

namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint32_t kNowhere = UINT32_MAX;

// The neighbours that `vertex` keeps.
std::vector<Vertex> kept(const Csr& neighbours, Vertex vertex, std::uint64_t fanout, std::uint64_t key) {
  const auto list = neighbours.neighbours(vertex);
  if (list.size() <= fanout) {
    return {list.begin(), list.end()};
  }
  std::vector<Vertex> result;
  std::set<std::uint64_t> taken;
  const std::uint64_t stream = vertex_key(key, vertex);
  for (std::uint64_t i = 0; i < fanout; ++i) {
    const std::uint64_t last = list.size() - fanout + i;
    const std::uint64_t place = random_below(stream, i, static_cast<std::uint32_t>(last + 1));
    const std::uint64_t chosen = taken.contains(place) ? last : place;
    taken.insert(chosen);
    result.push_back(list[chosen]);
  }
  return result;
}

}  // namespace

MiniBatch serial_sample(const Csr& neighbours, const SampleRequest& request, std::span<const Vertex> seeds,
                        std::uint64_t batch) {
  require_fanouts(request.fanouts);
  require_seeds(seeds, neighbours.vertices());
  MiniBatch result;
  std::vector<std::uint32_t> index_of(neighbours.vertices(), kNowhere);
  for (const Vertex seed : seeds) {
    index_of[seed] = static_cast<std::uint32_t>(result.nodes.size());
    result.nodes.push_back(seed);
  }
  result.nodes_upto.push_back(static_cast<std::uint32_t>(result.nodes.size()));
  for (std::size_t hop = 0; hop < request.fanouts.size(); ++hop) {
    const std::uint64_t key = hop_key(request.seed, batch, hop);
    Layer layer;
    layer.offsets.push_back(0);
    std::set<Vertex> fresh;
    for (const Vertex vertex : result.nodes) {
      for (const Vertex source :
           kept(neighbours, vertex, static_cast<std::uint64_t>(request.fanouts[hop]), key)) {
        layer.sources.push_back(source);
        if (index_of[source] == kNowhere) {
          fresh.insert(source);
        }
      }
      layer.offsets.push_back(layer.sources.size());
    }
    for (const Vertex vertex : fresh) {
      index_of[vertex] = static_cast<std::uint32_t>(result.nodes.size());
      result.nodes.push_back(vertex);
    }
    for (std::uint32_t& source : layer.sources) {
      source = index_of[source];
    }
    result.nodes_upto.push_back(static_cast<std::uint32_t>(result.nodes.size()));
    result.sampled_edges += layer.sources.size();
    result.layers.push_back(std::move(layer));
  }
  return result;
}

// What a mini-batch must be, whatever was drawn.

namespace {

using graph::Csr;
using graph::Vertex;

[[noreturn]] void refuse(const std::string& what) {
  throw FailedError("wrong result: a sampled mini-batch: " + what);
}

void require(bool holds, const std::string& what) {
  if (!holds) {
    refuse(what);
  }
}

// Whether destination `i` of a layer has as many different neighbours as it should. Marks them as reached.
bool fits(const Csr& neighbours, const MiniBatch& sampled, const Layer& layer, std::uint64_t i, int fanout,
          std::uint32_t nodes, std::vector<std::uint8_t>& reached) {
  const auto list = neighbours.neighbours(sampled.nodes[i]);
  const std::uint64_t begin = layer.offsets[i];
  const std::uint64_t end = layer.offsets[i + 1];
  if (end < begin ||
      end - begin != std::min<std::uint64_t>(list.size(), static_cast<std::uint64_t>(fanout)) ||
      end > layer.sources.size()) {
    return false;
  }
  std::array<std::uint32_t, kMostFanout> copied;
  const std::span sources(copied.data(), end - begin);
  std::copy_n(layer.sources.data() + begin, sources.size(), sources.data());
  for (const std::uint32_t source : sources) {
    if (source >= nodes || !std::binary_search(list.begin(), list.end(), sampled.nodes[source])) {
      return false;
    }
    std::atomic_ref(reached[source]).store(1, std::memory_order_relaxed);
  }
  std::sort(sources.begin(), sources.end());
  return std::adjacent_find(sources.begin(), sources.end()) == sources.end();
}

void certify_layer(const Csr& neighbours, const MiniBatch& sampled, std::size_t hop, int fanout) {
  const Layer& layer = sampled.layers[hop];
  const std::uint32_t destinations = sampled.nodes_upto[hop];
  const std::uint32_t nodes = sampled.nodes_upto[hop + 1];
  const std::string where = "layer " + std::to_string(hop) + ": ";
  require(layer.offsets.size() == std::uint64_t{destinations} + 1 && layer.offsets.front() == 0 &&
              layer.offsets.back() == layer.sources.size(),
          where + "its offsets do not frame its sources");
  std::vector<std::uint8_t> reached(nodes);
  std::uint64_t wrong = UINT64_MAX;
#pragma omp parallel for schedule(dynamic, 256) reduction(min : wrong) if (destinations > 1024)
  for (std::uint64_t i = 0; i < destinations; ++i) {
    if (!fits(neighbours, sampled, layer, i, fanout, nodes, reached)) {
      wrong = std::min(wrong, i);
    }
  }
  require(wrong == UINT64_MAX, where + "destination " + std::to_string(wrong) +
                                   " does not have as many different neighbours as it should");
  const auto unreached = std::find(reached.begin() + destinations, reached.end(), 0);
  require(unreached == reached.end(),
          where + "node " + std::to_string(unreached - reached.begin()) + " is not reached by any edge");
}

void certify_nodes(const Csr& neighbours, std::span<const int> fanouts, std::span<const Vertex> seeds,
                   const MiniBatch& sampled) {
  const auto& nodes = sampled.nodes;
  const auto& upto = sampled.nodes_upto;
  require(upto.size() == fanouts.size() + 1 && sampled.layers.size() == fanouts.size(),
          "it does not have as many hops as fan-outs");
  require(upto.front() == seeds.size() && upto.back() == nodes.size() &&
              std::is_sorted(upto.begin(), upto.end()) &&
              std::equal(seeds.begin(), seeds.end(), nodes.begin()),
          "its first nodes are not the seeds");
  for (std::size_t hop = 0; hop < fanouts.size(); ++hop) {
    require(std::is_sorted(nodes.begin() + upto[hop], nodes.begin() + upto[hop + 1]),
            "what hop " + std::to_string(hop) + " adds is not ascending");
  }
  require(*std::max_element(nodes.begin(), nodes.end()) < neighbours.vertices(), "a node is no vertex");
  const HostArray<std::uint8_t> seen(neighbours.vertices());
  require(std::none_of(nodes.begin(), nodes.end(),
                       [&](Vertex node) { return std::exchange(seen[node], std::uint8_t{1}) != 0; }),
          "a node is there twice");
}

}  // namespace

std::string certify_sample(const Csr& neighbours, std::span<const int> fanouts, std::span<const Vertex> seeds,
                           const MiniBatch& sampled) {
  require_fanouts(fanouts);
  require_seeds(seeds, neighbours.vertices());
  certify_nodes(neighbours, fanouts, seeds, sampled);
  std::uint64_t edges = 0;
  for (std::size_t hop = 0; hop < fanouts.size(); ++hop) {
    certify_layer(neighbours, sampled, hop, fanouts[hop]);
    edges += sampled.layers[hop].sources.size();
  }
  require(edges == sampled.sampled_edges, "its number of edges is not that of its layers");
  return "every destination has the right number of different neighbours, and the nodes are what they reach";
}

}  // namespace grainscope::gnn
