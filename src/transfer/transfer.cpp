// What can be said of a transfer without a GPU: its names, the requests of a walk, whether it can be at
// all, and how the times of several lanes overlap.

#include "grainscope/transfer/transfer.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <stdexcept>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/mover.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kLine = 128;
constexpr std::uint64_t kSector = 32;
constexpr int kWarp = 32;
constexpr std::uint64_t kLanes = kWarp;
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
    case Placement::managed_host:
      return "managed_host";
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
    case Allocation::managed_host:
      return "managed_host";
  }
  throw std::logic_error("an allocation has no name");
}

const char* name(Load load) {
  return load == Load::bulk ? "bulk" : "vector";
}

const char* name(PageCall call) {
  switch (call) {
    case PageCall::prefetch:
      return "prefetch";
    case PageCall::prefetch_batch:
      return "prefetch_batch";
    case PageCall::discard:
      return "discard";
    case PageCall::discard_and_prefetch:
      return "discard_and_prefetch";
  }
  throw std::logic_error("a call for pages has no name");
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

namespace {

constexpr std::uint64_t kRelayBlock = 4 * kKiB;
// Of a part: few enough that the first and the last, which nothing hides, cost little.
constexpr std::uint64_t kRelayChunks = 8;
constexpr std::uint64_t kLeastRelayChunk = 256 * kKiB;
constexpr std::uint64_t kMostRelayChunk = 16 * kMiB;

std::uint64_t in_relay_blocks(std::uint64_t bytes) {
  return (bytes + kRelayBlock - 1) / kRelayBlock * kRelayBlock;
}

}  // namespace

std::vector<int> relays_of(const Relay& relay) {
  std::vector<int> gpus;
  for (int gpu = 0; gpu < 64; ++gpu) {
    if ((relay.gpus >> gpu & 1) != 0) {
      gpus.push_back(gpu);
    }
  }
  return gpus;
}

std::vector<int> relays_of(const Transfer& transfer) {
  return relays_of(transfer.relay);
}

void require_possible(const Relay& relay, int gpu) {
  if (relay.gpus >> gpu & 1) {
    throw UsageError("GPU " + std::to_string(gpu) + " is an end of the copy: others pass bytes on for it");
  }
  if (relay.share < 1 || relay.share > 99) {
    throw UsageError("a share is from 1 to 99 percent, not " + std::to_string(relay.share));
  }
}

std::uint64_t relayed_bytes(const Transfer& transfer) {
  const auto gpus = static_cast<std::uint64_t>(std::popcount(transfer.relay.gpus));
  if (gpus == 0) {
    return 0;
  }
  const std::uint64_t wanted = transfer.bytes / 100 * static_cast<std::uint64_t>(transfer.relay.share) / gpus;
  const std::uint64_t most = transfer.bytes / gpus / kRelayBlock * kRelayBlock;
  return gpus * std::min(std::max(in_relay_blocks(wanted), kRelayBlock), most);
}

std::uint64_t relay_chunk_bytes(const Transfer& transfer) {
  if (transfer.relay.chunk_bytes > 0) {
    return transfer.relay.chunk_bytes;
  }
  const std::uint64_t part =
      relayed_bytes(transfer) / static_cast<std::uint64_t>(std::max(1, std::popcount(transfer.relay.gpus)));
  const std::uint64_t usual = std::clamp(part / kRelayChunks, kLeastRelayChunk, kMostRelayChunk);
  return in_relay_blocks(std::max(usual, part / kMostRelayed + 1));
}

namespace {

constexpr int kMostThreads = 1024;  // of a block

int ends_that_are(Placement placement, const Transfer& transfer) {
  return (transfer.source.placement == placement ? 1 : 0) +
         (transfer.destination.placement == placement ? 1 : 0);
}

// Between GPUs the driver takes a copy through the host where neither may reach the other's memory.
bool is_staged(const Transfer& transfer) {
  return transfer.between_gpus() && !transfer.within_gpu() && !transfer.peer_access;
}

void require_memory_of_its_side(const Endpoint& end) {
  const bool of_gpu = end.placement == Placement::device || end.placement == Placement::registers;
  if (end.on_host() && of_gpu) {
    throw UsageError(std::string(name(end.placement)) +
                     (end.placement == Placement::device ? " memory is" : " are") +
                     " on a GPU; memory of the host is pageable, pinned, registered, write_combined, mapped, "
                     "managed or managed_host");
  }
  if (!end.on_host() && !of_gpu && end.placement != Placement::managed) {
    throw UsageError(std::string(name(end.placement)) +
                     " memory is on the host; a GPU has device memory, managed memory and registers");
  }
}

void require_engine_that_reaches(const Transfer& transfer) {
  const int registers = ends_that_are(Placement::registers, transfer);
  const int managed = ends_that_are(Placement::managed, transfer);
  if (registers > 1 || (registers == 1 && transfer.engine != Engine::sm)) {
    throw UsageError("only a kernel (sm) moves bytes to or from registers, and memory is at its other end");
  }
  if (transfer.migrates() && managed != 2) {
    throw UsageError("a fault or a prefetch moves pages of managed memory: both ends must be managed");
  }
  if (!transfer.migrates() && managed > 0) {
    throw UsageError(
        "managed memory moves by fault or prefetch: for a copy or a kernel its pages lie wherever they were "
        "used last");
  }
  if (transfer.engine == Engine::sm && ends_that_are(Placement::pageable, transfer) > 0) {
    throw UsageError(
        "a kernel cannot address pageable memory: page-lock it (pinned, registered) or map it (mapped)");
  }
  if (transfer.allocation != Allocation::host_alloc &&
      (registers == 0 || ends_that_are(Placement::mapped, transfer) == 0)) {
    throw UsageError(
        "only mapped memory that a kernel reads into registers, or writes from them, is made in several "
        "ways");
  }
}

void require_relay(const Transfer& transfer) {
  const Relay& relay = transfer.relay;
  if (!relay.used()) {
    return;
  }
  const Placement host = transfer.host_end().placement;
  if (transfer.between_gpus() || transfer.migrates() || transfer.walks() ||
      (host != Placement::pinned && host != Placement::registered && host != Placement::write_combined)) {
    throw UsageError(
        "other GPUs pass on what a copy_engine or a kernel (sm) copies between page-locked memory of the "
        "host "
        "(pinned, registered, write_combined) and a GPU's memory");
  }
  require_possible(relay, transfer.gpu());
  if (transfer.piece_bytes > 0 || transfer.submission_only) {
    throw UsageError("a copy that other GPUs pass on has neither pieces nor a submission of its own");
  }
  const auto gpus = static_cast<std::uint64_t>(std::popcount(relay.gpus));
  if (transfer.bytes < 2 * kRelayBlock * gpus) {
    throw UsageError("a copy that " + std::to_string(gpus) + " other GPUs pass on is " +
                     format_bytes(2 * kRelayBlock * gpus) + " or more");
  }
  if (transfer.engine == Engine::sm && relay.chunk_bytes > 0) {
    throw UsageError("chunks are of copy engines: kernels of other GPUs copy straight");
  }
  if (relay.chunk_bytes % kRelayBlock != 0 || relay.buffers < 1 || relay.buffers > 64) {
    throw UsageError("a chunk is a multiple of 4 KiB, and 1 to 64 buffers hold one each");
  }
  const std::uint64_t part = relayed_bytes(transfer) / gpus;
  if (relay.chunk_bytes > 0 && (part - 1) / relay.chunk_bytes >= kMostRelayed) {
    throw UsageError("a GPU passes on " + std::to_string(kMostRelayed) + " chunks at most; " +
                     format_bytes(part) + " in chunks of " + format_bytes(relay.chunk_bytes) + " are more");
  }
}

void require_issuer(const Transfer& transfer) {
  if (transfer.migrates() && transfer.within_gpu()) {
    throw UsageError("managed memory that lives on GPU " + std::to_string(transfer.source.id) +
                     " has nowhere to go there: nothing would move");
  }
  if (transfer.migrates() && transfer.by_source) {
    throw UsageError("managed pages come to the GPU that touches them: the source cannot send them");
  }
  if (!transfer.peer_access && !is_staged(transfer)) {
    throw UsageError("peer access is between two GPUs: this transfer has no use for it");
  }
  if (!transfer.peer_access && transfer.engine != Engine::copy_engine) {
    throw UsageError("without peer access only copies go between GPUs: write copy_engine");
  }
  const bool from_registers = transfer.source.placement == Placement::registers;
  if (transfer.between_gpus() && !transfer.within_gpu() && transfer.walks() &&
      from_registers != transfer.by_source) {
    throw UsageError("the GPU that has the registers runs the kernel: the other cannot issue it");
  }
}

// What stands at a closed gate is only work that the GPU does without the CPU, and no more than a stream
// takes.
void require_place_at_gate(const Transfer& transfer) {
  // The driver stages copies of pageable memory and of managed memory on the host, and waits for the stream.
  const bool by_driver =
      ends_that_are(Placement::pageable, transfer) > 0 ||
      (transfer.engine == Engine::copy_engine && ends_that_are(Placement::managed_host, transfer) > 0);
  const bool alone = !transfer.migrates() && !is_staged(transfer) && !by_driver;
  if (transfer.submission_only && !alone) {
    throw UsageError(
        "submission is timed while the work waits at a closed gate: only kernels and copies without pageable "
        "or managed memory can, which the GPU carries out alone");
  }
  if (alone && transfer.piece_bytes > 0 && (transfer.bytes - 1) / transfer.piece_bytes >= kMostBehindGate) {
    throw UsageError("a stream takes " + std::to_string(kMostBehindGate) +
                     " copies that wait at a closed gate; " + format_bytes(transfer.bytes) +
                     " in pieces of " + format_bytes(transfer.piece_bytes) + " are more");
  }
}

void require_possible_walk(const Transfer& transfer) {
  const Walk& walk = transfer.walk;
  const bool width_known = walk.width_bytes == 4 || walk.width_bytes == 8 || walk.width_bytes == 16;
  if (walk.blocks < 0 || walk.threads < kWarp || walk.threads > kMostThreads || walk.threads % kWarp != 0) {
    throw UsageError("a block has whole warps of 32 threads, 1024 threads at most; not " +
                     std::to_string(walk.threads));
  }
  if (!width_known) {
    throw UsageError("an access is 4, 8 or 16 bytes wide, not " + std::to_string(walk.width_bytes));
  }
  if (walk.offset_bytes < 0 || walk.offset_bytes >= static_cast<int>(kLine) ||
      walk.offset_bytes % walk.width_bytes != 0 || transfer.bytes % kLine != 0) {
    throw UsageError(
        "a walk begins at a multiple of its width below 128 bytes and covers whole 128-byte chunks; not "
        "offset " +
        std::to_string(walk.offset_bytes) + ", width " + std::to_string(walk.width_bytes) + ", " +
        std::to_string(transfer.bytes) + " bytes");
  }
  if (walk.pattern == Walk::Pattern::scattered &&
      (!std::has_single_bit(walk.piece_bytes) || !std::has_single_bit(transfer.bytes) ||
       walk.piece_bytes < static_cast<std::uint64_t>(walk.width_bytes) || walk.piece_bytes > transfer.bytes ||
       walk.offset_bytes != 0)) {
    throw UsageError("a scattered walk covers a power of two of bytes in pieces that are a smaller one, at " +
                     std::to_string(walk.width_bytes) + " bytes least; not " +
                     std::to_string(transfer.bytes) + " in pieces of " + std::to_string(walk.piece_bytes));
  }
}

void require_possible_bulk(const Transfer& transfer) {
  const Walk& walk = transfer.walk;
  if (transfer.engine != Engine::sm) {
    throw UsageError("only a kernel (sm) copies in bulk");
  }
  if (walk.chunk_bytes == 0 || walk.chunk_bytes % kLine != 0 || walk.chunk_bytes > kMostChunkBytes ||
      walk.stages < 1 || walk.stages > kMostStages || walk.blocks < 0) {
    throw UsageError("a bulk copy is of a chunk of whole 128 bytes, " + format_bytes(kMostChunkBytes) +
                     " at most, and a block has 1 to " + std::to_string(kMostStages) + " stages; not " +
                     std::to_string(walk.chunk_bytes) + " bytes and " + std::to_string(walk.stages) +
                     " stages");
  }
  if (transfer.walks() && (walk.pattern != Walk::Pattern::merged || walk.offset_bytes != 0)) {
    throw UsageError("bulk copies are of neighbouring bytes from a 128-byte boundary on: the walk is merged");
  }
}

constexpr std::uint64_t kReadBytes = 16;  // of a lane that reads pages on demand

// Pages are the host's before.
void require_possible_pieces(const Transfer& transfer) {
  if (transfer.engine != Engine::fault) {
    throw UsageError("only pieces that the GPU reads on demand lie apart");
  }
  if (!transfer.source.on_host() || !transfer.to_gpu()) {
    throw UsageError("pieces on demand come from the host to a GPU");
  }
  if (transfer.piece_bytes == 0 || transfer.piece_bytes % kReadBytes != 0 ||
      transfer.bytes % transfer.piece_bytes != 0 || transfer.stride_bytes % kReadBytes != 0 ||
      transfer.stride_bytes < transfer.piece_bytes) {
    throw UsageError("pieces on demand are multiples of 16 bytes, whole, and do not overlap; not " +
                     std::to_string(transfer.bytes) + " in pieces of " +
                     std::to_string(transfer.piece_bytes) + " that begin " +
                     std::to_string(transfer.stride_bytes) + " apart");
  }
  if (transfer.bytes / transfer.piece_bytes > kMostBytes / transfer.stride_bytes) {
    throw UsageError("pieces that far apart lie in more than 1024 TiB, which no machine has");
  }
}

// Batches and hints are of pages that are the host's or one GPU's.
void require_possible_pages(const Transfer& transfer) {
  if (transfer.page_call != PageCall::prefetch &&
      (transfer.engine != Engine::prefetch || transfer.between_gpus())) {
    throw UsageError(std::string(name(transfer.page_call)) +
                     " is a call for pages of managed memory of the host or one GPU: the engine is prefetch");
  }
  if (transfer.hint != cuda::Hint::none && (transfer.engine != Engine::fault || !transfer.source.on_host())) {
    throw UsageError("a hint is of managed pages on the host that a GPU asks for: the engine is fault");
  }
  if (transfer.hint != cuda::Hint::none && (transfer.piece_bytes > 0 || transfer.bytes % kReadBytes != 0)) {
    throw UsageError("pages under a hint are read whole, 16 bytes at a time: there are no pieces of them");
  }
}

}  // namespace

void require_possible(const Transfer& transfer) {
  require_memory_of_its_side(transfer.source);
  require_memory_of_its_side(transfer.destination);
  if (transfer.source.on_host() && transfer.destination.on_host()) {
    throw UsageError(
        "a transfer has a GPU at one end at least: bytes that stay on the host cross no link, and its CPUs "
        "move them");
  }
  require_engine_that_reaches(transfer);
  require_issuer(transfer);
  require_relay(transfer);
  if (transfer.bytes == 0 || transfer.bytes % sizeof(std::uint32_t) != 0 || transfer.bytes > kMostBytes) {
    throw UsageError("a transfer moves a multiple of 4 bytes, from 4 B to 1024 TiB; not " +
                     std::to_string(transfer.bytes));
  }
  if (transfer.piece_bytes % sizeof(std::uint32_t) != 0 || transfer.piece_bytes > transfer.bytes ||
      (transfer.engine == Engine::sm && transfer.piece_bytes > 0)) {
    throw UsageError(
        "copies and prefetches move pieces of a multiple of 4 bytes, no larger than the whole; not " +
        std::to_string(transfer.piece_bytes));
  }
  require_place_at_gate(transfer);
  if (transfer.stride_bytes > 0 || (transfer.engine == Engine::fault && transfer.piece_bytes > 0)) {
    require_possible_pieces(transfer);
  }
  require_possible_pages(transfer);
  if (transfer.walks()) {
    require_possible_walk(transfer);
  }
  if (transfer.walk.load == Load::bulk) {
    require_possible_bulk(transfer);
  }
}

double time_any_ran(const std::vector<Span>& spans) {
  std::vector<Span> sorted = spans;
  std::sort(sorted.begin(), sorted.end(), [](const Span& a, const Span& b) { return a.start_s < b.start_s; });
  double total_s = 0;
  double covered_until_s = sorted.empty() ? 0 : sorted.front().start_s;
  for (const Span& span : sorted) {
    const double from_s = std::max(span.start_s, covered_until_s);
    total_s += std::max(0.0, span.end_s - from_s);
    covered_until_s = std::max(covered_until_s, span.end_s);
  }
  return total_s;
}

double time_all_ran(const std::vector<Span>& spans) {
  if (spans.empty()) {
    return 0;
  }
  double from_s = spans.front().start_s;
  double until_s = spans.front().end_s;
  for (const Span& span : spans) {
    from_s = std::max(from_s, span.start_s);
    until_s = std::min(until_s, span.end_s);
  }
  return std::max(0.0, until_s - from_s);
}

}  // namespace grainscope::transfer
