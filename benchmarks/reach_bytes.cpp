#include "reach_bytes.hpp"

#include <algorithm>

#include "grainscope/core/units.hpp"
#include "grainscope/model/link.hpp"
#include "traffic.hpp"

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
  measurement.counters = {
      {"unique_rows", static_cast<double>(unique_rows)},
      {"unique_bytes", static_cast<double>(unique_bytes)},
      {"unique_gb_s", unique_gb_s},
      {"link_gb_s", unique_gb_s},
      {"rows_per_s", rows / median_s},
      {"rows_per_granule", rows * static_cast<double>(kGranule) / static_cast<double>(gather.span_bytes)}};
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

}  // namespace grainscope::harness
