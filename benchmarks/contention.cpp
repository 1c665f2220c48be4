// contention: what is left of a copy between host and GPU when something else runs?
//
// Timed: every lane between two events of its own, all behind gates that open together. A background lane is
// issued often enough to outlast the measured one. Each lane is also timed alone in the same session.
// Bytes: those of the lanes that are not background.
// partner_kept: what a background lane kept of its own rate while the others ran. Kernels of one GPU leave
// room for each other, or they would run one after the other.
// Source: nvbandwidth's bidirectional copies (`opposite_copy`: one direction under a copy the other way).
// Limits: one GPU against one node; several GPUs against one node are transfer/collective.

#include <algorithm>
#include <cmath>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

constexpr std::uint64_t kStreamedBytes = kGiB;  // of device memory, out of any cache
constexpr double kSlowestLink_gb_s = 20;        // background work is sized to outlast a copy over this
constexpr double kDeviceMemory_gb_s = 4000;     // and at this rate
constexpr int kOppositeCopies = 3;

const char* const kOpposite = "opposite_copy";
const char* const kStreams = "streams";
const char* const kBesideCompute = "beside_compute";
const char* const kBesideStream = "beside_device_stream";
const char* const kTwoEngines = "engine_and_kernel";
constexpr Engine kEngines[] = {Engine::copy_engine, Engine::sm};

// A kernel's copy beside one that streams device memory keeps no more under way than fills the link: what is
// more stands in line, and the other's loads behind it (docs/method.md).
constexpr double kUnderWay_s = 4e-6;       // what is under way, in time on the link
constexpr double kFastestLink_gb_s = 450;  // NVLink-C2C; where the machine does not tell

int blocks_over_link(const Machine& machine, int gpu) {
  const auto limit = host_link_limit(machine, gpu);
  const double link_gb_s = std::min(limit ? limit->gb_s : kFastestLink_gb_s, kFastestLink_gb_s);
  const double bytes = link_gb_s * 1e9 * kUnderWay_s;
  return static_cast<int>(std::ceil(bytes / static_cast<double>(transfer::kUnderWayOfCopyBlock)));
}

const char* const kFamily = "contention";

const char* method_name(Engine engine) {
  return engine == Engine::sm ? "kernel_copy" : "copy_engine";
}

const char* path_name(bool to_gpu) {
  return to_gpu ? "host_to_gpu" : "gpu_to_host";
}

Transfer host_copy(bool to_gpu, Engine engine, int node, int gpu, std::uint64_t bytes) {
  Transfer copy;
  copy.engine = engine;
  copy.source = Endpoint::host(Placement::pinned, node);
  copy.destination = Endpoint::gpu(Placement::device, gpu);
  if (!to_gpu) {
    std::swap(copy.source, copy.destination);
  }
  copy.bytes = bytes;
  return copy;
}

class Lister {
 public:
  Lister(const Machine& machine, const Grids& grids) : machine_(machine), grids_(grids) {}

  std::vector<Benchmark> list() {
    grids_.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
      const std::string& streamed = grid.written("streamed");
      streamed_bytes_ = streamed.empty() ? kStreamedBytes : parse_bytes(streamed);
      for (const Values& values : grid.points()) {
        add_point(gpu, node, values);
      }
    });
    return std::move(benchmarks_);
  }

 private:
  void add_point(const GpuTarget& gpu, int node, const Values& values) {
    const bool to_gpu = values.is("path", path_name(true));
    const std::uint64_t bytes = values.number("bytes");
    const Engine engine = enumerator(values.word("method"), kEngines, method_name);
    const std::string& what = values.word("what");
    if (what == kOpposite) {
      add(gpu, node, to_gpu, bytes, kOpposite, {{"method", method_name(engine), AxisStyle::bare}},
          {{"copy", host_copy(to_gpu, engine, node, gpu.ordinal, bytes), {}, false, 1},
           {"opposite", host_copy(!to_gpu, engine, node, gpu.ordinal, bytes), {}, true, kOppositeCopies}});
    } else if (what == kStreams) {
      add_streams(gpu, node, to_gpu, bytes, values.number_as<int>("streams"));
    } else if (what == kTwoEngines) {
      add_two_engines(gpu, node, to_gpu, bytes);
    } else {
      add_beside(gpu, node, to_gpu, bytes, engine, what == kBesideCompute);
    }
  }

  // One amount of bytes, spread over more and more streams.
  void add_streams(const GpuTarget& gpu, int node, bool to_gpu, std::uint64_t bytes, int streams) {
    std::vector<PlannedLane> lanes;
    lanes.reserve(static_cast<std::size_t>(streams));
    const std::uint64_t share = bytes / static_cast<std::uint64_t>(streams) / 4 * 4;
    for (int i = 0; i < streams; ++i) {
      lanes.push_back({"stream_" + std::to_string(i),
                       host_copy(to_gpu, Engine::copy_engine, node, gpu.ordinal, share),
                       {},
                       false,
                       1});
    }
    add(gpu, node, to_gpu, bytes, kStreams, {{"streams", std::int64_t{streams}}}, lanes);
  }

  // A copy, by either means, while all multiprocessors compute, or read the card's own memory.
  void add_beside(const GpuTarget& gpu, int node, bool to_gpu, std::uint64_t bytes, Engine engine,
                  bool compute) {
    const double longest_s = static_cast<double>(bytes) / (kSlowestLink_gb_s * 1e9);
    const std::vector<Axis> method{{"method", method_name(engine), AxisStyle::bare}};
    PlannedLane copy{"copy", host_copy(to_gpu, engine, node, gpu.ordinal, bytes), {}, false, 1};
    if (compute) {
      add(gpu, node, to_gpu, bytes, kBesideCompute, method,
          {copy, {"compute", {}, PlannedLane::Computing{gpu.ordinal, node, longest_s}, true, 1}});
      return;
    }
    Transfer stream;
    stream.engine = Engine::sm;
    stream.source = Endpoint::gpu(Placement::device, gpu.ordinal);
    stream.destination = Endpoint::gpu(Placement::registers, gpu.ordinal);
    stream.bytes = streamed_bytes_;
    stream.walk.width_bytes = 16;
    stream.staging_node = node;
    const double pass_s = static_cast<double>(stream.bytes) / (kDeviceMemory_gb_s * 1e9);
    const int passes = std::clamp(static_cast<int>(longest_s / pass_s), 1, 200);
    copy.transfer->walk.blocks = blocks_over_link(machine_, gpu.ordinal);
    add(gpu, node, to_gpu, bytes, kBesideStream, method, {copy, {"device_stream", stream, {}, true, passes}});
  }

  // A copy engine and a kernel share one direction of the link.
  void add_two_engines(const GpuTarget& gpu, int node, bool to_gpu, std::uint64_t bytes) {
    const std::uint64_t half = bytes / 2 / 4 * 4;
    add(gpu, node, to_gpu, bytes, kTwoEngines, {},
        {{"copy_engine", host_copy(to_gpu, Engine::copy_engine, node, gpu.ordinal, half), {}, false, 1},
         {"kernel_copy", host_copy(to_gpu, Engine::sm, node, gpu.ordinal, half), {}, false, 1}});
  }

  void add(const GpuTarget& gpu, int node, bool to_gpu, std::uint64_t bytes, const char* what,
           const std::vector<Axis>& more, const std::vector<PlannedLane>& lanes) {
    Benchmark benchmark;
    benchmark.id.family = kFamily;
    benchmark.id.axes = {{"what", what, AxisStyle::bare}, {"path", path_name(to_gpu), AxisStyle::bare}};
    benchmark.id.axes.insert(benchmark.id.axes.end(), more.begin(), more.end());
    benchmark.id.axes.push_back({"locality", gpu.locality(node), AxisStyle::hidden});
    benchmark.id.axes.push_back({"bytes", static_cast<std::int64_t>(bytes)});
    benchmark.id.site = {{"numa", node}, {"gpu", gpu.ordinal}};
    benchmark.skip = gpu.unavailable;
    for (const PlannedLane& lane : lanes) {
      if (lane.transfer && lane.transfer->engine == Engine::sm && !lane.transfer->within_gpu()) {
        benchmark.skip_for(why_no_mapping(machine_, gpu.ordinal));
      }
    }
    benchmark.explanation = {
        "what is left of a copy when something else runs",
        "each lane between two events, all behind gates that open together; each also alone",
        "bandwidth = bytes of the measured lanes / median time during which any of them ran; "
        "partner_kept = 1 - (time of what runs beside - its time alone) / time of the measured lanes",
        "nvbandwidth's bidirectional copies",
        "one GPU against one node; several GPUs are transfer/collective; "
        "beside device_stream a kernel's copy has as few blocks as fill the link"};
    carry_out_together(benchmark, lanes);
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Grids& grids_;
  std::uint64_t streamed_bytes_ = kStreamedBytes;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family contention() {
  return {kFamily,
          "What is left of a copy between host and GPU when something else runs?",
          {word_axis("what", "what else runs: a copy the other way, more streams, a kernel, or both engines",
                     {kOpposite, kStreams, kBesideCompute, kBesideStream, kTwoEngines}),
           word_axis("path", "which way the copy goes", {path_name(true), path_name(false)}),
           word_axis("method", "what copies, where it is one of both", names_of(kEngines, method_name),
                     method_name(Engine::copy_engine)),
           number_axis("streams", "among which the bytes are divided, of what=streams", {1, 64}, "1"),
           size_axis("bytes", "bytes of the copy", {4, 1024 * kGiB})},
          [](const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
            return Lister(machine, grids).list();
          }};
}

}  // namespace grainscope::harness
