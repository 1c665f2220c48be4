// grain/saturation: how few multiprocessors does a kernel need to fill the link?
//
// First the rate of a full grid is measured, then that of one block of 1024 threads, two, and so on until the
// full grid's rate is reached but for 5 %; the smallest such grid is then sampled like any other case, and
// where it stays below, up to four larger ones. Blocks of that size lie on multiprocessors of their own,
// which the kernel itself reports.
// Timed: one kernel between two events behind a closed gate. Bytes: what the kernel asks for.
// Source: dissertation, section 3 (SM shares); EMOGI, section 3.3.
// Limits: nothing else runs; contention tells what a copy and a computation do to each other.

#include <algorithm>
#include <map>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

constexpr double kThreshold = 0.95;  // of the full grid's rate
constexpr int kMostRaises = 4;       // of a grid that did not reach it again

const char* const kFamily = "grain/saturation";

// The rate of one grid, at a look.
double look_gb_s(Session& session, const Transfer& transfer) {
  const auto mover = transfer::make_mover(transfer, session.surroundings());
  const double seconds = median_s(*mover);
  static_cast<void>(mover->verify());
  return gb_per_s(static_cast<double>(transfer.bytes), seconds);
}

Measurement measure(Session& session, Transfer transfer) {
  const int most = session.machine().find_gpu(transfer.gpu())->cuda->sm_count;
  double full_gb_s = look_gb_s(session, transfer);
  const auto saturates = [&](int blocks) {
    transfer.walk.blocks = blocks;
    return look_gb_s(session, transfer) >= kThreshold * full_gb_s;
  };
  // Doubling finds a grid that does, halving the gap to the one before it finds the smallest.
  int fails = 0;
  int does = 1;
  while (does < most && !saturates(does)) {
    fails = does;
    does = std::min(2 * does, most);
  }
  while (does - fails > 1) {
    const int middle = (fails + does) / 2;
    (saturates(middle) ? does : fails) = middle;
  }
  // A look may have been lucky, the one at the full grid too: where a session stays below the threshold, the
  // full grid is looked at again, and up to four larger ones are sampled.
  const auto rate_of = [&](const Measurement& measurement) {
    return gb_per_s(static_cast<double>(transfer.bytes), measurement.samples.summary.median);
  };
  transfer.walk.blocks = does;
  Measurement measurement = measure_transfer(session, transfer);
  if (rate_of(measurement) < kThreshold * full_gb_s) {
    transfer.walk.blocks = 0;
    full_gb_s = look_gb_s(session, transfer);
  }
  for (int more = 1; more <= kMostRaises && rate_of(measurement) < kThreshold * full_gb_s; ++more) {
    transfer.walk.blocks = std::min(does + more, most);
    measurement = measure_transfer(session, transfer);
  }
  measurement.counters["sms"] = measurement.counters.at("multiprocessors");
  measurement.counters["sms_available"] = most;
  measurement.counters["full_gb_s"] = full_gb_s;
  measurement.counters["threshold"] = kThreshold;
  measurement.counters["saturated_gb_s"] = rate_of(measurement);
  return measurement;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  const Explanation text{"the fewest multiprocessors with which a kernel fills the link",
                         "one kernel on the smallest grid that reaches the full grid's rate but for 5 %",
                         "`sms` counts the multiprocessors that had a block; found by doubling and halving, "
                         "and raised where its session stays below",
                         "dissertation, section 3; EMOGI, section 3.3",
                         "nothing else runs on the GPU meanwhile"};
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points()) {
      Transfer transfer;
      transfer.engine = Engine::sm;
      transfer.source = Endpoint::host(Placement::mapped, node);
      transfer.destination = Endpoint::gpu(Placement::registers, gpu.ordinal);
      if (values.is("direction", "write")) {
        std::swap(transfer.source, transfer.destination);
      }
      transfer.bytes = values.number("bytes");
      transfer.flush = true;  // lines in the CPU's caches answer otherwise than memory
      transfer.walk.width_bytes = values.number_as<int>("width");
      Benchmark benchmark = transfer_benchmark(
          kFamily, {{"direction", values.at("direction"), AxisStyle::bare}, {"width", values.at("width")}},
          transfer, gpu, text);
      benchmark.skip_for(why_no_mapping(machine, gpu.ordinal));
      benchmark.run = [transfer](Session& session) { return measure(session, transfer); };
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

}  // namespace

Family grain_saturation() {
  return {kFamily,
          "How few multiprocessors does a kernel need to fill the link?",
          {word_axis("direction", "whether the kernel reads or writes", {"read", "write"}),
           choice_axis("width", "bytes of an access", {4, 8, 16}),
           size_axis("bytes", "bytes that the kernel asks for", {128, 1024 * kGiB})},
          list};
}

}  // namespace grainscope::harness
