#include "gnn/share_worker.hpp"

#include <algorithm>
#include <bit>
#include <istream>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "gather/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/reach/span_memory.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

constexpr double kNotice_s = 5e-4;  // between asking and the moment to run at
// A side that begins later than this has run beside the other for less than it says: once more.
constexpr double kLate_s = 5e-5;
constexpr int kMostTries = 16;
constexpr std::size_t kWords = 11;

}  // namespace

std::vector<std::string> to_words(const ShareJob& job) {
  return {name(job.by),
          std::to_string(job.sms),
          exact_text(job.percent),
          std::to_string(job.node),
          name(job.mode),
          std::to_string(job.width),
          std::to_string(job.row_bytes),
          std::to_string(job.rows),
          std::to_string(job.span_bytes),
          std::to_string(job.products),
          std::to_string(job.steps)};
}

ShareJob parse_share_job(const std::vector<std::string>& words) {
  static constexpr ShareBy kWays[] = {ShareBy::mps_percentage, ShareBy::exec_affinity};
  static constexpr gnn::Mode kModes[] = {gnn::Mode::masked, gnn::Mode::bulk};
  JobWords all(kShareKind, words, kWords);
  ShareJob job;
  job.by = all.named(kWays);
  job.sms = all.number<int>();
  job.percent = all.number<double>();
  job.node = all.number<int>();
  job.mode = all.named(kModes);
  job.width = all.number<std::uint32_t>();
  job.row_bytes = all.number<std::uint32_t>();
  job.rows = all.number<std::uint64_t>();
  job.span_bytes = all.number<std::uint64_t>();
  job.products = all.number<int>();
  job.steps = all.number<int>();
  return job;
}

Variables share_variables(const ShareJob& job) {
  return job.by == ShareBy::exec_affinity
             ? Variables{{"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING", "1"}}
             : Variables{{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", exact_text(job.percent)}};
}

ShareWorker::ShareWorker(const ShareJob& job, const Variables& client, const std::string& program)
    : process_(job.width > 0 ? "the process that gathers" : "the process that computes", program, kShareKind,
               to_words(job), {client, share_variables(job)}) {
  const std::vector<double> sms = process_.numbers("started", 2, kWorkerReady_s);
  given_sms_ = static_cast<int>(sms[0]);
  seen_sms_ = static_cast<int>(sms[1]);
}

double ShareWorker::alone() {
  process_.ask("alone");
  return times().seconds;
}

void ShareWorker::ask_to_run_at(double start_s) {
  process_.ask("run " + exact_text(start_s));
}

gnn::ShareTimes ShareWorker::times() {
  const std::vector<double> times = process_.numbers("times", 4);
  return {times[0], times[1], times[2], times[3]};
}

std::string ShareWorker::verify() {
  process_.ask("verify");
  return process_.answer("verified");
}

namespace {

// How late the later side began is told beside the times.
std::pair<SidesTimes, double> try_together(ShareWorker& first, ShareWorker& second) {
  first.ask_to_get_ready();
  second.ask_to_get_ready();
  first.wait_until_ready();
  second.wait_until_ready();
  const double start_s = steady_now_s() + kNotice_s;
  first.ask_to_run_at(start_s);
  second.ask_to_run_at(start_s);
  SidesTimes times;
  times.first = first.times();
  times.second = second.times();
  times.seconds = std::max(times.first.ended_s, times.second.ended_s) -
                  std::min(times.first.begun_s, times.second.begun_s);
  return {times, std::max(times.first.opened_s, times.second.opened_s) - start_s};
}

}  // namespace

SidesTimes run_together(ShareWorker& first, ShareWorker& second) {
  SidesTimes times;
  begin_together("the two sides", kLate_s, kMostTries, [&](int) {
    double late_s = 0;
    std::tie(times, late_s) = try_together(first, second);
    return late_s;
  });
  return times;
}

namespace {

constexpr int kGpu = 0;  // the daemon shows one

// The table and lists of a worker that gathers: in its own memory, as every client of MPS has.
class OwnTable {
 public:
  OwnTable(const ShareJob& job, const Topology& topology)
      : memory_({&topology}, span_request(job)), point_(point_of(job)) {
    memory_.grow(job.span_bytes);
    GatherSite site{job.node, GpuTarget{kGpu, {}, {}}, {}};
    store_ = gnn::make_feature_store(store_request(point_, site), &memory_, nullptr);
  }
  [[nodiscard]] std::unique_ptr<gnn::ShareWork> on(const cuda::SmPartition& part) const {
    return gnn::make_gather_work(*store_, drawn_lists(point_, store_->shape().rows), point_.mode,
                                 point_.width, part);
  }

 private:
  static reach::SpanRequest span_request(const ShareJob& job) {
    reach::SpanRequest request{{.gpu = kGpu, .home = job.node}};
    request.chunk_bytes = std::bit_ceil(std::clamp(job.span_bytes, 4 * kKiB, kGiB));
    return request;
  }
  static GatherPoint point_of(const ShareJob& job) {
    GatherPoint point;
    point.row_bytes = job.row_bytes;
    point.rows = job.rows;
    point.span_bytes = job.span_bytes;
    point.mode = job.mode;
    point.width = job.width;
    return point;
  }

  reach::SpanMemory memory_;
  GatherPoint point_;
  std::unique_ptr<gnn::FeatureStore> store_;
};

void run(const ShareJob& job) {
  const Topology topology = Topology::read();
  const NodeBinding binding(topology, job.node);
  // The part comes first and goes last: a context of its own must be there before any other work.
  const auto part = client_part(kGpu, job.by, job.sms);
  std::optional<OwnTable> table;
  std::unique_ptr<gnn::FixedBatch> batch;
  std::unique_ptr<gnn::ShareWork> work;
  if (job.width > 0) {
    work = table.emplace(job, topology).on(*part);
  } else if (job.steps > 0) {
    batch = make_share_batch();
    work = gnn::make_step_work(kGpu, *batch, job.steps, *part);
  } else {
    work = gnn::make_product_work(kGpu, job.products, *part);
  }
  tell_numbers("started", part->given_sms(), cuda::count_multiprocessors(kGpu, *part));
  gnn::SharedRun side({work.get()});
  const auto run_at = [&](double start_s) {
    const gnn::ShareTimes times = side.run_at(start_s);
    tell_numbers("times", times.seconds, times.begun_s, times.opened_s, times.ended_s);
  };
  serve({{"ready",
          [&](std::istream& /*words*/) {
            side.get_ready();
            tell("ready");
          }},
         {"run",
          [&](std::istream& words) {
            double start_s = 0;
            words >> start_s;
            run_at(start_s);
          }},
         {"alone",
          [&](std::istream& /*words*/) {
            side.get_ready();
            run_at(0);
          }},
         {"verify", [&](std::istream& /*words*/) { tell("verified", side.verify()); }}});
}

}  // namespace

std::function<void()> share_worker(const std::vector<std::string>& job) {
  return [parsed = parse_share_job(job)] { run(parsed); };
}

std::unique_ptr<gnn::FixedBatch> make_share_batch() {
  gnn::TrainingRequest request;
  request.sample = {{10, 25}, 1};
  request.batch = 1000;
  request.shape = {256, 128, 8, 2};
  request.rate = 1;
  return gnn::make_fixed_batch(graph::make_graph(graph::parse_graph_spec("kron:16"), false), request);
}

int most_of(Consumer consumer) {
  constexpr int kMostProducts = 4096;
  return consumer == Consumer::products ? kMostProducts : gnn::kMostSteps;
}

std::unique_ptr<gnn::ShareWork> make_consumer(Consumer consumer, int gpu, int count,
                                              const gnn::FixedBatch* batch, const cuda::SmPartition& part) {
  return consumer == Consumer::products ? gnn::make_product_work(gpu, count, part)
                                        : gnn::make_step_work(gpu, *batch, count, part);
}

}  // namespace grainscope::harness
