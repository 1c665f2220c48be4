// Labelled vertices and epochs: a Feistel network over numbers (Luby and Rackoff, SIAM J. Comput. 17, 1988)
// gives each its place, so that nothing is shuffled one after another.

#include "grainscope/gnn/seeds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/random.hpp"

namespace grainscope::gnn {
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

std::vector<Vertex> labelled_vertices(Vertex vertices, double percent, std::uint64_t seed) {
  const double wanted = static_cast<double>(vertices) * percent / 100;
  const auto count = percent > 0 && percent <= 100 ? static_cast<std::uint64_t>(std::llround(wanted)) : 0;
  if (count == 0) {
    throw UsageError("labelling " + std::to_string(percent) + " percent of " + std::to_string(vertices) +
                     " vertices labels none, or is no share: above 0, at most 100, and at least one vertex");
  }
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
  for (std::uint64_t epoch = request.first_epoch; epoch < request.first_epoch + request.epochs; ++epoch) {
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

}  // namespace grainscope::gnn
