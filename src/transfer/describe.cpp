#include <algorithm>
#include <set>
#include <stdexcept>

#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kLine = 128;
constexpr std::uint64_t kSector = 32;
constexpr std::uint64_t kLanes = 32;
constexpr std::uint64_t kFarApart = std::uint64_t{1} << 40;

// Counts the requests of one warp load after another: the lanes' sectors, grouped by 128-byte line.
class RequestCounter {
 public:
  explicit RequestCounter(bool keeps_sectors) : keeps_sectors_(keeps_sectors) {}

  // `first[lane]` is the address of each lane's access of `width` bytes.
  void load(const std::vector<std::uint64_t>& first, std::uint64_t width) {
    std::map<std::uint64_t, std::set<std::uint64_t>> sectors_of_line;
    for (const std::uint64_t address : first) {
      for (std::uint64_t sector = address / kSector; sector <= (address + width - 1) / kSector; ++sector) {
        if (!keeps_sectors_ || seen_.insert(sector).second) {
          sectors_of_line[sector * kSector / kLine].insert(sector);
        }
      }
    }
    for (const auto& [line, sectors] : sectors_of_line) {
      ++requests_[static_cast<int>(sectors.size() * kSector)];
    }
  }

  [[nodiscard]] const std::map<int, std::uint64_t>& requests() const { return requests_; }

 private:
  bool keeps_sectors_;
  std::set<std::uint64_t> seen_;
  std::map<int, std::uint64_t> requests_;
};

// The loads of one warp over its period: the shortest stretch after which a walk repeats itself.
// Returns the bytes asked for.
std::uint64_t walk_one_period(const Walk& walk, std::uint64_t base, RequestCounter& counter) {
  const auto width = static_cast<std::uint64_t>(walk.width_bytes);
  std::vector<std::uint64_t> lanes(kLanes);
  if (walk.pattern != Walk::Pattern::strided) {
    const bool scattered = walk.pattern == Walk::Pattern::scattered;
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
      // Pieces of a scattered walk that one load touches lie far apart.
      const std::uint64_t piece = scattered ? lane * width / walk.piece_bytes : 0;
      lanes[lane] = base + lane * width + piece * kFarApart;
    }
    counter.load(lanes, width);
    return kLanes * width;
  }
  for (std::uint64_t step = 0; step < kLine / width; ++step) {
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = base + lane * kLine + step * width;
    }
    counter.load(lanes, width);
  }
  return kLanes * kLine;
}

}  // namespace

const char* name(Placement placement) {
  switch (placement) {
    case Placement::pageable:
      return "pageable";
    case Placement::pinned:
      return "pinned";
    case Placement::registered:
      return "registered";
    case Placement::write_combined:
      return "write_combined";
    case Placement::mapped:
      return "mapped";
    case Placement::managed:
      return "managed";
    case Placement::device:
      return "device";
    case Placement::registers:
      return "registers";
  }
  throw std::logic_error("a placement has no name");
}

const char* name(Engine engine) {
  switch (engine) {
    case Engine::copy_engine:
      return "copy_engine";
    case Engine::sm:
      return "sm";
    case Engine::fault:
      return "fault";
    case Engine::prefetch:
      return "prefetch";
  }
  throw std::logic_error("an engine has no name");
}

const char* name(Allocation allocation) {
  switch (allocation) {
    case Allocation::host_alloc:
      return "host_alloc";
    case Allocation::registered:
      return "registered";
    case Allocation::accessed_by:
      return "accessed_by";
  }
  throw std::logic_error("an allocation has no name");
}

const char* access_name(const Walk& walk) {
  if (walk.pattern == Walk::Pattern::strided) {
    return "strided";
  }
  if (walk.pattern == Walk::Pattern::scattered) {
    return "scattered";
  }
  return walk.offset_bytes == 0 ? "merged_aligned" : "merged";
}

Traffic walk_traffic(const Walk& walk, std::uint64_t bytes, bool without_cache) {
  // With sectors kept, a stretch finds what the one before it fetched: the second is what repeats.
  RequestCounter counter(!without_cache);
  const auto base = static_cast<std::uint64_t>(walk.offset_bytes);
  const std::uint64_t period = walk_one_period(walk, base, counter);
  const std::map<int, std::uint64_t> first = counter.requests();
  walk_one_period(walk, base + period, counter);

  Traffic traffic;
  const std::uint64_t repeats = std::max<std::uint64_t>(1, bytes / period);
  for (const auto& [size, count] : counter.requests()) {
    const auto before = first.find(size);
    const std::uint64_t steady = count - (before == first.end() ? 0 : before->second);
    if (steady > 0) {
      traffic.requests_by_size[size] = steady * repeats;
      traffic.requests += steady * repeats;
      traffic.bytes += steady * repeats * static_cast<std::uint64_t>(size);
    }
  }
  traffic.amplification = static_cast<double>(traffic.bytes) / static_cast<double>(repeats * period);
  return traffic;
}

}  // namespace grainscope::transfer
