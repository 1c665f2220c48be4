// reach/gather, and the bytes of a gather at random places.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "claim_cache.hpp"
#include "families.hpp"
#include "gather/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/statistics.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/model/link.hpp"
#include "grainscope/reach/row_gather.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "harness/link_peaks.hpp"
#include "reach.hpp"
#include "traffic.hpp"
#include "transfer/case.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kMostReplayed = 8 << 20;  // rows
constexpr std::uint64_t kGranule = 64 * kKiB;     // of the hypothesis
constexpr std::uint32_t kLoadBytes = 16;          // of a lane

// Rows end to end in one piece: where chunks lie does not matter, since none cuts a line.
gnn::TableShape table_of(const reach::GatherRequest& gather) {
  gnn::TableShape table;
  table.row_bytes = static_cast<std::uint32_t>(gather.row_bytes);
  table.rows = static_cast<std::uint32_t>(gather.rows_in_span());
  table.by_chunk_rows = gnn::Divider(UINT32_MAX);
  table.chunk_bytes = std::uint64_t{UINT32_MAX} * gather.row_bytes;
  return table;
}

}  // namespace

void add_bytes(const reach::GatherRequest& gather, std::uint64_t unique_rows, Measurement& measurement) {
  const std::uint64_t unique_bytes = unique_rows * gather.row_bytes;
  const double median_s = measurement.samples.summary.median;
  const double unique_gb_s = gb_per_s(static_cast<double>(unique_bytes), median_s);
  const auto rows = static_cast<double>(gather.rows);
  measurement.bytes = gather.asked_bytes();
  measurement.link_bytes_asked = measurement.bytes;
  measurement.link_bytes_least = unique_bytes;
  measurement.counters.insert(
      {{"unique_rows", static_cast<double>(unique_rows)},
       {"unique_bytes", static_cast<double>(unique_bytes)},
       {"unique_gb_s", unique_gb_s},
       {"link_gb_s", unique_gb_s},
       {"rows_per_s", rows / median_s},
       {"rows_per_granule", rows * static_cast<double>(kGranule) / static_cast<double>(gather.span_bytes)}});
}

void add_traffic(const reach::GatherRequest& gather, const std::vector<std::uint64_t>& rows,
                 Measurement& measurement) {
  if (rows.empty() || rows.size() > kMostReplayed || gather.rows_in_span() > UINT32_MAX) {
    return;
  }
  std::vector<std::uint32_t> numbers(rows.size());
  std::transform(rows.begin(), rows.end(), numbers.begin(),
                 [](std::uint64_t row) { return static_cast<std::uint32_t>(row); });
  // The kernel walks the list as one flat array, 16 bytes a lane.
  const model::Requests requests =
      model::gather_requests(gnn::Mode::naive, kLoadBytes, table_of(gather), numbers);
  measurement.traffic = traffic_of(requests, gather.asked_bytes());
  measurement.counters["requests_per_row"] =
      static_cast<double>(requests.count()) / static_cast<double>(rows.size());
}

namespace {

// reach/gather

constexpr About kAboutReachGather{
    .question = "How fast does a GPU read rows at random places, and over how much memory does that last?",
    .measures =
        "The translation wall: beyond some span the GPU, or the host's IOMMU, has to look up where almost "
        "every row lies, and the rate falls to a tenth. Looking rows up in the order of their addresses puts "
        "the wall off",
    .timed =
        "one kernel between two events, behind a closed gate. Not timed: drawing and sorting the rows, and "
        "overwriting the GPU's L2 cache before each sample. Four lists of rows take turns. The words of all "
        "rows that every sample reads are added up, and the sum is checked",
    .formula =
        "bandwidth = rows * bytes of a row / median time; link_bytes_least = different rows * bytes of a "
        "row; link_gb_s = link_bytes_least / median time; traffic = requests and bytes of the first list's "
        "loads with no cache, by the model; rows_per_granule = rows / (span / 64 KiB)",
    .source =
        "no public suite measures this. GraphBolt sorts each batch of rows for it; the granule near 64 KiB "
        "and the misses a second are a hypothesis that these rows test",
    .limits =
        "whether the GPU or the host's IOMMU misses cannot be told; sorting is not timed; memory is shared "
        "by the cases of a kind, not new in each visit; with `beside` up to 8 threads go over the memory "
        "meanwhile (host_gb_s), and bring back what may have left the host",
};

// Time on an H100 with 128 GiB of host memory (a run of full before its spans were cut to 32 GiB, and one of
// quick): a case takes 0.1 to 0.3 s; locking memory for the first time 0.3 to 0.7 s a GiB, giving it back
// 0.15. quick: 26 cases and 10 GiB, 9 s; full: 178 cases on one GPU and 56 GiB, of which 32 stay for the
// gathers of the families behind, about 40 s.

using reach::GatherRequest;

const char* const kFamily = "reach/gather";

constexpr std::uint64_t kFarthestSpan = 1024 * kGiB;
constexpr int kTouchThreads = cuda::MappedRequest{}.touch_threads;

const char* const kAsAsked = "as_asked";
const char* const kSorted = "sorted";
const char* const kUsual = "usual";
const char* const kRemote = "remote";
const char* const kEither = "either";
const char* const kMost = "most";
const char* const kAsFound = "as_found";
constexpr std::uint64_t kBlock = 2 * kMiB;  // that a GPU may map by one entry

// What CPUs of the memory's node do to it while a GPU reads it.
enum class Beside { none, host_read, host_write };
constexpr Beside kBesides[] = {Beside::none, Beside::host_read, Beside::host_write};
const char* beside_name(Beside beside) {
  return beside == Beside::none ? "none" : beside == Beside::host_read ? "host_read" : "host_write";
}

struct Point {
  SpanKey where;
  GatherRequest gather;
  std::uint64_t gpus = 1;        // that read the same memory at the same time
  std::vector<int> others = {};  // of them, beside the first; fewer where the machine has fewer
  Beside beside = Beside::none;
  [[nodiscard]] bool on_host() const { return where.kind != cuda::MemoryKind::peer; }
};

// Of blocks of 2 MiB of a memory on the host, those looked at, the share whose pages the kernel laid out in
// one piece; nullopt where it does not tell.
std::optional<double> contiguous_share(const reach::SpanMemory& memory) {
  double sum = 0;
  std::size_t chunks = 0;
  for (const void* chunk : memory.host_chunks()) {
    const auto share = grainscope::contiguous_share(chunk, memory.request().chunk_bytes);
    if (!share) {
      return std::nullopt;
    }
    sum += *share;
    ++chunks;
  }
  return chunks > 0 ? std::optional(sum / static_cast<double>(chunks)) : std::nullopt;
}

// A gather, and threads that go over the same memory from before each sample until after it, each from a
// place of its own. They write what is there, so that the words still add up.
class GatherBesideHost final : public Operation {
 public:
  GatherBesideHost(Operation& gather, const reach::SpanMemory& memory, std::uint64_t span_bytes,
                   Beside beside)
      : gather_(gather),
        chunks_(memory.host_chunks()),
        chunk_bytes_(memory.request().chunk_bytes),
        blocks_(span_bytes / kBlockBytes),
        beside_(beside) {
    const auto cpus = static_cast<std::uint64_t>(current_affinity().size());
    threads_ =
        std::clamp<std::uint64_t>(cpus - 1, 1, kMostThreads);  // one is left to the gather's own thread
  }

  void prepare() override { gather_.prepare(); }

  double run() override {
    std::atomic<bool> go_on = true;
    std::latch begun(static_cast<std::ptrdiff_t>(threads_));
    std::vector<std::uint64_t> done(threads_, 0);
    std::vector<double> seconds(threads_, 0);
    std::vector<std::jthread> team;
    team.reserve(threads_);
    const StopAtEnd stop{go_on};  // goes before the team, which it ends
    for (std::uint64_t thread = 0; thread < threads_; ++thread) {
      team.emplace_back([&, thread] {
        std::uint64_t block = blocks_ / threads_ * thread;
        pass(block);
        begun.count_down();
        const double start_s = steady_now_s();
        while (go_on.load(std::memory_order_relaxed)) {
          block = (block + 1) % blocks_;
          pass(block);
          ++done[thread];
        }
        seconds[thread] = steady_now_s() - start_s;
      });
    }
    begun.wait();
    const double gather_s = gather_.run();
    go_on = false;
    team.clear();
    double gb_s = 0;
    for (std::uint64_t thread = 0; thread < threads_; ++thread) {
      gb_s += gb_per_s(static_cast<double>(done[thread] * kBlockBytes), seconds[thread]);
    }
    host_gb_s_.push_back(gb_s);
    return gather_s;
  }
  void run_counted() override { gather_.run_counted(); }

  std::string verify() override { return gather_.verify(); }
  [[nodiscard]] Timing timing() const override { return gather_.timing(); }
  [[nodiscard]] bool on_callers_thread() const override { return false; }
  void describe(Measurement& measurement) override {
    gather_.describe(measurement);
    measurement.counters["host_gb_s"] = summarize(host_gb_s_).median;
    measurement.counters["threads"] = static_cast<double>(threads_);
  }

 private:
  static constexpr std::uint64_t kBlockBytes = 256 * kKiB;
  static constexpr std::uint64_t kMostThreads = 8;
  struct StopAtEnd {
    std::atomic<bool>& go_on;
    ~StopAtEnd() { go_on = false; }
  };

  void pass(std::uint64_t block) const {
    const std::uint64_t at = block * kBlockBytes;
    auto* const begin = reinterpret_cast<volatile std::uint64_t*>(
        static_cast<std::byte*>(chunks_[at / chunk_bytes_]) + at % chunk_bytes_);
    constexpr std::uint64_t kWords = kBlockBytes / sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i < kWords; ++i) {
      const std::uint64_t word = begin[i];
      if (beside_ == Beside::host_write) {
        begin[i] = word;
      }
    }
  }

  Operation& gather_;
  std::vector<void*> chunks_;
  std::uint64_t chunk_bytes_;
  std::uint64_t blocks_;
  Beside beside_;
  std::uint64_t threads_ = 1;
  std::vector<double> host_gb_s_;  // of each sample, warm-ups among them
};

Measurement measure(Session& session, const Point& point, SpanCache& cache, SpanCache::Claim& claim) {
  const Topology& topology = session.machine().topology;
  std::optional<NodeBinding> binding;
  if (point.on_host()) {
    binding.emplace(topology, point.where.home);
  }
  const SpanLease lease(cache, claim, session.surroundings());
  const auto gather = reach::make_row_gather(lease.memory(), point.gather, point.others);

  const auto [gpu, home] = std::pair(point.where.gpu, point.where.home);
  MeasureOptions options{.gpu = gpu, .residency = residency_of(&lease.memory())};
  if (point.on_host()) {
    std::vector<int> gpus{gpu};
    gpus.insert(gpus.end(), point.others.begin(), point.others.end());
    options.limit = host_link_limit(session.machine(), gpus);
    if (point.others.empty()) {
      options.link = LinkPath::host_to_gpu(home, gpu);
    }
  } else {
    options.limit = peer_link_limit(session.machine(), home, gpu);
    options.link = LinkPath::between(home, gpu);
  }
  std::optional<GatherBesideHost> beside;
  if (point.beside != Beside::none) {
    beside.emplace(*gather, lease.memory(), point.gather.span_bytes, point.beside);
  }
  Operation& measured = beside ? static_cast<Operation&>(*beside) : *gather;
  Measurement measurement = harness::measure(session, measured, options);
  GatherRequest asked = point.gather;
  asked.rows *= point.gpus;
  add_bytes(asked, gather->unique_rows(), measurement);
  if (const auto share = contiguous_share(lease.memory())) {
    measurement.counters["contiguous_share"] = *share;
  }
  if (point.on_host() && point.others.empty()) {
    add_traffic(point.gather, gather->rows_of(0), measurement);
  }
  return measurement;
}

// Sorted so that every memory is read in one go, by rising spans. Those of peers come first and the walls
// last: what a wall locks stays for the gathers of the families behind.
struct Listed {
  GpuTarget gpu;
  Point point;
  std::optional<GpuPair> pair;  // where the memory is a peer's
  bool wall = false;

  [[nodiscard]] auto order() const {
    return std::tuple(point.on_host(), gpu.ordinal, wall, point.where.home, point.where.kind,
                      point.where.touch_threads, point.where.free_pieces, point.gpus,
                      point.gather.span_bytes);
  }
};

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, const Grids& grids, Spans spans)
      : machine_(machine), scope_(scope), grids_(grids), cache_(std::move(spans)) {}

  std::vector<Benchmark> list() {
    each_pair(machine_, grids_, [&](const GpuPair& pair, const Grid& grid) {
      if (grid.word("locality") == kRemote) {
        return;  // a peer's memory is on no node
      }
      for (const Values& values : grid.points({{kMost, power_of_two(most_on_gpu(pair.peer))}})) {
        if (values.is("memory", cuda::name(cuda::MemoryKind::peer))) {
          collect(pair.gpu, pair.peer, values, pair);
        }
      }
    });
    grids_.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
      const std::string side = grid.word("locality");
      if (side != kEither && is_far(gpu, node) != (side == kRemote)) {
        return;
      }
      for (const Values& values : grid.points({{kMost, power_of_two(most_of(node))}})) {
        if (!values.is("memory", cuda::name(cuda::MemoryKind::peer))) {
          collect(gpu, node, values, {});
        }
      }
    });
    std::stable_sort(listed_.begin(), listed_.end(),
                     [](const Listed& a, const Listed& b) { return a.order() < b.order(); });
    for (const Listed& listed : listed_) {
      add(listed.gpu, listed.point, listed.pair ? &*listed.pair : nullptr);
    }
    return std::move(benchmarks_);
  }

 private:
  static bool is_far(const GpuTarget& gpu, int node) { return gpu.locality(node) == kRemote; }
  static std::uint64_t power_of_two(std::uint64_t most) {
    return std::bit_floor(std::min(most, kFarthestSpan));
  }

  void collect(const GpuTarget& gpu, int home, const Values& values, const std::optional<GpuPair>& pair) {
    GatherRequest gather;
    gather.row_bytes = values.number("row");
    gather.rows = values.is("rows", kUsual) ? usual_rows(gather.row_bytes) : values.number("rows");
    gather.span_bytes = values.number("span");
    gather.sorted = values.is("order", kSorted);
    if (gather.span_bytes == 0) {
      grids_.leave_out("nothing tells how much memory there is: span cannot be most");
      return;
    }
    try {
      reach::require_possible(gather);
    } catch (const UsageError& error) {
      grids_.leave_out(error.what());
      return;
    }
    const cuda::MemoryKind kind = memory_of(values);
    const bool wall = kind == cuda::MemoryKind::host_alloc && !is_far(gpu, home);
    const auto threads = values.number_as<int>("touch_threads");
    if (threads != kTouchThreads && !cuda::is_touched_here(kind)) {
      grids_.leave_out("memory " + std::string(cuda::name(kind)) + " is touched by no threads of ours");
      return;
    }
    Point point{{.kind = kind, .gpu = gpu.ordinal, .home = home, .touch_threads = threads}, gather};
    point.where.free_pieces = values.is("free_pieces", kAsFound) ? 0 : values.number("free_pieces");
    if (point.where.free_pieces > 0 && (!point.on_host() || kind == cuda::MemoryKind::hugetlb)) {
      grids_.leave_out("memory " + std::string(cuda::name(kind)) +
                       " does not come from the host's free memory: free_pieces is as_found");
      return;
    }
    if (!add_others(values, point)) {
      return;
    }
    point.beside = enumerator(values.word("beside"), kBesides, beside_name);
    if (point.beside != Beside::none && (!point.on_host() || gather.span_bytes < kMiB)) {
      grids_.leave_out(point.on_host() ? "what CPUs go over beside a gather is 1 MiB or more"
                                       : "no CPU goes over a peer's memory: beside is none");
      return;
    }
    listed_.push_back({gpu, std::move(point), pair, wall});
  }

  // The GPUs that read beside the first: those that follow it. False, with the reason, where none can.
  bool add_others(const Values& values, Point& point) {
    point.gpus = values.number("gpus");
    if (point.gpus == 1) {
      return true;
    }
    if (const std::string why = why_not_by_several(point.where.kind); !why.empty()) {
      grids_.leave_out(why);
      return false;
    }
    const auto there = static_cast<int>(machine_.runtime.devices.size());
    for (int next = 1; next < there && 1 + point.others.size() < point.gpus; ++next) {
      const int other = (point.where.gpu + next) % there;
      point.others.push_back(other);
      // What the driver locked it has mapped for every GPU.
      if (point.where.kind == cuda::MemoryKind::managed_host) {
        point.where.others |= std::uint64_t{1} << other;
      }
    }
    return true;
  }

  // `pair` where the memory is a peer's.
  void add(const GpuTarget& gpu, const Point& point, const GpuPair* pair) {
    const std::uint64_t span = point.gather.span_bytes;
    Benchmark benchmark;
    benchmark.id = case_of(gpu, point, pair);
    benchmark.skip = why_not(gpu, point, pair);
    // Reserved huge pages are set aside already, and not counted as available.
    if (point.on_host() && point.where.kind != cuda::MemoryKind::hugetlb) {
      benchmark.skip_for_now(why_too_much(machine_, scope_, span));
    }
    // The lists, one more to sort into, and what the sort needs.
    const std::uint64_t lists = (reach::kLists + 2) * point.gather.rows * sizeof(std::uint64_t);
    benchmark.needs.device_bytes = lists + (point.on_host() ? 0 : span);
    benchmark.needs.shared_host_bytes = point.on_host() ? span : 0;
    benchmark.other_gpus = point.others;
    // A case that is skipped will not ask for memory: nobody should keep it for one.
    const auto claim =
        benchmark.skip.empty() ? cache_->claim(point.where, scope_.visits_here, span) : nullptr;
    benchmark.run = [point, cache = cache_, claim](Session& session) {
      return measure(session, point, *cache, *claim);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  [[nodiscard]] Case case_of(const GpuTarget& gpu, const Point& point, const GpuPair* pair) const {
    const GatherRequest& gather = point.gather;
    const Axis joined = pair == nullptr ? Axis{"locality", gpu.locality(point.where.home), AxisStyle::hidden}
                                        : Axis{"link", pair->link, AxisStyle::hidden};
    std::vector<Site> site{{"gpu", gpu.ordinal}, {"peer", point.where.home}};
    if (point.on_host()) {
      site = {{"numa", point.where.home}, {"gpu", gpu.ordinal}};
    }
    std::vector<Axis> axes{{"memory", cuda::name(point.where.kind), AxisStyle::bare},
                           {"order", gather.sorted ? kSorted : kAsAsked, AxisStyle::bare},
                           joined,
                           {"row", static_cast<std::int64_t>(gather.row_bytes)},
                           {"rows", static_cast<std::int64_t>(gather.rows)},
                           {"span", static_cast<std::int64_t>(gather.span_bytes)}};
    if (point.gpus > 1) {
      axes.push_back({"gpus", static_cast<std::int64_t>(point.gpus)});
    }
    if (point.beside != Beside::none) {
      axes.push_back({"beside", beside_name(point.beside)});
    }
    if (point.where.touch_threads != kTouchThreads) {
      axes.push_back({"touch_threads", std::int64_t{point.where.touch_threads}});
    }
    if (point.where.free_pieces > 0) {
      axes.push_back({"free_pieces", static_cast<std::int64_t>(point.where.free_pieces)});
    }
    return {kFamily, std::move(axes), site};
  }

  [[nodiscard]] std::string why_not(const GpuTarget& gpu, const Point& point, const GpuPair* pair) const {
    if (!gpu.unavailable.empty()) {
      return gpu.unavailable;
    }
    if (const auto there = machine_.runtime.devices.size(); there < point.gpus) {
      return "needs " + std::to_string(point.gpus) + " GPUs; this machine has " + std::to_string(there);
    }
    const std::uint64_t span = point.gather.span_bytes;
    if (point.on_host()) {
      return why_no_memory(machine_, point.where.kind, gpu.ordinal, span);
    }
    if (!pair->why_no_access().empty()) {
      return pair->why_no_access();
    }
    return span > most_on_gpu(point.where.home)
               ? "needs " + format_bytes(span) + " on GPU " + std::to_string(point.where.home) +
                     ", which has " + format_bytes(memory_of_gpu(point.where.home))
               : "";
  }

  [[nodiscard]] std::uint64_t memory_of_gpu(int gpu) const {
    const GpuReport* report = machine_.find_gpu(gpu);
    return report != nullptr && report->cuda ? report->cuda->memory_bytes() : 0;
  }
  [[nodiscard]] std::uint64_t most_on_gpu(int gpu) const { return memory_of_gpu(gpu) / 100 * kLargestShare; }

  // The largest span by default, of one of several nodes, which has less; 0 where the machine does not tell.
  [[nodiscard]] std::uint64_t most_of(int node) const {
    if (!machine_.environment.memory.available.bytes()) {
      return 0;
    }
    const Node* const near =
        machine_.topology.nodes().size() > 1 ? machine_.topology.find_node(node) : nullptr;
    const std::uint64_t there = near != nullptr ? near->memory_bytes.value_or(0) : UINT64_MAX;
    return std::min(most_by_default(machine_), there / 100 * kLargestShare);
  }

  const Machine& machine_;
  const Scope& scope_;
  const Grids& grids_;
  Spans cache_;
  std::vector<Listed> listed_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Spans new_spans() {
  return std::make_shared<SpanCache>();
}

Family reach_gather(const Spans& spans) {
  return {
      kFamily,
      kAboutReachGather,
      {word_axis("memory", "where the rows lie: host memory by how it came to be, or another GPU's",
                 names_of(cuda::kMemoryKinds, [](cuda::MemoryKind each) { return cuda::name(each); }),
                 cuda::name(cuda::MemoryKind::host_alloc)),
       number_axis("touch_threads", "threads that touch host memory first, where the driver does not",
                   {1, 256}, std::to_string(kTouchThreads)),
       size_axis("free_pieces",
                 "bytes below which the pieces are that the host's free memory is brought into before; "
                 "as_found: it is not",
                 {8 * kKiB, kBlock}, false, kAsFound, {kAsFound}),
       number_axis("gpus", "GPUs that read the memory at once, each as many rows", {1, gnn::kMostGpus}, "1"),
       word_axis("beside", "what CPUs of the memory's node do to it meanwhile",
                 names_of(kBesides, beside_name), beside_name(Beside::none)),
       word_axis("order", "whether a batch is read in the order of its addresses", {kAsAsked, kSorted},
                 kAsAsked),
       size_axis("row", "bytes of a row, a power of two", {reach::kSmallestRow, reach::kLargestRow}, false,
                 "128"),
       number_axis("rows", "rows of a batch; usual: 1 Mi, or as many as make 256 MiB", {1, 1 << 30}, kUsual,
                   {kUsual}),
       size_axis("span",
                 "bytes of the memory in which the rows lie; most: the largest power of two that may be "
                 "taken",
                 {reach::kSmallestRow, kFarthestSpan}, true, {}, {}, {kMost}),
       place_axis("locality", "of which nodes: those that are known to be remote to a GPU, or the others",
                  {"local", kRemote, kEither}, kEither),
       gpu_axis(), node_axis(), pairs_axis(), orders_axis()},
      [spans](const Machine& machine, const Scope& scope, const Grids& grids) {
        return Lister(machine, scope, grids, spans).list();
      }};
}

}  // namespace grainscope::harness
