// The families of shapes: shape/copy and shape/pages, and what they share. Each part opens with its question.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/shape.hpp"
#include "shape.hpp"
#include "transfer/case.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Placement;

// The first CUDA versions, of toolkit and driver, that have cudaMemcpyBatchAsync, and
// cudaMemPrefetchBatchAsync with the discards.
constexpr int kBatchCopyVersion = 12080;
constexpr int kManagedBatchVersion = 13000;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Why toolkit or driver are older than that version; empty where neither is.
std::string why_older(const Machine& machine, int version) {
  const int toolkit = machine.runtime.toolkit_version.value_or(0);
  const int driver = machine.runtime.driver_version.value_or(0);
  const std::string needs = "needs CUDA " + version_text(version);
  if (toolkit < version) {
    return needs + "; this program was built with " + version_text(toolkit);
  }
  return driver < version ? needs + "; the driver is for " + version_text(driver) : std::string();
}

}  // namespace

std::string why_no_batch_copy(const Machine& machine) {
  return why_older(machine, kBatchCopyVersion);
}

std::string why_no_managed_batch(const Machine& machine) {
  return why_older(machine, kManagedBatchVersion);
}

transfer::Transfer ShapePath::as_transfer(std::uint64_t bytes) const {
  transfer::Transfer moved;
  moved.source = route.source;
  moved.destination = route.destination;
  moved.bytes = bytes;
  moved.by_source = !route.by_destination;
  moved.staging_node = route.node();
  return moved;
}

void each_path(const Machine& machine, const Scope& scope, const Grids& grids,
               const std::function<void(const ShapePath&, const Values&)>& visit) {
  const auto visit_points = [&](const Grid& grid, const ShapePath& path) {
    for (const Values& values : grid.points()) {
      if (values.is("path", path.name)) {
        visit(path, values);
      }
    }
  };
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    const Endpoint card = Endpoint::gpu(Placement::device, gpu.ordinal);
    const Endpoint host = Endpoint::host(Placement::pinned, node);
    visit_points(grid, {"host_to_gpu", {host, card}, gpu, "", gpu.unavailable});
    visit_points(grid, {"gpu_to_host", {card, host}, gpu, "", gpu.unavailable});
  });
  grids.each_gpu([&](const GpuTarget& gpu, const Grid& grid) {
    const Endpoint card = Endpoint::gpu(Placement::device, gpu.ordinal);
    visit_points(grid, {"local", {card, card, scope.nearest_node(gpu)}, gpu, "", gpu.unavailable});
  });
  each_pair(machine, grids, [&](const GpuPair& pair, const Grid& grid) {
    const Endpoint card = Endpoint::gpu(Placement::device, pair.gpu.ordinal);
    const Endpoint peer = Endpoint::gpu(Placement::device, pair.peer);
    ShapePath path{
        "gpu_to_peer", {card, peer, scope.nearest_node(pair.gpu)}, pair.gpu, pair.link, pair.why_no_access()};
    visit_points(grid, path);
    path.name = "peer_to_gpu";
    std::swap(path.route.source, path.route.destination);
    path.route.by_destination = true;
    visit_points(grid, path);
  });
}

Case shape_case(const std::string& family, const ShapePath& path, const char* method,
                const std::vector<Axis>& axes) {
  Case id{family, {{"path", path.name, AxisStyle::bare}, {"method", method, AxisStyle::bare}}, {}};
  if (path.route.has_host()) {
    id.axes.push_back({"locality", path.gpu.locality(path.route.node()), AxisStyle::hidden});
    id.site.push_back({"numa", path.route.node()});
  }
  id.site.push_back({"gpu", path.gpu.ordinal});
  if (path.has_peer()) {
    id.axes.push_back({"link", path.link, AxisStyle::hidden});
    id.site.push_back({"peer", path.peer()});
  }
  id.axes.insert(id.axes.end(), axes.begin(), axes.end());
  return id;
}

Needs shape_needs(const ShapePath& path, std::uint64_t end_bytes) {
  if (path.route.has_host()) {
    return {end_bytes, end_bytes, 0};
  }
  // Between GPUs each card holds one end.
  return {0, path.has_peer() ? end_bytes : 2 * end_bytes, 0};
}

namespace {

// shape/copy

constexpr About kAboutShapeCopy{
    .question = "What does a copy of a box that is not contiguous cost, by each way to make it?",
    .measures =
        "A box of rows and planes is copied from one allocation to the same place in another of the same "
        "shape: by the runtime's strided copies, by one kernel from box to box, packed into one contiguous "
        "copy, or row by row",
    .timed =
        "everything that brings the box over, between two events behind a closed gate; ungated from an idle "
        "stream where that is more than 512 operations (a copy a row of many rows, or a call a plane of very "
        "many planes); on the host's clock where host threads pack or unpack. Not timed: allocation, "
        "filling, checking. The GPU at the source carries a copy out; on the path peer_to_gpu the one at the "
        "destination fetches, by a kernel. `submission`: the call that submits a copy of a small cube, "
        "behind a closed gate",
    .formula = "bandwidth = width * rows * planes / median time (of a submission: the time alone)",
    .source = "Comm|Scope's `Comm_3d_*` benchmarks (c3sr/comm_scope, src/3d)",
    .limits =
        "both ends have the same layout; small boxes within one card fit in its cache, and are measured so; "
        "ends in host memory are evicted from the CPU's caches before every sample, and the buffer that host "
        "threads pack into or unpack from is not",
};

using transfer::Box;
using transfer::BoxCopy;
using transfer::BoxMethod;

const char* const kCopyFamily = "shape/copy";

const char* const kSubmission = "submission";
const char* const kUsual = "usual";
const char* const kRestOfRows = "rest";
const char* const kProduct = "product";
constexpr std::uint64_t kSmallestPitch = 512;
// Rows that make up so many bytes lie in no more: it takes longer to make than to copy.
constexpr std::uint64_t kLargestAllocation = kGiB;
constexpr std::uint64_t kMostRows = (std::uint64_t{1} << 31) - 1;  // that CUDA copies
constexpr BoxMethod kCopyMethods[] = {BoxMethod::copy_2d,        BoxMethod::copy_3d,
                                      BoxMethod::kernel_strided, BoxMethod::kernel_chunked,
                                      BoxMethod::pack,           BoxMethod::row_copies};

// The box of a point. Throws UsageError, saying why, where it cannot be.
Box box_of(const Values& values) {
  Box box;
  box.width_bytes = values.number("width");
  box.planes = values.number("planes");
  const bool rest = values.is("rows", kRestOfRows);
  const bool product = values.is("bytes", kProduct);
  if (rest == product) {
    throw UsageError(rest ? "a box needs its rows or its bytes, from which the other follows"
                          : "bytes of a box follow from its rows: with bytes=SIZE, rows is rest");
  }
  const std::uint64_t row_of_planes = box.width_bytes * box.planes;
  if (rest && values.number("bytes") % row_of_planes != 0) {
    throw UsageError("a box of " + std::to_string(values.number("bytes")) +
                     " B has no whole number of rows of " + std::to_string(box.width_bytes) + " B in " +
                     std::to_string(box.planes) + " planes");
  }
  box.rows = rest ? values.number("bytes") / row_of_planes : values.number("rows");
  box.pitch_bytes =
      values.is("pitch", kUsual) ? std::max(kSmallestPitch, 2 * box.width_bytes) : values.number("pitch");
  box.plane_rows = values.is("plane_rows", kUsual) ? box.rows : values.number("plane_rows");
  require_possible(box);
  if (rest && box.span_bytes() > kLargestAllocation) {
    throw UsageError("a box of rows of " + std::to_string(box.width_bytes) + " B lies in " +
                     format_bytes(box.span_bytes()) + ", more than " + format_bytes(kLargestAllocation) +
                     ", which takes longer to make than to copy");
  }
  return box;
}

// Throws UsageError, saying why, for a method that does not copy such a box on such a path.
void require_method(const ShapePath& path, const Box& box, BoxMethod method, bool submission) {
  if (path.route.by_destination && !is_kernel(method)) {
    throw UsageError("only a kernel of one GPU fetches a box from another: on path peer_to_gpu");
  }
  if (method == BoxMethod::row_copies && box.all_rows() > transfer::kMostRowCopies) {
    throw UsageError("a copy a row of " + std::to_string(box.all_rows()) +
                     " rows says nothing new: at most " + std::to_string(transfer::kMostRowCopies));
  }
  if (submission && method != BoxMethod::copy_3d) {
    throw UsageError("what is submitted by one call is a copy_3d");
  }
}

std::string timed_by(const BoxCopy& copy, bool has_host) {
  switch (copy.method) {
    case BoxMethod::copy_2d:
      return "one cudaMemcpy2DAsync a plane, between two events behind a closed gate (from an idle stream "
             "where there are more than 512 planes)";
    case BoxMethod::copy_3d:
      return "one cudaMemcpy3DAsync (cudaMemcpy3DPeerAsync between GPUs), between two events behind a closed "
             "gate (from an idle stream where there are more than 512 planes)";
    case BoxMethod::kernel_strided:
      return "one kernel whose threads stride over all elements of the box, between two events behind a "
             "closed gate";
    case BoxMethod::kernel_chunked:
      return "one kernel each of whose blocks copies consecutive rows, between two events behind a closed "
             "gate";
    case BoxMethod::pack:
      return has_host
                 ? "host threads pack or unpack, one contiguous copy, and a kernel unpacks or packs on the "
                   "GPU: on the host's clock, from the waking of the threads until the last is done"
                 : "a kernel that packs, one contiguous copy and a kernel that unpacks, between two events "
                   "behind a closed gate";
    case BoxMethod::row_copies:
      return "one cudaMemcpyAsync a row, between two events behind a closed gate; from an idle stream where "
             "there are more than 512 rows, and then submission is part of it";
  }
  return {};
}

Explanation explain_copy(const BoxCopy& copy, const ShapePath& path) {
  return {.timed = timed_by(copy, path.route.has_host()),
          .limits = path.name == "local" ? "a box that the card's cache holds is copied from and to the cache"
                    : path.route.has_host()
                        ? "both ends have the same layout; the host's is evicted from the CPU's caches first"
                        : "both ends have the same layout"};
}

Benchmark make_benchmark_copy(const Machine& machine, const ShapePath& path, const Box& box, BoxMethod method,
                              bool submission_only) {
  const BoxCopy copy{path.route, box, method, submission_only};
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  Benchmark benchmark;
  benchmark.id = shape_case(kCopyFamily, path, name(method),
                            {{"width", number(box.width_bytes)},
                             {"rows", number(box.rows)},
                             {"planes", number(box.planes)},
                             {"pitch", number(box.pitch_bytes)},
                             {"bytes", number(box.bytes())}});
  benchmark.skip = path.why_not;
  if (is_kernel(method) && path.route.has_host()) {
    benchmark.skip_for(why_no_mapping(machine, path.gpu.ordinal));
  }
  benchmark.needs = shape_needs(path, end_bytes(copy));
  benchmark.explanation = explain_copy(copy, path);
  if (submission_only) {
    auto& axes = benchmark.id.axes;
    axes.insert(axes.begin(), {"timed", kSubmission, AxisStyle::bare});
    benchmark.explanation.measures = "what submitting a copy of a small cube costs the CPU";
    benchmark.explanation.timed = "the call alone, on the host's clock, behind a closed gate";
  }
  transfer::Transfer moved = path.as_transfer(box.bytes());
  moved.submission_only = submission_only;
  benchmark.run = [copy, moved](Session& session) {
    return measure_mover(
        session, [&] { return transfer::make_box_mover(copy, session.surroundings()); }, moved);
  };
  return benchmark;
}

std::vector<Benchmark> list_copy(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  each_path(machine, scope, grids, [&](const ShapePath& path, const Values& values) {
    const auto method =
        enumerator(values.word("method"), kCopyMethods, [](BoxMethod each) { return name(each); });
    const bool submission = values.is("timed", kSubmission);
    try {
      const Box box = box_of(values);
      require_method(path, box, method, submission);
      if (scope.in_range(box.bytes())) {
        benchmarks.push_back(make_benchmark_copy(machine, path, box, method, submission));
      }
    } catch (const UsageError& error) {
      grids.leave_out(error.what());
    }
  });
  return benchmarks;
}

}  // namespace

Family shape_copy() {
  return {kCopyFamily,
          kAboutShapeCopy,
          {word_axis("timed", "the copy, or the call that submits it", {"copy", kSubmission}, "copy"),
           word_axis("path", "from where to where; between GPUs sent, or fetched by a kernel",
                     {"host_to_gpu", "gpu_to_host", "local", "gpu_to_peer", "peer_to_gpu"}),
           word_axis("method", "how the box is copied",
                     names_of(kCopyMethods, [](BoxMethod each) { return name(each); })),
           size_axis("width", "bytes of a row", {1, kGiB}, false),
           number_axis("rows", "of a plane; rest: as many as bytes make", {1, kMostRows}, kRestOfRows,
                       {kRestOfRows}),
           number_axis("planes", "of the box", {1, kMostRows}, "1"),
           size_axis("pitch", "from one row to the next; usual: twice the width, and 512 bytes at least",
                     {1, kGiB}, false, kUsual, {kUsual}),
           untold(number_axis("plane_rows",
                              "of the allocation, from one plane to the next; usual: those of the box",
                              {1, kMostRows}, kUsual, {kUsual})),
           size_axis("bytes", "of the box; product: as its width, rows and planes make", {1, kGiB}, true,
                     kProduct, {kProduct}),
           gpu_axis(), node_axis(), pairs_axis(), orders_axis()},
          list_copy,
          false,
          2};  // host memory leaves the CPUs' caches before each sample
}

namespace {

// shape/pages

constexpr About kAboutShapePages{
    .question = "What do many scattered pages cost, by each way to copy them?",
    .measures =
        "Pages of one size lie in a pool at each end, drawn anew for each. They are copied by one call a "
        "page, by cudaMemcpyBatchAsync, by a graph, by a kernel with few blocks, or gathered around "
        "contiguous copies. That is what servers of language models, embedding caches and samplers do. "
        "Relayed, a share of the pages is copied by the same kernel on neighbours of the GPU. Each reads and "
        "writes over its own link to the host, and reaches the GPU's pages by peer access: share=found as in "
        "transfer/relay, and `alone_gb_s` is of the same pages by the GPU's own kernel",
    .timed =
        "on the host's clock, from the first call until an event behind the last copy has completed, for "
        "every method alike, since submission is half of the price. It begins with the addresses of all "
        "pages in host memory: merging them, the arrays for cudaMemcpyBatchAsync and the way of a kernel's "
        "table to the GPU are part of it (a kernel reads the table over the link that the pages cross); the "
        "graph's instantiation and upload are not, since a graph is for the same pages again and again. Not "
        "timed: allocation, filling; before each sample the pages at the destination are overwritten, and "
        "what is in host memory is evicted from the CPU's caches",
    .formula = "bandwidth = page * pages / median time; an operation is one page",
    .source =
        "Kwon et al., Efficient Memory Management for Large Language Model Serving with PagedAttention (SOSP "
        "2023); the CUDA runtime's documentation of cudaMemcpyBatchAsync; Comm|Scope's `Comm_cudart_*` graph "
        "benchmarks",
    .limits =
        "all pages have one size; the tables are the same in every run; the buffer that host threads gather "
        "into or scatter from is not evicted",
};

using transfer::PageCopy;
using transfer::PageMethod;
using transfer::PageOrder;
using transfer::Pages;

const char* const kPagesFamily = "shape/pages";
const char* const kFound = "found";
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBlocks = 65535;

constexpr PageMethod kPageMethods[] = {
    PageMethod::one_by_one, PageMethod::batch,      PageMethod::batch_merged,
    PageMethod::graph,      PageMethod::kernel,     PageMethod::bulk,
    PageMethod::staged,     PageMethod::cpu_gather, PageMethod::relay};
constexpr PageOrder kPageOrders[] = {PageOrder::drawn, PageOrder::sorted, PageOrder::runs, PageOrder::packed};

// The pages of a point. Packed are those on the host, or where there is no host those at the destination;
// those at the other end are drawn then. The pool whose size is named is the host's, or else the source's.
Pages pages_of(const ShapePath& path, const Values& values) {
  const auto order = enumerator(values.word("order"), kPageOrders, [](PageOrder each) { return name(each); });
  Pages pages;
  pages.page_bytes = values.number("page");
  pages.count = values.number("pages");
  pages.source = pages.destination = transfer::usual_pool(order, pages.count);
  const bool at_source = path.route.source.on_host() || !path.route.has_host();
  if (order == PageOrder::packed) {
    const bool packed_source = path.route.source.on_host();
    (packed_source ? pages.destination : pages.source) = transfer::usual_pool(PageOrder::drawn, pages.count);
  }
  if (!values.is("pool", kUsual)) {
    if (order == PageOrder::packed) {
      throw UsageError("pages in order packed fill their pool: its size is usual");
    }
    (at_source ? pages.source : pages.destination).slots = values.number("pool") / pages.page_bytes;
  }
  return pages;
}

// `neighbours`: that pass pages on, a bit each. Throws UsageError, saying why, where it cannot be.
PageCopy page_copy(const ShapePath& path, const Values& values, std::uint64_t neighbours) {
  PageCopy copy{path.route,
                pages_of(path, values),
                enumerator(values.word("method"), kPageMethods, [](PageMethod each) { return name(each); }),
                {}};
  const cuda::MemoryKind memory = memory_of(values);
  if (path.route.has_host()) {
    (copy.source.on_host() ? copy.source : copy.destination).placement = placement_of(memory);
  } else if (memory != cuda::MemoryKind::host_alloc) {
    throw UsageError("no page is on the host: memory is host_alloc");
  }
  if (!values.is("blocks", kUsual)) {
    copy.blocks = values.number_as<unsigned>("blocks");
  }
  copy.flush = true;
  copy.relay.gpus = neighbours;
  if (!values.is("share", kFound)) {
    copy.relay.share = values.number_as<int>("share");
  }
  if (neighbours == 0 && (values.number("neighbours") != 1 || !values.is("share", kFound))) {
    throw UsageError("neighbours and share are of pages that are relayed: method is relay");
  }
  require_possible(copy);
  return copy;
}

// Of a path on which something can be copied, by GPUs that are there.
std::string why_not(const Machine& machine, const ShapePath& path, const PageCopy& copy,
                    cuda::MemoryKind memory) {
  const PageMethod method = copy.method;
  if (method == PageMethod::batch || method == PageMethod::batch_merged) {
    return why_no_batch_copy(machine);
  }
  std::string why = method == PageMethod::bulk ? why_no_bulk(machine, path.gpu.ordinal) : std::string();
  if (!path.route.has_host() || !(has_blocks(method) || memory == cuda::MemoryKind::managed_host)) {
    return why;
  }
  std::vector<int> gpus = relays_of(copy.relay);
  gpus.insert(gpus.begin(), path.gpu.ordinal);
  for (const int gpu : gpus) {
    why = why.empty() ? why_no_memory(machine, memory, gpu,
                                      std::max(copy.pages.memory_bytes(copy.pages.source),
                                               copy.pages.memory_bytes(copy.pages.destination)))
                      : why;
  }
  return why;
}

std::string copied_by(PageMethod method) {
  switch (method) {
    case PageMethod::one_by_one:
      return "one cudaMemcpyAsync a page";
    case PageMethod::batch:
      return "one cudaMemcpyBatchAsync, with the making of its arrays";
    case PageMethod::batch_merged:
      return "one cudaMemcpyBatchAsync, with the making of its arrays, pages that are neighbours at both "
             "ends "
             "merged";
    case PageMethod::graph:
      return "one launch of a graph of independent copies, instantiated and uploaded beforehand";
    case PageMethod::kernel:
      return "one kernel, a warp a chunk of 4 KiB; its table is read from the host where pages come from "
             "there "
             "or go there, and else copied to the GPU before";
    case PageMethod::bulk:
      return "one kernel that copies chunks of 4 KiB in bulk (TMA); its table as a kernel's";
    case PageMethod::staged:
      return "a kernel that gathers or scatters, with the copy of its table, on each GPU whose pages are not "
             "packed, and one contiguous copy";
    case PageMethod::cpu_gather:
      return "host threads that gather or scatter parts of 2 MiB, contiguous copies of these beside them, "
             "and a "
             "kernel, with the copy of its table, on the GPU's side";
    case PageMethod::relay:
      return "one kernel a GPU, each with a part of the pages and a table of its own that it reads from the "
             "host";
  }
  return {};
}

Explanation explain_pages(PageMethod method) {
  return {.timed =
              copied_by(method) +
              "; on the host's clock, from the first call until an event behind the last copy has completed"};
}

// What both pools take, with the buffers of a method that stages.
Needs page_needs(const PageCopy& copy) {
  const auto end = [&](const transfer::PagePool& pool) {
    return copy.pages.memory_bytes(pool) + stage_bytes(copy, pool);
  };
  const std::uint64_t from = end(copy.pages.source);
  const std::uint64_t to = end(copy.pages.destination);
  if (copy.source.on_host()) {
    return {from, to, 0};
  }
  if (copy.destination.on_host()) {
    return {to, from, 0};
  }
  return {0, copy.between_gpus() ? std::max(from, to) : from + to, 0};
}

// Of the same pages by the kernel of the GPU alone, in GB/s.
double alone_rate(Session& session, PageCopy copy) {
  copy.method = PageMethod::kernel;
  copy.relay = {};
  const auto mover = transfer::make_page_mover(copy, session.surroundings());
  const double seconds = median_s(*mover);
  static_cast<void>(mover->verify());
  return gb_per_s(static_cast<double>(copy.pages.bytes()), seconds);
}

Measurement measure_pages(Session& session, PageCopy copy, const ShapePath& path, bool share_is_found) {
  const auto make = [&] { return transfer::make_page_mover(copy, session.surroundings()); };
  std::optional<double> alone_gb_s;
  if (copy.relay.used()) {
    alone_gb_s = alone_rate(session, copy);
  }
  if (share_is_found) {
    copy.relay.share = find_share(relays_of(copy.relay).size(), copy.pages.bytes(), [&](int share) {
      copy.relay.share = share;
      return make();
    });
  }
  transfer::Transfer moved = path.as_transfer(copy.pages.bytes());
  moved.relay = copy.relay;
  Measurement measurement = measure_mover(session, make, moved);
  measurement.operations = copy.pages.count;
  if (alone_gb_s) {
    const double rate = gb_per_s(static_cast<double>(copy.pages.bytes()), measurement.samples.summary.median);
    measurement.counters["share"] = copy.relay.share;
    measurement.counters["alone_gb_s"] = *alone_gb_s;
    measurement.counters["of_alone"] = rate / *alone_gb_s;
  }
  return measurement;
}

Benchmark make_benchmark_pages(const Machine& machine, const ShapePath& path, const PageCopy& copy,
                               const Values& values) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  Benchmark benchmark;
  std::vector<Axis> axes{{"page", number(copy.pages.page_bytes)},
                         {"pages", number(copy.pages.count)},
                         {"order", values.at("order")},
                         {"pool", values.at("pool")}};
  add_memory(memory_of(values), axes);
  if (has_blocks(copy.method)) {
    axes.push_back({"blocks", values.at("blocks")});
  }
  if (copy.relay.used()) {
    axes.push_back({"neighbours", values.at("neighbours")});
    axes.push_back({"share", values.at("share")});
  }
  axes.push_back({"bytes", number(copy.pages.bytes())});
  benchmark.id = shape_case(kPagesFamily, path, name(copy.method), axes);
  benchmark.skip = path.why_not;
  if (copy.relay.used()) {
    benchmark.other_gpus = relays_of(copy.relay);
    transfer::Transfer moved = path.as_transfer(copy.pages.bytes());
    moved.relay = copy.relay;
    skip_without_neighbours(benchmark, machine, moved);
  }
  if (benchmark.skip.empty()) {
    benchmark.skip = why_not(machine, path, copy, memory_of(values));
  }
  benchmark.needs = page_needs(copy);
  benchmark.explanation = explain_pages(copy.method);
  const bool share_is_found = copy.relay.used() && values.is("share", kFound);
  benchmark.run = [copy, path, share_is_found](Session& session) {
    return measure_pages(session, copy, path, share_is_found);
  };
  return benchmark;
}

bool is_relayed(const Values& values) {
  return values.is("method", name(PageMethod::relay));
}

// Each path between the host and a GPU with neighbours, by pairs as transfer/relay has them.
void each_relay_path(const Machine& machine, const Grids& grids,
                     const std::function<void(const ShapePath&, const GpuPair&, const Values&)>& visit) {
  each_pair(machine, grids, [&](const GpuPair& pair, const Grid& grid) {
    for (const int node : grids.nodes(grid, pair.gpu)) {
      const Endpoint card = Endpoint::gpu(Placement::device, pair.gpu.ordinal);
      const Endpoint host = Endpoint::host(Placement::pinned, node);
      const std::string& why = pair.gpu.unavailable.empty() ? pair.unavailable : pair.gpu.unavailable;
      const ShapePath paths[] = {{"host_to_gpu", {host, card}, pair.gpu, pair.link, why, pair.peer},
                                 {"gpu_to_host", {card, host}, pair.gpu, pair.link, why, pair.peer}};
      for (const Values& values : grid.points()) {
        for (const ShapePath& path : paths) {
          if (is_relayed(values) && values.is("path", path.name)) {
            visit(path, pair, values);
          }
        }
      }
    }
  });
}

std::vector<Benchmark> list_pages(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  const auto add = [&](const ShapePath& path, const Values& values, std::uint64_t neighbours) {
    try {
      const PageCopy copy = page_copy(path, values, neighbours);
      if (scope.in_range(copy.pages.bytes())) {
        benchmarks.push_back(make_benchmark_pages(machine, path, copy, values));
      }
    } catch (const UsageError& error) {
      grids.leave_out(error.what());
    }
  };
  each_path(machine, scope, grids, [&](const ShapePath& path, const Values& values) {
    if (!is_relayed(values)) {
      add(path, values, 0);
    } else if (!path.route.has_host()) {
      grids.leave_out("pages between the host and a GPU are relayed: others have links to the host");
    }
  });
  each_relay_path(machine, grids, [&](const ShapePath& path, const GpuPair& pair, const Values& values) {
    add(path, values, neighbours_of(machine, pair, values.number("neighbours")));
  });
  return benchmarks;
}

}  // namespace

Family shape_pages() {
  return {kPagesFamily,
          kAboutShapePages,
          {word_axis("path", "from where to where", {"host_to_gpu", "gpu_to_host", "local", "gpu_to_peer"}),
           word_axis("method", "how the pages are copied",
                     names_of(kPageMethods, [](PageMethod each) { return name(each); })),
           size_axis("page", "bytes of a page", {1, kGiB}, false),
           number_axis("pages", "how many", {1, kMostPages}),
           word_axis("order",
                     "how pages lie in their pools; runs: of 16 neighbours; packed: on the host one "
                     "behind another, and drawn at the other end",
                     names_of(kPageOrders, [](PageOrder each) { return name(each); }), "drawn"),
           memory_axis("how the host memory came to be in which pages lie"),
           size_axis("pool", "of the host, or else of the source; usual: twice what the pages take",
                     {1, DeclaredAxis::Range{}.most}, false, kUsual, {kUsual}),
           number_axis("blocks", "of a kernel; usual: 8 over a link to the host, else all that fit",
                       {1, kMostBlocks}, kUsual, {kUsual}),
           number_axis("neighbours", "GPUs that pass pages on, of relay", {1, 15}, "1"),
           number_axis("share", "percent of the pages that they pass on; found: as much as keeps all busy",
                       {1, 99}, kFound, {kFound}),
           following_axis("bytes", "of all pages", AxisUnit::bytes), gpu_axis(), node_axis(), pairs_axis(),
           orders_axis()},
          list_pages,
          false,
          2};  // host memory leaves the CPUs' caches before each sample
}

}  // namespace grainscope::harness
