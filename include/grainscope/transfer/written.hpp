#ifndef GRAINSCOPE_TRANSFER_WRITTEN_HPP
#define GRAINSCOPE_TRANSFER_WRITTEN_HPP

// Transfers as a line of text: "host(pinned,node:0) -> gpu:0 by copy_engine, 64KiB, flush". Everything that
// a Transfer holds can be written, and several that start at once. docs/transfer.md is the guide.
// Source: TransferBench, whose lines name source, executor and destination.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grainscope/core/case.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

// The node of a line that names none: of a host end its id, between GPUs the staging node.
inline constexpr int kNodeNotSaid = -1;

// One of the transfers that a line starts at once; or, where `computing_ms` is above 0, a kernel that
// computes for so long on the GPU of `transfer`, in the background.
struct WrittenLane {
  Transfer transfer;
  bool background = false;
  int repeats = 1;  // of a background lane
  int computing_ms = 0;
};
using WrittenLanes = std::vector<WrittenLane>;

// The lanes of a line, once for each of its sizes. Throws UsageError, which says what would be right, for
// what is no line, and for lanes that cannot be or not together.
[[nodiscard]] std::vector<WrittenLanes> parse_written(std::string_view line);

// The line that stands for these lanes alone, every choice but a default spelled out.
[[nodiscard]] std::string to_text(const WrittenLanes& lanes);

// The options of a lane that are not at their default, in a fixed order: {"flush", "on"}, {"width", 16}.
[[nodiscard]] std::vector<std::pair<std::string, AxisValue>> options_of(const WrittenLane& lane);

// How a line is written, for --help.
[[nodiscard]] const char* written_grammar();

}  // namespace grainscope::transfer

#endif
