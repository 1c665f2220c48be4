// Five links by name. What is measured and what is estimated is said in each one's source; the estimates are
// there so that a question about a link that nobody here owns has an answer whose grounds can be judged.

#include "grainscope/model/link.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::model {
namespace {

constexpr std::array<const char*, 5> kNames{"pcie3x16", "pcie4x16", "pcie5x16", "pcie6x16", "nvlink-c2c"};

// Random reads of 128 bytes on an H100 reach 50.7 GB/s over 256 MiB and 13.7 over 1 GiB; with 33 million
// misses a second the latter hits in 69 % of its reads, so 0.69 GiB are within reach.
constexpr double kMissesPerSecond = 33e6;
constexpr std::uint64_t kReachBytes = 704 * kMiB;
constexpr std::uint64_t kGranuleBytes = 64 * kKiB;

Link pcie3() {
  return {"pcie3x16",
          12.3,
          18,
          1.3e-6,
          256,
          0,
          0,
          0,
          "EMOGI (VLDB 2020), V100: copies 12.3 GB/s (5.3.2), 18 bytes of header, round trip 1.0 to 1.6 us, "
          "256 tags (3.3); translation not modelled"};
}

Link pcie4() {
  return {"pcie4x16",
          24.0,
          18,
          1.3e-6,
          768,
          0,
          0,
          0,
          "EMOGI (VLDB 2020), DGX A100: copies approximately 24 GB/s (5.5), 768 in flight; header and round "
          "trip as on PCIe 3; translation not modelled"};
}

Link pcie5() {
  return {"pcie5x16",
          54.7,
          12,
          1.19e-6,
          740,
          kMissesPerSecond,
          kReachBytes,
          kGranuleBytes,
          "measured on an H100 SXM: copies 54.7 GB/s, 12 bytes a request in pcie__read_bytes, round trip "
          "1.19 us, 622 million requests a second at most (so 740 in flight), 30 to 36 million translation "
          "misses a second; the granule of 64 KiB is a hypothesis"};
}

Link pcie6() {
  return {"pcie6x16",
          102,
          12,
          1.19e-6,
          1380,
          kMissesPerSecond,
          kReachBytes,
          kGranuleBytes,
          "estimate: 128 GB/s x 236 bytes of each 256-byte flit = 118 GB/s, of which copies reach as much as "
          "of PCIe 5 (54.7 of 63.0 GB/s); as many bytes in flight for the rate as on an H100; the rest as "
          "measured on an H100 over PCIe 5"};
}

Link nvlink_c2c() {
  return {
      "nvlink-c2c",
      375,
      16,
      0.8e-6,
      2340,
      0,
      0,
      0,
      "estimate but for the rate: copies to the GPU 375 of 450 GB/s on a GH200 (Schieffer et al., "
      "arXiv 2407.07850, with Comm|Scope); 16 bytes of header and a round trip of 0.8 us are guesses, and "
      "just as many reads in flight as that rate needs at 128 bytes; translation not modelled"};
}

constexpr std::array<Link (*)(), 5> kLinks{pcie3, pcie4, pcie5, pcie6, nvlink_c2c};

std::string all_names() {
  std::string text;
  for (const char* name : kNames) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

}  // namespace

std::span<const char* const> link_names() {
  return kNames;
}

Link link_named(const std::string& name) {
  for (const auto make : kLinks) {
    Link link = make();
    if (link.name == name) {
      return link;
    }
  }
  throw UsageError("there is no link '" + name + "'; there are " + all_names());
}

Link link_measured(double gb_s) {
  Link nearest = kLinks.front()();
  for (const auto make : kLinks) {
    const Link link = make();
    if (std::abs(std::log(link.gb_s / gb_s)) < std::abs(std::log(nearest.gb_s / gb_s))) {
      nearest = link;
    }
  }
  nearest.source = "the copy peak of this run; the rest as of " + nearest.name + ": " + nearest.source;
  nearest.name = "measured";
  nearest.gb_s = gb_s;
  return nearest;
}

double wire_gb_s(const Link& link, double gb_s) {
  constexpr auto kLine = static_cast<double>(graph::kLineBytes);
  return gb_s * (kLine + link.header_bytes) / kLine;
}

double TimeBound::seconds() const {
  return std::max({bytes_s, requests_s, translations_s});
}

const char* TimeBound::cause() const {
  if (bytes_s >= requests_s && bytes_s >= translations_s) {
    return "bytes";
  }
  return requests_s >= translations_s ? "requests" : "translations";
}

TimeBound bound(const Link& link, const Requests& requests, std::uint64_t misses) {
  TimeBound result;
  if (requests.count() == 0) {
    return result;
  }
  const auto count = static_cast<double>(requests.count());
  const double wire_bytes = static_cast<double>(requests.bytes()) + link.header_bytes * count;
  result.bytes_s = wire_bytes / (wire_gb_s(link, link.gb_s) * 1e9);
  result.requests_s = std::max(1.0, count / link.in_flight) * link.round_trip_s;
  if (link.misses_per_s > 0) {
    result.translations_s = static_cast<double>(misses) / link.misses_per_s;
  }
  return result;
}

}  // namespace grainscope::model
