// What a worker does between its first line and the end of its input.

#include <algorithm>
#include <bit>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "gather_case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/reach/span_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "share_consumer.hpp"
#include "share_worker.hpp"

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

constexpr int kGpu = 0;  // the daemon shows one

// The table and lists of a worker that gathers: in its own memory, as every client of MPS has.
class OwnTable {
 public:
  OwnTable(const ShareJob& job, const Topology& topology)
      : memory_(topology, span_request(job)), point_(point_of(job)) {
    memory_.grow(job.span_bytes);
    GatherSite site{job.node, GpuTarget{kGpu, {}, {}}, {}};
    store_ = gnn::make_feature_store(store_request(point_, site), &memory_, nullptr);
  }
  [[nodiscard]] std::unique_ptr<gnn::ShareWork> on(const cuda::SmPartition& part) const {
    return gnn::make_gather_work(*store_, drawn_lists(point_, store_->shape().rows), point_.width, part);
  }

 private:
  static reach::SpanRequest span_request(const ShareJob& job) {
    reach::SpanRequest request{reach::SpanKind::host_alloc, kGpu, job.node};
    request.chunk_bytes = std::bit_ceil(std::clamp(job.span_bytes, 4 * kKiB, kGiB));
    return request;
  }
  static GatherPoint point_of(const ShareJob& job) {
    GatherPoint point;
    point.row_bytes = job.row_bytes;
    point.rows = job.rows;
    point.span_bytes = job.span_bytes;
    point.width = job.width;
    return point;
  }

  reach::SpanMemory memory_;
  GatherPoint point_;
  std::unique_ptr<gnn::FeatureStore> store_;
};

void tell_times(const gnn::ShareTimes& times) {
  std::ostringstream text;
  text.precision(17);
  text << times.seconds << ' ' << times.begun_s << ' ' << times.opened_s << ' ' << times.ended_s;
  tell("times", text.str());
}

// Until the end of the input, which comes when the other end is gone, however it went.
void serve(gnn::ShareWork& work) {
  gnn::SharedRun alone({&work});
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    double start_s = 0;
    words >> word >> start_s;
    if (word == "ready") {
      alone.get_ready();
      tell("ready", "");
    } else if (word == "run") {
      tell_times(alone.run_at(start_s));
    } else if (word == "alone") {
      alone.get_ready();
      tell_times(alone.run_at(0));
    } else if (word == "verify") {
      tell("verified", work.verify());
    } else {
      throw FailedError("nothing is known of `" + line + "`");
    }
  }
}

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
  const int seen = cuda::count_multiprocessors(kGpu, *part);
  tell("started", std::to_string(part->given_sms()) + " " + std::to_string(seen));
  serve(*work);
}

}  // namespace

int share_worker(const std::vector<std::string>& words) {
  const ShareJob job = parse_share_job(words);
  return worker_status([&] { run(job); });
}

}  // namespace grainscope::harness
