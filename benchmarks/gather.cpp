// gather: how fast do rows of a feature table reach a GPU, by each way to gather them and place to keep them?
//
// A mini-batch of a graph neural network asks for rows at random places of a table that is larger than the
// GPU's memory. Timed: all that the mode needs until the output lies in the asked order: sorting, threads
// that copy into staging buffers, copies, one kernel. Not timed: drawing lists, overwriting the output and
// the GPU's L2 cache before each sample, sending managed pages home, and checking the whole output after each
// sample. Four lists of rows take turns. Bytes: rows asked for × bytes of a row; link bytes: each different
// row that lies on the host once, the least that can cross the link. `traffic` is the model's count of
// requests, with no cache, for the first list. Source: dissertation chapters 3 and 4 (naive, circular_shift,
// tiers, listing 4.1), DGL GraphBolt (masked, graphbolt); address_ordered is ours, and docs/method.md tells
// of the translation wall that it is for. Limits: rows are drawn from a law, not from a graph, unless indices
// are `sampled`. docs/gather.md.
//
// Time on an H100: 0.2 to 0.6 s a case, with drawing and counting; locking memory 0.3 to 0.7 s a GiB, for
// 8 GiB in quick, and in full for nothing that reach/gather has not locked before. quick 13 s; full,
// estimated, 45 s.

#include <algorithm>
#include <memory>
#include <utility>

#include "families.hpp"
#include "gather_case.hpp"
#include "gather_own.hpp"
#include "gather_sampled.hpp"
#include "gnn_case.hpp"

namespace grainscope::harness {
namespace {

using gnn::Mode;
using gnn::Store;

const char* what_is_timed(Mode mode) {
  switch (mode) {
    case Mode::cpu_gather:
      return "threads that copy rows to another place of host memory, from their common start to the last "
             "one's end";
    case Mode::cpu_gather_dma:
      return "on the host's clock: threads that copy rows into two page-locked buffers in turn, and the "
             "copies of these to the GPU, until the last has ended";
    case Mode::row_dma:
      return "a copy for each row between two events, up to 512 behind a closed gate";
    case Mode::address_ordered:
    case Mode::graphbolt:
      return "a radix sort of rows and positions, and one kernel, between two events behind a closed gate";
    default:
      return "one kernel between two events behind a closed gate";
  }
}

Explanation explain(const GatherPoint& point) {
  return {std::string("the rate at which rows of a table that is ") + name(point.store) +
              " are gathered by " + name(point.mode) + ", in the order asked",
          std::string(what_is_timed(point.mode)) +
              "; not drawing the rows, nor overwriting output and cache before, nor checking after",
          "bytes = rows * window * row; link_bytes = different rows that lie on the host * row, of a managed "
          "table what left the host; requests: one for each 128-byte line of a warp's load",
          "dissertation chapters 3 and 4, figures 3.10 and 4.9; DGL GraphBolt's index_select; "
          "address_ordered is new here",
          "rows are drawn from a law unless they are sampled; the table's memory is shared by cases, not new "
          "in each session"};
}

Explanation explain_own(const GatherPoint& point, const gnn::NpyFile& own) {
  Explanation explanation = explain(point);
  explanation.measures += "; the table is " + own.path() + ", " + std::to_string(own.rows()) + " rows of " +
                          std::to_string(own.columns()) + " columns";
  explanation.limits =
      point.mode == Mode::cpu_gather
          ? "the file is mapped: its first reads come from the disk, later ones from the page cache"
          : "the file's rows are copied into page-locked memory before, those asked for most first";
  return explanation;
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, Spans spans)
      : machine_(machine), scope_(scope), cache_(std::move(spans)) {}

  std::vector<Benchmark> list() {
    for (const int node : scope_.nodes) {
      for (const GatherPoint& point : host_gather_points(scope_)) {
        add(point, {node, {}, {}});
      }
      for (const SampledPoint& point : sampled_points(scope_, 2)) {
        if (point.gather.mode == Mode::cpu_gather) {
          add_sampled(point, {node, {}, {}});
        }
      }
      if (!scope_.dense()) {
        break;
      }
    }
    for (const GpuTarget& gpu : scope_.program_gpus()) {
      std::vector<int> gpus = sharing_gpus(machine_, gpu.ordinal);
      const int most = std::max(2, static_cast<int>(gpus.size()));
      const int node = scope_.nearest_node(gpu);
      const auto site_of = [&](const GatherPoint& point) {
        return GatherSite{node, gpu, point.store == Store::multi_gpu ? gpus : std::vector<int>{}};
      };
      for (const GatherPoint& point : gather_points(scope_, most)) {
        add(point, site_of(point));
      }
      for (const SampledPoint& point : sampled_points(scope_, most)) {
        if (point.gather.mode != Mode::cpu_gather) {
          add_sampled(point, site_of(point.gather));
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  [[nodiscard]] Benchmark benchmark_of(const GatherPoint& point, const GatherSite& site) const {
    Benchmark benchmark;
    benchmark.id = gather_id(point, site);
    benchmark.skip = why_no_store(machine_, scope_, point, site);
    if (benchmark.skip.empty()) {
      benchmark.needs = gather_needs(point, site);
    }
    benchmark.explanation = explain(point);
    return benchmark;
  }

  // A case that is skipped will not ask for memory: nobody should keep it for one.
  [[nodiscard]] std::shared_ptr<SpanCache::Claim> claim_for(const Benchmark& benchmark,
                                                            const GatherPoint& point,
                                                            const GatherSite& site) const {
    return benchmark.skip.empty() && shares_memory(point)
               ? cache_->claim(span_key(site), scope_.repetitions, benchmark.needs.shared_host_bytes)
               : nullptr;
  }

  void add(const GatherPoint& point, const GatherSite& site) {
    Benchmark benchmark = benchmark_of(point, site);
    const auto claim = claim_for(benchmark, point, site);
    benchmark.run = [point, site, cache = cache_, claim](Session& session) {
      return measure_gather(
          session, point, site, [&](std::uint32_t table_rows) { return drawn_lists(point, table_rows); },
          *cache, claim.get());
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  static void name_trace(Case& id, const TraceKey& trace) {
    id.axes.push_back({"graph", trace.graph});
    id.axes.push_back({"fanout", trace.fanout});
    id.axes.push_back({"batch", static_cast<std::int64_t>(trace.seeds)});
  }

  void add_sampled(const SampledPoint& sampled, const GatherSite& site) {
    if (scope_.features != nullptr) {
      add_own(sampled, site);
      return;
    }
    const GatherPoint& point = sampled.gather;
    Benchmark benchmark = benchmark_of(point, site);
    name_trace(benchmark.id, sampled.trace);
    benchmark.needs.host_bytes += benchmark.skip.empty() ? gnn_host_bytes(sampled.spec) : 0;
    const auto claim = claim_for(benchmark, point, site);
    const auto trace_claim =
        benchmark.skip.empty() ? traces_->claim(sampled.trace, scope_.repetitions) : nullptr;
    benchmark.run = [sampled, site, cache = cache_, claim, traces = traces_, trace_claim,
                     cache_dir = scope_.graph_cache](Session& session) {
      const TraceCache::Lease sample(*traces, *trace_claim, [&](const TraceKey& key) {
        return make_trace(sampled.spec, key, cache_dir);
      });
      return measure_gather(
          session, sampled.gather, site,
          [&](std::uint32_t) {
            return lists_of_trace(sample->trace, gather_lists(sampled.gather.asked_rows()),
                                  sampled.gather.window);
          },
          *cache, claim.get());
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  // From the user's file.
  void add_own(const SampledPoint& sampled, const GatherSite& site) {
    Benchmark benchmark;
    benchmark.id = gather_id(sampled.gather, site);
    name_trace(benchmark.id, sampled.trace);
    benchmark.id.axes.push_back({"features", scope_.features->stem()});
    benchmark.skip = why_no_own_store(machine_, sampled.gather, site);
    benchmark.needs = own_gather_needs(sampled, site);
    benchmark.explanation = explain_own(sampled.gather, *scope_.features);
    std::shared_ptr<TraceCache::Claim> trace_claim;
    std::shared_ptr<OwnTableCache::Claim> claim;
    if (benchmark.skip.empty()) {
      trace_claim = traces_->claim(sampled.trace, scope_.repetitions);
      claim = site.gpu ? own_tables_->claim({sampled.trace, site.node}, scope_.repetitions) : nullptr;
    }
    benchmark.run = [sampled, site, own = scope_.features, tables = own_tables_, claim, traces = traces_,
                     trace_claim, cache_dir = scope_.graph_cache](Session& session) {
      const TraceCache::Lease sample(*traces, *trace_claim, [&](const TraceKey& key) {
        return make_trace(sampled.spec, key, cache_dir, own.get());
      });
      return measure_own_gather(session, sampled, site, *sample, own, *tables, claim.get());
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Scope& scope_;
  Spans cache_;
  std::shared_ptr<TraceCache> traces_ = std::make_shared<TraceCache>();
  std::shared_ptr<OwnTableCache> own_tables_ = std::make_shared<OwnTableCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family gather(const Spans& spans) {
  return {
      "gather",
      "How fast do rows of a feature table reach a GPU, by each way to gather them and place to keep them?",
      {},
      [spans](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
        return Lister(machine, scope, spans).list();
      }};
}

}  // namespace grainscope::harness
