// A training run, decided: hot rows first, seeds, labels, and the losses that it must have; and the same
// in memory that processes share.

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/scores.hpp"
#include "grainscope/gnn/training.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint64_t kPresampledEpoch = 0;
constexpr std::uint64_t kTrainedEpoch = 1;

// New to old: by how often an epoch's mini-batches ask, equals by degree.
std::vector<Vertex> presampled_order(const Csr& in_edges, std::span<const Vertex> labelled,
                                     const TrainingRequest& request) {
  HostArray<std::uint32_t> counts(in_edges.vertices());
  const RunRequest run{request.sample, request.batch, kPresampledEpoch, 1, request.batches};
  for_each_batch(in_edges, labelled, run,
                 [&](const MiniBatch& batch) { count_accesses(batch.nodes, counts.span()); });
  // A vertex is met over its out-edges.
  const auto degrees =
      in_edges.directed ? degree_scores(graph::transpose(in_edges)) : degree_scores(in_edges);
  return ranking(counts.span(), ranking(degrees.span()));
}

std::vector<std::vector<Vertex>> seeds_of(std::span<const Vertex> labelled, const TrainingRequest& request) {
  const std::uint64_t size = std::min<std::uint64_t>(request.batch, labelled.size());
  const std::uint64_t an_epoch = labelled.size() / size;
  std::vector<std::vector<Vertex>> seeds;
  seeds.reserve(request.batches);
  std::vector<Vertex> order;
  for (std::uint64_t b = 0; b < request.batches; ++b) {
    if (b % an_epoch == 0) {
      order = epoch_order(labelled, request.sample.seed, kTrainedEpoch + b / an_epoch);
    }
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(b % an_epoch * size);
    seeds.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
  }
  return seeds;
}

void require_possible(const TrainingRequest& request) {
  require_shape(request.shape);
  require_fanouts(request.sample.fanouts);
  if (request.shape.layers != request.sample.fanouts.size() || request.batch == 0 || request.batches == 0 ||
      !(request.rate > 0)) {
    throw UsageError("training " + std::to_string(request.shape.layers) + " layers over " +
                     std::to_string(request.sample.fanouts.size()) + " hops on " +
                     std::to_string(request.batches) + " mini-batches of " + std::to_string(request.batch) +
                     " at rate " + std::to_string(request.rate) +
                     ": a hop for each layer, and nothing of it 0");
  }
}

void require_trainable(const NpyFile& own, const Csr& graph, const SageShape& shape) {
  require_row_for_each(own, graph.vertices(), graph.name);
  if (own.element() != sizeof(float) || own.columns() != shape.features) {
    throw UsageError("the feature table " + own.path() + " of " + std::to_string(own.columns()) +
                     " columns of " + std::to_string(own.element()) + " bytes: training takes " +
                     std::to_string(shape.features) + " of float32 here (array.astype('<f4'))");
  }
}

// Layers behind the first see what they see of features in [−1, 1), and steps are no longer than there.
void fit_to_scale(TrainingPlan& plan, double scale) {
  const SageShape& shape = plan.request.shape;
  const auto divisor = static_cast<float>(scale);
  for (std::uint64_t i = shape.weights_at(0); i < shape.bias_at(0); ++i) {
    plan.parameters[i] /= divisor;
  }
  plan.request.rate /= std::max(1.0, scale * scale);
}

}  // namespace

double TrainingPlan::rows_beyond(std::uint64_t hot) const {
  const std::uint64_t first = std::min<std::uint64_t>(hot, accesses.size());
  const std::uint64_t asked = std::accumulate(accesses.begin() + first, accesses.end(), std::uint64_t{0});
  return static_cast<double>(asked) / static_cast<double>(request.batches);
}

double TrainingPlan::rows_beyond(std::uint64_t hot, std::uint64_t window, std::uint64_t ranks) const {
  const std::uint64_t rounds = window <= 1 || ranks == 0 ? 0 : seeds.size() / (window * ranks);
  if (rounds == 0) {
    return rows_beyond(hot);
  }
  CpuSampler sampler(neighbours, request.sample);
  MiniBatch sampled;
  HostArray<std::uint32_t> asked_in(neighbours.vertices());  // the last window that did
  std::uint32_t number = 0;
  std::uint64_t beyond = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      ++number;
      for (std::uint64_t at = 0; at < window; ++at) {
        const std::uint64_t batch = (round * window + at) * ranks + rank;
        sampler.sample(seeds[batch], batch, sampled);
        for (const Vertex row : sampled.nodes) {
          beyond += row >= hot && std::exchange(asked_in[row], number) != number ? 1 : 0;
        }
      }
    }
  }
  return static_cast<double>(beyond) / static_cast<double>(rounds * ranks * window);
}

TrainingPlan plan_training(const Csr& in_edges, const TrainingRequest& request,
                           const std::shared_ptr<const NpyFile>& own, std::span<const Vertex> trained_on) {
  require_possible(request);
  if (own != nullptr) {
    require_trainable(*own, in_edges, request.shape);
  }
  TrainingPlan plan;
  plan.request = request;
  const std::vector<Vertex> labelled =
      trained_on.empty()
          ? labelled_vertices(in_edges.vertices(), request.labelled_percent, request.sample.seed)
          : std::vector<Vertex>(trained_on.begin(), trained_on.end());
  const double begun_s = steady_now_s();
  const std::vector<Vertex> order = presampled_order(in_edges, labelled, request);
  const std::vector<Vertex> moved = old_to_new(order);
  plan.neighbours = reorder(in_edges, moved);
  plan.prepare_s = steady_now_s() - begun_s;
  std::vector<Vertex> renamed(labelled.size());
  std::transform(labelled.begin(), labelled.end(), renamed.begin(), [&](Vertex v) { return moved[v]; });
  std::sort(renamed.begin(), renamed.end());

  plan.seeds = seeds_of(renamed, request);
  plan.epoch_batches = labelled.size() / plan.seeds.front().size();
  plan.parameters = initial_parameters(request.shape, request.sample.seed);
  plan.features = own != nullptr ? Features(own, order) : Features(request.shape.features);
  FeatureSpread spread;
  if (own != nullptr) {
    spread = spread_of(plan.features, renamed);
    fit_to_scale(plan, spread.scale);
  }
  plan.labels = learnable_labels(plan.neighbours, renamed, request.shape, plan.features, spread.means);
  plan.accesses = HostArray<std::uint32_t>(in_edges.vertices());
  plan.rows.reserve(plan.seeds.size());
  CpuSampler sampler(plan.neighbours, request.sample);
  MiniBatch sampled;
  for (std::uint64_t b = 0; b < request.batches; ++b) {
    sampler.sample(plan.seeds[b], b, sampled);
    count_accesses(sampled.nodes, plan.accesses.span());
    plan.rows.push_back(static_cast<std::uint32_t>(sampled.nodes.size()));
  }
  return plan;
}

std::vector<double> reference_losses(const TrainingPlan& plan, std::uint64_t batches,
                                     std::uint64_t together) {
  const SageShape& shape = plan.request.shape;
  HostSage<double> model(shape, plan.parameters);
  CpuSampler sampler(plan.neighbours, plan.request.sample);
  MiniBatch sampled;
  std::vector<float> rows;
  std::vector<double> losses;
  losses.reserve(batches);
  for (std::uint64_t b = 0; b < std::min(batches, plan.request.batches); ++b) {
    sampler.sample(plan.seeds[b], b, sampled);
    rows.resize(sampled.nodes.size() * shape.features);
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < sampled.nodes.size(); ++i) {
      plan.features.read(sampled.nodes[i], rows.data() + i * shape.features);
    }
    losses.push_back(model.add_gradient(sampled, rows.data(), plan.labels));
    if ((b + 1) % together == 0) {
      model.update(plan.request.rate);
    }
  }
  return losses;
}

namespace {

using graph::Edge;
using graph::Vertex;

constexpr std::uint64_t kMagic = 0x6e616c7073677267;  // "grgsplan"
constexpr std::uint64_t kBoundary = 64;

struct Header {
  std::uint64_t magic = kMagic;
  std::uint64_t vertices = 0;
  std::uint64_t entries = 0;
  std::uint64_t batches = 0;
  std::uint64_t seeds = 0;  // of a mini-batch
  std::uint64_t hops = 0;
  std::array<std::int32_t, kMostHops> fanouts{};
  std::uint64_t sample_seed = 0;
  std::uint64_t batch = 0;
  double labelled_percent = 0;
  double rate = 0;
  SageShape shape;
};

// Where each part begins, counted from the header.
struct Parts {
  explicit Parts(const Header& header)
      : offsets(after(0, sizeof(Header))),
        targets(after(offsets, (header.vertices + 1) * sizeof(Edge))),
        seeds(after(targets, header.entries * sizeof(Vertex))),
        labels(after(seeds, header.batches * header.seeds * sizeof(Vertex))),
        parameters(after(labels, header.vertices * sizeof(std::uint16_t))),
        end(after(parameters, header.shape.parameters() * sizeof(float))) {}
  static std::uint64_t after(std::uint64_t begin, std::uint64_t bytes) {
    return (begin + bytes + kBoundary - 1) / kBoundary * kBoundary;
  }
  std::uint64_t offsets;
  std::uint64_t targets;
  std::uint64_t seeds;
  std::uint64_t labels;
  std::uint64_t parameters;
  std::uint64_t end;
};

Header header_of(const TrainingPlan& plan) {
  Header header;
  header.vertices = plan.neighbours.vertices();
  header.entries = plan.neighbours.edges();
  header.batches = plan.seeds.size();
  header.seeds = plan.seeds.empty() ? 0 : plan.seeds.front().size();
  const TrainingRequest& request = plan.request;
  header.hops = request.sample.fanouts.size();
  std::copy(request.sample.fanouts.begin(), request.sample.fanouts.end(), header.fanouts.begin());
  header.sample_seed = request.sample.seed;
  header.batch = request.batch;
  header.labelled_percent = request.labelled_percent;
  header.rate = request.rate;
  header.shape = request.shape;
  return header;
}

template <class T>
void put(std::byte* to, std::span<const T> values) {
  if (!values.empty()) {
    std::memcpy(to, values.data(), values.size_bytes());
  }
}

template <class T>
HostArray<T> part(const std::string& path, std::uint64_t offset, std::uint64_t count) {
  return {HostBytes::map_file(path, offset, count * sizeof(T)), count};
}

template <class T>
std::vector<T> copied(const HostArray<T>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::uint64_t shared_plan_bytes(const TrainingPlan& plan) {
  return Parts(header_of(plan)).end;
}

void write_plan(const TrainingPlan& plan, std::byte* to) {
  const Header header = header_of(plan);
  const Parts parts(header);
  put(to, std::span(&header, 1));
  put<Edge>(to + parts.offsets, plan.neighbours.offsets.span());
  put<Vertex>(to + parts.targets, plan.neighbours.targets.span());
  std::byte* seeds = to + parts.seeds;
  for (const std::vector<Vertex>& each : plan.seeds) {
    put<Vertex>(seeds, each);
    seeds += header.seeds * sizeof(Vertex);
  }
  put<std::uint16_t>(to + parts.labels, plan.labels);
  put<float>(to + parts.parameters, plan.parameters);
}

TrainingPlan read_plan(const std::string& path, std::uint64_t offset) {
  const HostArray<Header> headers = part<Header>(path, offset, 1);
  const Header& header = headers[0];
  if (header.magic != kMagic || header.hops > kMostHops) {
    throw UsageError("no training plan lies in " + path);
  }
  const Parts parts(header);
  TrainingPlan plan;
  plan.request.sample = {{header.fanouts.begin(), header.fanouts.begin() + header.hops}, header.sample_seed};
  plan.request.batch = header.batch;
  plan.request.batches = header.batches;
  plan.request.labelled_percent = header.labelled_percent;
  plan.request.shape = header.shape;
  plan.request.rate = header.rate;
  plan.features = Features(header.shape.features);
  plan.neighbours.offsets = part<Edge>(path, offset + parts.offsets, header.vertices + 1);
  plan.neighbours.targets = part<Vertex>(path, offset + parts.targets, header.entries);
  const auto seeds = part<Vertex>(path, offset + parts.seeds, header.batches * header.seeds);
  for (std::uint64_t batch = 0; batch < header.batches; ++batch) {
    plan.seeds.emplace_back(seeds.begin() + batch * header.seeds, seeds.begin() + (batch + 1) * header.seeds);
  }
  plan.labels = copied(part<std::uint16_t>(path, offset + parts.labels, header.vertices));
  plan.parameters = copied(part<float>(path, offset + parts.parameters, header.shape.parameters()));
  return plan;
}

}  // namespace grainscope::gnn
