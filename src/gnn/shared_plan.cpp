#include "grainscope/gnn/shared_plan.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"

namespace grainscope::gnn {
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
