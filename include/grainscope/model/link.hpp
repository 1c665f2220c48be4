#ifndef GRAINSCOPE_MODEL_LINK_HPP
#define GRAINSCOPE_MODEL_LINK_HPP

// A link as the model sees it, an estimate of the time that it needs, and the requests of a gather over it.

#include <cstdint>
#include <span>
#include <string>

#include "grainscope/gnn/table.hpp"
#include "grainscope/model/replay.hpp"

namespace grainscope::model {

struct Link {
  std::string name;                 // "pcie4x16"
  double gb_s = 0;                  // what bulk copies reach, decimal GB/s
  double header_bytes = 0;          // that each request costs beside its data
  double round_trip_s = 0;          // of one read
  double in_flight = 0;             // read requests outstanding at most
  double misses_per_s = 0;          // translation misses served a second; 0: not modelled
  std::uint64_t reach_bytes = 0;    // span that is translated without misses
  std::uint64_t granule_bytes = 0;  // what one translation covers
  std::string source;               // where the numbers come from
};

// "pcie3x16", "pcie4x16", "pcie5x16", "pcie6x16", "nvlink-c2c". Throws UsageError listing them.
[[nodiscard]] Link link_named(const std::string& name);
[[nodiscard]] std::span<const char* const> link_names();
// A link of which only the copies' rate is measured: the rest is that of the named link whose rate is
// nearest, which `source` says. Its name is "measured".
[[nodiscard]] Link link_measured(double gb_s);

// The rate of data and headers together at which requests of a whole line carry `gb_s` of data.
[[nodiscard]] double wire_gb_s(const Link& link, double gb_s);

struct TimeBound {
  double bytes_s = 0;     // (bytes + header × requests) / wire rate: that at which 128-byte requests, with
                          // their headers, reach what bulk copies reach
  double requests_s = 0;  // requests × round trip / in flight, and a round trip at least
  double translations_s = 0;                // misses / misses a second
  [[nodiscard]] double seconds() const;     // the largest
  [[nodiscard]] const char* cause() const;  // "bytes", "requests", "translations"
};
// Of one level, which ends before the next begins. `misses`: translation misses of the walk, see
// TranslationWalk in paging.hpp; 0 where the span is within reach.
[[nodiscard]] TimeBound bound(const Link& link, const Requests& requests, std::uint64_t misses);

// Counts, exactly, what a gather of rows asks of the link between host and GPU: the walks of gnn/access.hpp,
// replayed lane by lane on the CPU, with no cache. Rows on GPUs ask for nothing.

// Requests for `rows`, host memory, in the order in which they are asked for; a mode that sorts does so here
// too. `elements` are units of `width` bytes. All threads. Throws UsageError for a mode that is no kernel or
// cannot load units of `width` bytes.
[[nodiscard]] Requests gather_requests(gnn::Mode mode, std::uint32_t width, const gnn::TableShape& table,
                                       std::span<const std::uint32_t> rows);

// Misses of address translation: an LRU of the link's reach, over the rows in the order in which the mode
// reads them. 0 for a host's part within reach, and for a link whose translations are not modelled.
[[nodiscard]] std::uint64_t gather_misses(gnn::Mode mode, const Link& link, const gnn::TableShape& table,
                                          std::span<const std::uint32_t> rows);

}  // namespace grainscope::model

#endif
