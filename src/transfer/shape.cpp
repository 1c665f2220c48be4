// Where the bytes of boxes and pages lie, and whether they are what they must be: all that needs no GPU.

#include "grainscope/transfer/shape.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kNoMismatch = UINT64_MAX;
constexpr std::uint64_t kWord = sizeof(std::uint32_t);
constexpr std::uint64_t kTooMany = std::uint64_t{1} << 31;
constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 61;
constexpr std::int64_t kParallelRows = 4096;
constexpr std::int64_t kParallelPages = 256;
constexpr std::uint32_t kSourceSeed = 3;
constexpr std::uint32_t kDestinationSeed = 4;

// The pattern's byte at `index`, as it lies in memory.
std::byte pattern_byte(std::uint64_t index, std::uint32_t seed) {
  const std::uint32_t word = pattern_word(index / kWord, seed);
  std::byte bytes[kWord];
  std::memcpy(bytes, &word, kWord);
  return bytes[index % kWord];
}

std::uint64_t first_wrong_single(const std::byte* memory, std::uint64_t begin, std::uint64_t end,
                                 std::uint64_t pattern_begin, std::uint32_t seed) {
  for (std::uint64_t i = begin; i < end; ++i) {
    if (memory[i] != pattern_byte(pattern_begin + (i - begin), seed)) {
      return i;
    }
  }
  return kNoMismatch;
}

// The first byte of memory[begin, end) (host) that is not that of the pattern's bytes from `pattern_begin`
// on, or kNoMismatch.
std::uint64_t first_wrong_byte(const std::byte* memory, std::uint64_t begin, std::uint64_t end,
                               std::uint64_t pattern_begin, std::uint32_t seed) {
  // Up to the pattern's next word byte by byte, then whole words, then the bytes that are left.
  const std::uint64_t head = std::min(end, begin + (kWord - pattern_begin % kWord) % kWord);
  if (const auto wrong = first_wrong_single(memory, begin, head, pattern_begin, seed); wrong != kNoMismatch) {
    return wrong;
  }
  const std::uint64_t words = (end - head) / kWord;
  const std::uint64_t first_word = (pattern_begin + (head - begin)) / kWord;
  for (std::uint64_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, memory + head + i * kWord, kWord);
    if (word != pattern_word(first_word + i, seed)) {
      const std::uint64_t at = head + i * kWord;
      return first_wrong_single(memory, at, at + kWord, (first_word + i) * kWord, seed);
    }
  }
  const std::uint64_t tail = head + words * kWord;
  return first_wrong_single(memory, tail, end, pattern_begin + (tail - begin), seed);
}

std::string text_of(const Box& box) {
  return std::to_string(box.width_bytes) + " B x " + std::to_string(box.rows) + " rows x " +
         std::to_string(box.planes) + " planes, at " + std::to_string(box.pitch_bytes) + " B and " +
         std::to_string(box.plane_rows) + " rows";
}

}  // namespace

Box packed(const Box& box) {
  return {box.width_bytes, box.rows, box.planes, box.width_bytes, box.rows};
}

int widest_element(const Box& a, const Box& b) {
  const std::uint64_t all = a.width_bytes | a.pitch_bytes | b.width_bytes | b.pitch_bytes | 16;
  return static_cast<int>(all & (~all + 1));
}

void require_possible(const Box& box) {
  const char* why = nullptr;
  if (box.width_bytes == 0 || box.rows == 0 || box.planes == 0) {
    why = "is empty";
  } else if (box.pitch_bytes < box.width_bytes || box.plane_rows < box.rows) {
    why = "overlaps itself";
  } else if (box.pitch_bytes >= kTooMany || box.plane_rows >= kTooMany || box.planes >= kTooMany ||
             box.all_rows() >= kTooMany) {
    why = "has a pitch or rows beyond what CUDA copies";
  } else if (box.planes > kTooLarge / box.plane_bytes()) {
    why = "spans more than any memory";
  }
  if (why != nullptr) {
    throw UsageError("a box of " + text_of(box) + " " + why);
  }
}

std::uint64_t guarded_bytes(const Box& box) {
  // Whole words, so that the pattern fills it.
  return kGuardBytes + (box.span_bytes() + 3) / 4 * 4 + kGuardBytes;
}

std::optional<std::uint64_t> find_box_mismatch(const std::byte* memory, const Box& box) {
  const auto rows = static_cast<std::int64_t>(box.all_rows());
  std::uint64_t first = kNoMismatch;
#pragma omp parallel for schedule(static) reduction(min : first) if (rows > kParallelRows)
  for (std::int64_t i = 0; i < rows; ++i) {
    // What lies between the row before and this one, then the row.
    const auto row = static_cast<std::uint64_t>(i);
    const std::uint64_t gap = row == 0 ? 0 : kGuardBytes + box.row_offset(row - 1) + box.width_bytes;
    const std::uint64_t begin = kGuardBytes + box.row_offset(row);
    const std::uint64_t end = begin + box.width_bytes;
    first = std::min({first, first_wrong_byte(memory, gap, begin, gap, kPoison),
                      first_wrong_byte(memory, begin, end, begin, kPayload)});
  }
  const std::uint64_t rest = kGuardBytes + box.row_offset(box.all_rows() - 1) + box.width_bytes;
  first = std::min(first, first_wrong_byte(memory, rest, guarded_bytes(box), rest, kPoison));
  return first == kNoMismatch ? std::nullopt : std::optional(first);
}

void copy_rows(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box,
               std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t row = first; row < last; ++row) {
    std::memcpy(to + to_box.row_offset(row), from + from_box.row_offset(row), from_box.width_bytes);
  }
}

const char* name(BoxMethod method) {
  switch (method) {
    case BoxMethod::copy_2d:
      return "copy_2d";
    case BoxMethod::copy_3d:
      return "copy_3d";
    case BoxMethod::kernel_strided:
      return "kernel_strided";
    case BoxMethod::kernel_chunked:
      return "kernel_chunked";
    case BoxMethod::pack:
      return "pack";
    case BoxMethod::row_copies:
      return "row_copies";
  }
  return "copy_3d";
}

bool is_kernel(BoxMethod method) {
  return method == BoxMethod::kernel_strided || method == BoxMethod::kernel_chunked;
}

std::uint64_t end_bytes(const BoxCopy& copy) {
  return guarded_bytes(copy.box) + (copy.method == BoxMethod::pack ? copy.box.bytes() : 0);
}

namespace {

// All numbers below `count` in an order drawn from `seed`: Fisher and Yates's shuffle.
std::vector<std::uint64_t> shuffled(std::uint64_t count, std::uint32_t seed) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  for (std::uint64_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[pattern_word(i, seed) % i]);
  }
  return order;
}

}  // namespace

const char* name(PageOrder order) {
  switch (order) {
    case PageOrder::drawn:
      return "drawn";
    case PageOrder::sorted:
      return "sorted";
    case PageOrder::runs:
      return "runs";
    case PageOrder::packed:
      return "packed";
  }
  return "drawn";
}

std::uint64_t Pages::slot_offset(std::uint64_t slot) const {
  return kGuardBytes + slot * page_bytes;
}

std::uint64_t Pages::memory_bytes(const PagePool& pool) const {
  // Whole words, so that the pattern fills it.
  return (slot_offset(pool.slots) + kGuardBytes + 3) / 4 * 4;
}

PagePool usual_pool(PageOrder order, std::uint64_t count) {
  return {order, order == PageOrder::packed ? count : 2 * count};
}

namespace {

// Of that many pages.
std::uint64_t run_of(std::uint64_t count) {
  return std::min(kPagesOfRun, count);
}

bool has_room(const PagePool& pool, std::uint64_t count) {
  if (pool.order == PageOrder::runs) {
    const std::uint64_t run = run_of(count);
    return pool.slots / run >= (count + run - 1) / run;
  }
  return pool.slots >= count;
}

std::vector<std::uint64_t> table_of(const PagePool& pool, std::uint64_t count, std::uint32_t seed) {
  std::vector<std::uint64_t> table(count);
  if (pool.order == PageOrder::packed) {
    std::iota(table.begin(), table.end(), std::uint64_t{0});
  } else if (pool.order == PageOrder::runs) {
    const std::uint64_t run = run_of(count);
    const std::vector<std::uint64_t> runs = shuffled(pool.slots / run, seed);
    for (std::uint64_t i = 0; i < count; ++i) {
      table[i] = runs[i / run] * run + i % run;
    }
  } else {
    const std::vector<std::uint64_t> slots = shuffled(pool.slots, seed);
    std::copy_n(slots.begin(), count, table.begin());
  }
  if (pool.order == PageOrder::sorted) {
    std::sort(table.begin(), table.end());
  }
  return table;
}

}  // namespace

void require_possible(const Pages& pages) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(std::to_string(pages.count) + " pages of " + std::to_string(pages.page_bytes) + " B " +
                     why);
  };
  if (pages.page_bytes == 0 || pages.count == 0) {
    refuse("are none");
  }
  for (const PagePool& pool : {pages.source, pages.destination}) {
    if (pool.slots >= kTooMany || pages.page_bytes > kTooLarge / std::max<std::uint64_t>(pool.slots, 1)) {
      refuse("lie in a pool that is larger than any memory");
    }
    if (!has_room(pool, pages.count)) {
      refuse("have no room in a pool of " + std::to_string(pool.slots) + " in order " + name(pool.order));
    }
  }
}

std::vector<std::uint64_t> source_table(const Pages& pages) {
  return table_of(pages.source, pages.count, kSourceSeed);
}

std::vector<std::uint64_t> destination_table(const Pages& pages) {
  return table_of(pages.destination, pages.count, kDestinationSeed);
}

std::optional<std::uint64_t> find_page_mismatch(const std::byte* memory, const Pages& pages) {
  const std::vector<std::uint64_t> from = source_table(pages);
  const std::vector<std::uint64_t> to = destination_table(pages);
  std::vector<std::uint64_t> source_of(pages.destination.slots, kNoMismatch);  // slot by slot; none: free
  for (std::size_t i = 0; i < to.size(); ++i) {
    source_of[to[i]] = from[i];
  }
  const auto slots = static_cast<std::int64_t>(source_of.size());
  std::uint64_t first = first_wrong_byte(memory, 0, pages.slot_offset(0), 0, kPoison);
#pragma omp parallel for schedule(static) reduction(min : first) if (slots > kParallelPages)
  for (std::int64_t i = 0; i < slots; ++i) {
    const auto slot = static_cast<std::uint64_t>(i);
    const std::uint64_t source = source_of[slot];
    const std::uint64_t begin = pages.slot_offset(slot);
    first = std::min(first, source == kNoMismatch
                                ? first_wrong_byte(memory, begin, begin + pages.page_bytes, begin, kPoison)
                                : first_wrong_byte(memory, begin, begin + pages.page_bytes,
                                                   pages.slot_offset(source), kPayload));
  }
  const std::uint64_t rest = pages.slot_offset(pages.destination.slots);
  first =
      std::min(first, first_wrong_byte(memory, rest, pages.memory_bytes(pages.destination), rest, kPoison));
  return first == kNoMismatch ? std::nullopt : std::optional(first);
}

void merge_runs(const std::vector<PieceCopy>& pieces, std::vector<PieceCopy>& merged) {
  merged.clear();
  for (const PieceCopy& piece : pieces) {
    if (!merged.empty() && merged.back().to + merged.back().bytes == piece.to &&
        merged.back().from + merged.back().bytes == piece.from) {
      merged.back().bytes += piece.bytes;
    } else {
      merged.push_back(piece);
    }
  }
}

const char* name(PageMethod method) {
  switch (method) {
    case PageMethod::one_by_one:
      return "one_by_one";
    case PageMethod::batch:
      return "batch";
    case PageMethod::batch_merged:
      return "batch_merged";
    case PageMethod::graph:
      return "graph";
    case PageMethod::kernel:
      return "kernel";
    case PageMethod::bulk:
      return "bulk";
    case PageMethod::staged:
      return "staged";
    case PageMethod::cpu_gather:
      return "cpu_gather";
    case PageMethod::relay:
      return "relay";
  }
  return "one_by_one";
}

bool has_blocks(PageMethod method) {
  return method == PageMethod::kernel || method == PageMethod::bulk || method == PageMethod::relay;
}

std::uint64_t relayed_pages(const PageCopy& copy) {
  const auto gpus = static_cast<std::uint64_t>(std::popcount(copy.relay.gpus));
  if (gpus == 0) {
    return 0;
  }
  const std::uint64_t wanted = copy.pages.count * static_cast<std::uint64_t>(copy.relay.share) / 100 / gpus;
  const std::uint64_t most = (copy.pages.count - 1) / gpus;  // one is left
  return gpus * std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(most, 1));
}

std::uint64_t stage_bytes(const PageCopy& copy, const PagePool& pool) {
  const bool stages = copy.method == PageMethod::staged || copy.method == PageMethod::cpu_gather;
  return stages && pool.order != PageOrder::packed ? copy.pages.bytes() : 0;
}

namespace {

template <class Refuse>
void require_relays(const PageCopy& copy, const Refuse& refuse) {
  if (!copy.has_host()) {
    refuse("is for pages between the host and a GPU: others have links to the host");
  }
  require_possible(copy.relay, copy.gpu());
  if (const int gpus = std::popcount(copy.relay.gpus); copy.pages.count <= static_cast<std::uint64_t>(gpus)) {
    refuse("copies a page or more by each of " + std::to_string(gpus + 1) +
           " GPUs: " + std::to_string(copy.pages.count) + " are too few");
  }
}

}  // namespace

void require_possible(const PageCopy& copy) {
  require_possible(copy.pages);
  const auto refuse = [&](const std::string& why) {
    throw UsageError(std::string("method ") + name(copy.method) + " " + why);
  };
  const bool packed_host = (copy.source.on_host() && copy.pages.source.order == PageOrder::packed) ||
                           (copy.destination.on_host() && copy.pages.destination.order == PageOrder::packed);
  if (copy.by_destination) {
    refuse("sends pages to another GPU and does not fetch them");
  }
  if (copy.blocks && (!has_blocks(copy.method) || *copy.blocks == 0)) {
    refuse(has_blocks(copy.method) ? "takes one block or more" : "has no blocks to choose");
  }
  if (copy.method == PageMethod::bulk && copy.pages.page_bytes % kBulkBytes != 0) {
    refuse("moves multiples of " + std::to_string(kBulkBytes) + " B, no pages of " +
           std::to_string(copy.pages.page_bytes));
  }
  if (copy.method == PageMethod::cpu_gather && (!copy.has_host() || packed_host)) {
    refuse("is for pages that lie scattered on the host");
  }
  if (copy.method == PageMethod::staged && (copy.has_host() ? !packed_host : !copy.between_gpus())) {
    refuse("is for pages that lie packed on the host (order packed), or on another GPU");
  }
  if (copy.relay.used() != (copy.method == PageMethod::relay)) {
    refuse(copy.relay.used() ? "takes no other GPUs" : "needs other GPUs that pass pages on");
  }
  if (copy.relay.used()) {
    require_relays(copy, refuse);
  }
}

}  // namespace grainscope::transfer
