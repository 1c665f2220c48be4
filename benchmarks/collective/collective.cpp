// collective

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "claim_cache.hpp"
#include "collective/team.hpp"
#include "families.hpp"
#include "grainscope/collective/collective.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {
namespace {

constexpr About kAboutCollective{
    .question = "How fast does NCCL carry out collective operations?",
    .timed =
        "`loop`, as nccl-tests does: up to 20 operations are enqueued one behind another and waited for "
        "once, on the host's clock, and a sample is the time of one of them. Operations of several GPUs of a "
        "process are one group. `single`: one operation between two events behind a gate on every GPU, the "
        "slowest GPU's time. Not timed: communicators, buffers, registration and an operation of the "
        "same size before each. Checked: every element of every rank's output, against values that the GPU "
        "computes from the ranks' numbers alone",
    .formula =
        "bytes: as nccl-tests counts them, those of the larger of a rank's input and output. "
        "bus_bandwidth_gb_s = bandwidth * 2(n-1)/n for all_reduce, * (n-1)/n for all_gather, reduce_scatter "
        "and all_to_all, * 1 for broadcast and send_receive, of n ranks. link_bytes_least: what a rank must "
        "take in or give away at least",
    .source = "nccl-tests, src/common.cu (BenchTime) and doc/PERFORMANCE.md",
    .limits =
        "where a buffer lies in nccl-tests' larger ones changes from operation to operation; here it stays, "
        "as it does there with equal -b and -e. Sums are of 32-bit elements. Connections in a row are those "
        "of all operations so far of these GPUs",
};

using collective::Element;
using collective::Kind;
using collective::Work;

const char* const kFamily = "collective";
const char* const kLoop = "loop";
const char* const kSingle = "single";
constexpr int kLaunches = 20;         // nccl-tests' iterations
constexpr double kLongestLoop_s = 2;  // fewer of them where they take longer

// Joining GPUs or ranks takes seconds, and a case milliseconds: cases of the same ones share a team.
using TeamCache = ClaimCache<std::vector<int>, Team>;

// All links of one GPU that NVML tells of, else what joins it to a peer.
std::optional<PhysicalLimit> links_limit(const Machine& machine, int gpu, int peer) {
  const PeerWire wire = nvlinks_of(machine, gpu);
  if (!wire.nvlinks) {
    return peer_link_limit(machine, gpu, peer);
  }
  return wire.gb_s
             ? std::optional(PhysicalLimit{*wire.gb_s, std::to_string(*wire.nvlinks) + " NVLinks of a GPU"})
             : std::nullopt;
}

struct Point {
  Work work;
  bool gated = false;
};

Point point_of(const Values& values) {
  Point point;
  point.work.kind = enumerator(values.word("what"), collective::kKinds, [](Kind each) { return name(each); });
  point.work.element =
      enumerator(values.word("type"), collective::kElements, [](Element each) { return name(each); });
  point.work.bytes = values.number("bytes");
  point.work.in_place = values.is("place", "in");
  point.work.registered = values.on("registered");
  point.gated = values.is("timed", kSingle);
  return point;
}

void describe(const Work& work, int ranks, int launches, Measurement& measurement) {
  measurement.bytes = collective::counted_bytes(work, ranks);
  measurement.link_bytes_least = collective::link_bytes_least(work, ranks);
  const double median_s = measurement.samples.summary.median;
  auto& counters = measurement.counters;
  counters["bus_bandwidth_gb_s"] =
      gb_per_s(static_cast<double>(measurement.bytes), median_s) * collective::bus_factor(work.kind, ranks);
  counters["link_gb_s"] = gb_per_s(static_cast<double>(*measurement.link_bytes_least), median_s);
  counters["launches"] = launches;
}

// Buffers of one operation, given back however a case ends.
class [[nodiscard]] Working {
 public:
  Working(Team& team, const Point& point) : team_(team) {
    try {
      team_.begin(point.work, point.gated);
    } catch (...) {
      team_.finish();
      throw;
    }
  }
  ~Working() { team_.finish(); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  Team& team_;
};

Timing timing_of(bool gated) {
  return gated ? Timing{Clock::event, true, "one operation between two events on each GPU, the slowest GPU"}
               : Timing{Clock::steady, false, "operations one behind another, waited for once; one of them"};
}

// Operations of a loop that one of this length takes.
int launches_of(double one_s) {
  return static_cast<int>(std::clamp(kLongestLoop_s / one_s, 1.0, static_cast<double>(kLaunches)));
}

Measurement measure_work(Session& session, const Point& point, TeamCache& cache, TeamCache::Claim& claim,
                         const std::shared_ptr<Launch>& ranks, const std::optional<PhysicalLimit>& limit,
                         int gpu) {
  const TeamCache::Lease team(cache, claim, [&](const std::vector<int>& members) {
    return ranks == nullptr ? std::make_unique<Team>(members) : std::make_unique<Team>(ranks, members);
  });
  if (const std::string why = point.gated ? team->why_no_gates() : ""; !why.empty()) {
    throw SkipError(why);
  }
  const Working working(*team, point);
  const int launches = point.gated ? 1 : launches_of(team->loop_s(1));
  std::vector<double> fastest;
  LocalOperation operation({.run =
                                [&] {
                                  const double seconds =
                                      point.gated ? team->call_s() : team->loop_s(launches);
                                  fastest.push_back(team->fastest_s());
                                  return seconds;
                                },
                            .verify = [&]() -> std::string {
                              team->verify();
                              return "every element of every rank's output";
                            },
                            .timing = timing_of(point.gated)});
  Measurement measurement = measure(session, operation, {.gpu = gpu, .limit = limit});
  describe(point.work, team->size(), launches, measurement);
  if (ranks != nullptr) {
    measurement.samples.keep_sampled(fastest);
    measurement.counters["fastest_rank_s"] = summarize(fastest).median;
    if (point.gated) {
      measurement.counters["late_tries"] = team->late();
    }
  }
  measurement.library = team->library();
  return measurement;
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, const Grids& grids, std::shared_ptr<TeamCache> cache,
         std::shared_ptr<Launch> ranks)
      : machine_(machine), scope_(scope), grids_(grids), cache_(std::move(cache)), ranks_(std::move(ranks)) {}

  std::vector<Benchmark> list() {
    for (const Grid& grid : grids_) {
      const GpuGroup all = ranks_ == nullptr ? gpu_group(machine_, grids_, grid)
                                             : GpuGroup{every_rank(), machine_.runtime.why_none};
      const NamedNumbers names{{"all", all.gpus.size()}};
      for (const Values& values : grid.points(names)) {
        const auto count = values.number_as<std::size_t>("gpus");
        if (count > all.gpus.size()) {
          grids_.leave_out("gpus is no more than there are: " + std::to_string(all.gpus.size()));
          continue;
        }
        const Point point = point_of(values);
        const std::string why = why_impossible(point.work, static_cast<int>(count));
        if (why.empty()) {
          add(point, members_of(all.gpus, count), all.unavailable);
        } else {
          grids_.leave_out(why);
        }
      }
    }
    // One team at a time.
    stand_together(benchmarks_, [](const Benchmark& each) { return gpus_of(each.id); });
    return std::move(benchmarks_);
  }

 private:
  [[nodiscard]] std::vector<int> every_rank() const {
    std::vector<int> all(static_cast<std::size_t>(ranks_->place.ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // Of one process the first GPUs, as nccl-tests takes them. Of several as many ranks, evenly spaced: two are
  // on two nodes, and as many as there are nodes are one of each.
  [[nodiscard]] std::vector<int> members_of(const std::vector<int>& all, std::size_t count) const {
    std::vector<int> members(count);
    for (std::size_t i = 0; i < count; ++i) {
      members[i] = all[ranks_ == nullptr ? i : i * all.size() / count];
    }
    return members;
  }

  // Of ranks on other nodes the network is met by way of PCI Express.
  [[nodiscard]] std::optional<PhysicalLimit> limit_of(int gpu, int peer) const {
    std::optional<PhysicalLimit> limit = links_limit(machine_, gpu, peer);
    const std::optional<PhysicalLimit> host = host_link_limit(machine_, gpu);
    if (ranks_ != nullptr && limit && host && limit->source != host->source) {
      limit->gb_s += host->gb_s;
      limit->source += " + " + host->source;
    }
    return limit;
  }

  void add(const Point& point, std::vector<int> members, const std::string& unavailable) {
    const Work& work = point.work;
    const auto size = static_cast<int>(members.size());
    const int gpu = ranks_ == nullptr ? members[0] : ranks_->gpu;
    const int peer = ranks_ == nullptr ? members[1] : ranks_->gpu;
    Benchmark benchmark;
    benchmark.id = {std::string(kFamily) + "/" + name(work.kind),
                    {{"place", work.in_place ? "in" : "out", AxisStyle::bare},
                     {"timed", point.gated ? kSingle : kLoop, AxisStyle::bare},
                     {"processes", ranks_ == nullptr ? "one" : "each", AxisStyle::hidden},
                     {"type", name(work.element)},
                     {"registered", work.registered ? "on" : "off"},
                     {"gpus", std::int64_t{size}},
                     {"bytes", static_cast<std::int64_t>(work.bytes)}},
                    {{"gpu", gpu}}};
    if (ranks_ == nullptr) {
      benchmark.id.axes.push_back({"link", peer_wire(machine_, gpu, peer).link, AxisStyle::hidden});
    }
    benchmark.shares = "GPUs of NCCL: " + std::to_string(size);
    benchmark.skip = unavailable;
    if (ranks_ == nullptr) {
      benchmark.other_gpus = members;
    }
    const std::uint64_t in = input_bytes(work, size);
    const std::uint64_t out = output_bytes(work, size);
    benchmark.needs.device_bytes = work.in_place ? std::max(in, out) : in + out;
    benchmark.explanation = {
        .timed =
            point.gated
                ? "one operation between two events behind a gate on every GPU, the slowest GPU's time"
                : "up to 20 operations enqueued one behind another and waited for once, a 20th of it; of "
                  "several processes the slowest one's",
        .formula =
            "bandwidth = bytes / median time; bus_bandwidth_gb_s = bandwidth * " + factor_text(work.kind)};
    // NCCL lets GPUs of a process reach each other, which other families must not find between two rounds.
    const int rounds = ranks_ == nullptr ? 1 : scope_.visits_here;
    const auto claim = benchmark.skip.empty() ? cache_->claim(std::move(members), rounds) : nullptr;
    benchmark.run = [point, cache = cache_, claim, ranks = ranks_, limit = limit_of(gpu, peer),
                     gpu](Session& session) {
      return measure_work(session, point, *cache, *claim, ranks, limit, gpu);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  static AxisValue gpus_of(const Case& id) {
    return std::find_if(id.axes.begin(), id.axes.end(), [](const Axis& axis) { return axis.key == "gpus"; })
        ->value;
  }

  static std::string factor_text(Kind kind) {
    return kind == Kind::all_reduce ? "2(n-1)/n" : collective::in_parts(kind) ? "(n-1)/n" : "1";
  }

  const Machine& machine_;
  const Scope& scope_;
  const Grids& grids_;
  std::shared_ptr<TeamCache> cache_;
  std::shared_ptr<Launch> ranks_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family collective_operations(const std::shared_ptr<Launch>& ranks) {
  const auto cache = std::make_shared<TeamCache>();
  return {
      kFamily,
      kAboutCollective,
      {word_axis("what", "the operation", names_of(collective::kKinds, [](Kind each) { return name(each); })),
       word_axis("place", "whether the input lies where the output comes: in place, or out of it",
                 {"out", "in"}, "out"),
       word_axis("timed", "one of many operations enqueued in a row, or a single one behind a gate",
                 {kLoop, kSingle}, kLoop),
       word_axis("type", "of the elements",
                 names_of(collective::kElements, [](Element each) { return name(each); }),
                 name(Element::uint32)),
       switch_axis("registered", "whether NCCL is told of the buffers before: NCCL 2.19 or newer", "off"),
       number_axis("gpus", "GPUs that take part: so many, the first of them", {2, collective::kMostRanks},
                   "all", {}, {"all"}),
       size_axis("bytes", "bytes of the larger of a rank's input and output", {4, 1024 * kGiB}),
       following_axis("processes", "one for all GPUs, or as many as a launcher started"), gpu_axis(),
       members_axis()},
      [cache, ranks](const Machine& machine, const Scope& scope, const Grids& grids) {
        return Lister(machine, scope, grids, cache, ranks).list();
      },
      false,
      2};  // an operation goes before each loop
}

}  // namespace grainscope::harness
