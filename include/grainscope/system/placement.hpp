#ifndef GRAINSCOPE_SYSTEM_PLACEMENT_HPP
#define GRAINSCOPE_SYSTEM_PLACEMENT_HPP

// Where pages really are. What an allocator was asked for is a wish; these read the kernel's own record.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace grainscope {

// Where the pages of a range lie. Counts are of base pages looked at.
struct Placement {
  std::map<int, std::uint64_t> pages_on_node;
  std::uint64_t absent = 0;      // not present: never touched, swapped out, or on a device
  std::uint64_t unreadable = 0;  // the kernel gave another error for the page
  std::uint64_t looked_at = 0;
  std::uint64_t pages = 0;  // in the whole range; more than `looked_at` where it was sampled
  bool sampled = false;     // evenly spaced pages, not all
  std::string why_unknown;  // not empty: the kernel refused, and every count is 0

  [[nodiscard]] bool known() const noexcept { return why_unknown.empty(); }
  // One line: `262144 pages: 262000 on node 0, 144 on node 1`, `unknown (…)`.
  [[nodiscard]] std::string text() const;
};

// Reads where the pages of a range are with move_pages. At most `max_samples` pages are looked at, evenly
// spaced; 0 looks at all.
[[nodiscard]] Placement placement(const void* data, std::size_t bytes, std::size_t max_samples = 16384);

enum class PlacementCheck {
  verified,  // every page that was looked at is on the node
  unknown,   // the kernel does not tell
};

// FailedError, which names where the pages are: some page looked at is elsewhere or absent. Touch first.
PlacementCheck verify_placement(const void* data, std::size_t bytes, int node,
                                std::size_t max_samples = 16384);

// Bytes of the range that transparent huge pages back, from /proc/self/smaps. Mappings that reach beyond
// the range count in proportion only when they are wholly huge or not at all; otherwise nullopt.
[[nodiscard]] std::optional<std::uint64_t> huge_backing(const void* data, std::size_t bytes);

// Whether transparent huge pages back at least `fraction` of the range; nullopt when the kernel does not
// tell.
[[nodiscard]] std::optional<bool> is_transparent_huge(const void* data, std::size_t bytes,
                                                      double fraction = 0.95);

struct PagePresence {
  std::uint64_t present = 0;  // in host memory, mapped by this process
  std::uint64_t absent = 0;
  bool sampled = false;
};

// Which pages of a range this process has mapped in host memory, by bit 63 of /proc/self/pagemap (readable
// without privilege). Managed memory that migrated to a GPU is absent. nullopt when it cannot be read.
[[nodiscard]] std::optional<PagePresence> pages_present(const void* data, std::size_t bytes,
                                                        std::size_t max_samples = 16384);

// Of a range's whole blocks of 2 MiB, of which at most `max_blocks` are looked at, evenly spaced: the share
// whose pages stand in physical memory one behind another, from a multiple of 2 MiB on, so that one entry of
// a page table can map them. By frame numbers in /proc/self/pagemap, which the kernel shows to CAP_SYS_ADMIN
// alone: nullopt where it hides them, and where the range has no whole block.
[[nodiscard]] std::optional<double> contiguous_share(const void* data, std::size_t bytes,
                                                     std::size_t max_blocks = 64);

// Managed pages that are brought to where a sample wants them: now and then the driver leaves a block where
// it is, and it comes when it is asked for again. Calls `bring`, which says how many of the pages looked at
// are still elsewhere, until that is none, three times at most. Returns what it said last: it is for the
// caller to refuse the sample.
[[nodiscard]] std::uint64_t bring_pages(const std::function<std::uint64_t()>& bring);

}  // namespace grainscope

#endif
