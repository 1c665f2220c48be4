#include "grainscope/transfer/written.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <variant>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/mover.hpp"

namespace grainscope::transfer {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::size_t kMostLetters = 4096;
constexpr std::size_t kMostLanes = 64;
constexpr int kMostComputing_ms = 10'000;
const char* const kExample = "host(pinned) -> gpu:0 by copy_engine, 64KiB";

constexpr std::array kPlacements{Placement::pageable,       Placement::pinned, Placement::registered,
                                 Placement::write_combined, Placement::mapped, Placement::managed,
                                 Placement::managed_host,   Placement::device, Placement::registers};
constexpr std::array kEngines{Engine::copy_engine, Engine::sm, Engine::fault, Engine::prefetch};
// In the order of Walk::Pattern.
constexpr std::array<const char*, 3> kPatterns{"strided", "merged", "scattered"};

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string_view trimmed(std::string_view text) {
  const auto first = std::min(text.find_first_not_of(' '), text.size());
  const auto last = text.find_last_not_of(' ');
  return text.substr(first, last == std::string_view::npos ? 0 : last - first + 1);
}

// What stands between separators that are in no parentheses, without the blanks around it.
Words split(std::string_view text, char separator) {
  Words parts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      parts.push_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    } else {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    }
  }
  if (depth != 0) {
    throw UsageError(quoted(text) + " has a parenthesis that is not closed or not opened");
  }
  return parts;
}

constexpr int kMostRelays = 62;  // whose bits a number of a line holds
constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && number >= low && number <= high ? std::optional(number) : std::nullopt;
}

const char* name(const char* word) {
  return word;
}

// The position of a word among the names of `all`. Throws UsageError with the nearest.
template <class Names>
std::size_t find_word(std::string_view word, const char* what, const Names& all) {
  std::vector<std::string> names;
  names.reserve(std::size(all));
  for (const auto& candidate : all) {
    names.emplace_back(name(candidate));
  }
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    throw UsageError(not_among(word, what, names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

bool leaves_gpu(const Transfer& transfer) {
  return transfer.between_gpus() && !transfer.within_gpu();
}

// What an option is for: elsewhere it would change nothing, and is refused.
struct Use {
  bool (*is_of)(const WrittenLane&);
  const char* words;
};
constexpr Use kAny{[](const WrittenLane& /*lane*/) { return true; }, ""};
constexpr Use kCached{[](const WrittenLane& lane) {
                        const Placement host = lane.transfer.host_end().placement;
                        return !lane.transfer.between_gpus() && host != Placement::managed &&
                               host != Placement::write_combined &&
                               lane.transfer.allocation != Allocation::accessed_by;
                      },
                      "memory of the host that its CPU's caches hold"};
constexpr Use kPieces{[](const WrittenLane& lane) {
                        return lane.transfer.engine != Engine::sm ||
                               lane.transfer.walk.pattern == Walk::Pattern::scattered;
                      },
                      "copies, prefetches, faults, and kernels whose access is scattered"};
constexpr Use kKernel{[](const WrittenLane& lane) { return lane.transfer.engine == Engine::sm; },
                      "kernels (sm)"};
constexpr Use kWalk{[](const WrittenLane& lane) { return lane.transfer.walks(); },
                    "kernels with registers at one end; other kernels copy 16 bytes a thread"};
constexpr Use kHostFaults{
    [](const WrittenLane& lane) { return lane.transfer.engine == Engine::fault && !lane.transfer.to_gpu(); },
    "faults of the host, which its threads take"};
constexpr Use kIssuer{
    [](const WrittenLane& lane) { return leaves_gpu(lane.transfer) && !lane.transfer.walks(); },
    "copies between two GPUs, which either can issue"};
constexpr Use kNoHostEnd{[](const WrittenLane& lane) { return lane.transfer.between_gpus(); },
                         "transfers without a host end; others are submitted where host(...,node:N) is"};
constexpr Use kRelayed{[](const WrittenLane& lane) { return lane.transfer.relay.used(); },
                       "copies that other GPUs pass on (via N)"};
constexpr Use kBackground{[](const WrittenLane& lane) { return lane.background; },
                          "a transfer in the background"};

struct Option {
  enum class Value { none, count, size, pattern, gpus };
  const char* word;
  Value value;
  std::int64_t low;
  std::int64_t high;  // of a word that stands alone: what it sets
  std::variant<bool Transfer::*, int Transfer::*, std::uint64_t Transfer::*, Allocation Transfer::*,
               int Walk::*, Walk::Pattern Walk::*, int Relay::*, std::uint64_t Relay::*, bool WrittenLane::*,
               int WrittenLane::*>
      field;
  Use use;
};

const char* name(const Option& option) {
  return option.word;
}

constexpr auto kMost = static_cast<std::int64_t>(kMostBytes);
const std::array kOptions{
    Option{"flush", Option::Value::none, 0, 1, &Transfer::flush, kCached},
    Option{"pieces", Option::Value::size, 4, kMost, &Transfer::piece_bytes, kPieces},
    Option{"stride", Option::Value::size, 4, kMost, &Transfer::stride_bytes, kAny},
    Option{"submission", Option::Value::none, 0, 1, &Transfer::submission_only, kAny},
    Option{"accessed_by", Option::Value::none, 0, 2, &Transfer::allocation, kAny},
    Option{"access", Option::Value::pattern, 0, 2, &Walk::pattern, kWalk},
    Option{"offset", Option::Value::count, 0, 127, &Walk::offset_bytes, kWalk},
    Option{"width", Option::Value::count, 4, 16, &Walk::width_bytes, kWalk},
    Option{"blocks", Option::Value::count, 1, 65'536, &Walk::blocks, kKernel},
    Option{"threads", Option::Value::count, 32, 1024, &Walk::threads, kWalk},
    Option{"host_threads", Option::Value::count, 1, 1024, &Transfer::host_threads, kHostFaults},
    Option{"by_source", Option::Value::none, 0, 1, &Transfer::by_source, kIssuer},
    Option{"no_peer_access", Option::Value::none, 0, 0, &Transfer::peer_access, kAny},
    Option{"node", Option::Value::count, 0, kMostInt, &Transfer::staging_node, kNoHostEnd},
    Option{"via", Option::Value::gpus, 0, 0, &Relay::gpus, kAny},
    Option{"share", Option::Value::count, 1, 99, &Relay::share, kRelayed},
    Option{"chunk", Option::Value::size, 4096, kMost, &Relay::chunk_bytes, kRelayed},
    Option{"buffers", Option::Value::count, 1, 64, &Relay::buffers, kRelayed},
    Option{"background", Option::Value::none, 0, 1, &WrittenLane::background, kAny},
    Option{"repeats", Option::Value::count, 1, kMostBehindGate, &WrittenLane::repeats, kBackground},
};

template <class Lane, class Field>
auto& member(Lane& lane, Field WrittenLane::*field) {
  return lane.*field;
}
template <class Lane, class Field>
auto& member(Lane& lane, Field Transfer::*field) {
  return lane.transfer.*field;
}
template <class Lane, class Field>
auto& member(Lane& lane, Field Relay::*field) {
  return lane.transfer.relay.*field;
}
template <class Lane, class Field>
auto& member(Lane& lane, Field Walk::*field) {
  return lane.transfer.walk.*field;
}

std::int64_t value_of(const Option& option, const WrittenLane& lane) {
  return std::visit([&](auto field) { return static_cast<std::int64_t>(member(lane, field)); }, option.field);
}

void set_value(const Option& option, WrittenLane& lane, std::int64_t value) {
  std::visit(
      [&](auto field) {
        auto& target = member(lane, field);
        target = static_cast<std::decay_t<decltype(target)>>(value);
      },
      option.field);
}

WrittenLane default_lane() {
  WrittenLane lane;
  lane.transfer.staging_node = kNodeNotSaid;
  return lane;
}

// A line has one word for the pieces of a copy and those of a walk: changes the one into the other, and back.
void exchange_pieces(Transfer& transfer) {
  if (transfer.engine == Engine::sm) {
    std::swap(transfer.piece_bytes, transfer.walk.piece_bytes);
  }
}

// "1+2": GPUs, a bit each.
std::int64_t parse_gpus(std::string_view text) {
  std::int64_t gpus = 0;
  for (const std::string_view part : split(text, '+')) {
    const auto gpu = whole_number(part, 0, kMostRelays - 1);
    if (!gpu || (gpus >> *gpu & 1) != 0) {
      throw UsageError(quoted(text) + " names no GPUs that differ, from 0 to " +
                       std::to_string(kMostRelays - 1) + ": write e.g. via 1 or via 1+2");
    }
    gpus |= std::int64_t{1} << *gpu;
  }
  return gpus;
}

std::string gpus_text(std::int64_t gpus) {
  std::string text;
  for (int gpu = 0; gpu < kMostRelays; ++gpu) {
    if ((gpus >> gpu & 1) != 0) {
      text += (text.empty() ? "" : "+") + std::to_string(gpu);
    }
  }
  return text;
}

std::int64_t parse_value(const Option& option, std::string_view text) {
  if (option.value == Option::Value::none) {
    if (!text.empty()) {
      throw UsageError(std::string(option.word) + " stands alone: leave out " + quoted(text));
    }
    return option.high;
  }
  if (option.value == Option::Value::pattern) {
    return static_cast<std::int64_t>(find_word(text, "an access", kPatterns));
  }
  if (option.value == Option::Value::gpus) {
    return parse_gpus(text);
  }
  const bool size = option.value == Option::Value::size;
  const auto number =
      size ? std::optional(static_cast<std::int64_t>(std::min(parse_bytes(text), kMostBytes + 1)))
           : whole_number(text, option.low, option.high);
  if (!number || *number < option.low || *number > option.high) {
    throw UsageError(std::string(option.word) + " is a " + (size ? "size" : "whole number") + " from " +
                     std::to_string(option.low) + " to " + std::to_string(option.high) + ", not " +
                     quoted(text));
  }
  return *number;
}

// "64KiB", or "4KiB..1GiB": every octave from the first to the last.
std::vector<std::uint64_t> parse_sizes(std::string_view text) {
  const auto dots = text.find("..");
  const std::uint64_t low = parse_bytes(trimmed(text.substr(0, dots)));
  if (dots == std::string_view::npos) {
    return {low};
  }
  const std::uint64_t high = parse_bytes(trimmed(text.substr(dots + 2)));
  if (low == 0 || low > high || high > kMostBytes) {
    throw UsageError(quoted(text) +
                     " is not a range of sizes: it goes from one above 0 up to 1024 TiB at most, e.g. "
                     "4KiB..1GiB");
  }
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = low; bytes < high; bytes *= 2) {
    sizes.push_back(bytes);
  }
  sizes.push_back(high);
  return sizes;
}

// The number behind "gpu:" or "node:".
int parse_numbered(std::string_view text, const std::string& key) {
  const bool has_key = text.starts_with(key + ":");
  const auto number =
      has_key ? whole_number(trimmed(text.substr(key.size() + 1)), 0, kMostInt) : std::nullopt;
  if (!number) {
    throw UsageError(quoted(text) + " names no " + key + ": write e.g. " + key + ":0");
  }
  return static_cast<int>(*number);
}

Placement parse_placement(std::string_view word) {
  return kPlacements[find_word(word, "a kind of memory", kPlacements)];
}

// `usual`: the memory of a GPU of which none is named.
Endpoint parse_end(std::string_view text, Placement usual) {
  const auto open = std::min(text.find('('), text.size());
  const std::string_view outside = trimmed(text.substr(0, open));
  const std::string_view head = trimmed(outside.substr(0, outside.find(':')));
  find_word(head, "an end of a transfer", std::array{"host", "gpu"});
  Words inside;
  if (open < text.size()) {
    if (text.back() != ')') {
      throw UsageError(quoted(text) + " does not end with ')': write e.g. host(pinned) or gpu:0(device)");
    }
    inside = split(text.substr(open + 1, text.size() - open - 2), ',');
  }
  if (head == "host") {
    if (outside != "host" || inside.empty() || inside.size() > 2) {
      throw UsageError(
          quoted(text) +
          " does not say which memory of the host: write e.g. host(pinned) or host(pinned,node:0)");
    }
    return Endpoint::host(parse_placement(inside[0]),
                          inside.size() == 2 ? parse_numbered(inside[1], "node") : kNodeNotSaid);
  }
  if (inside.size() > 1) {
    throw UsageError(quoted(text) + " says more than a kind of memory: write e.g. gpu:0 or gpu:0(device)");
  }
  return Endpoint::gpu(inside.empty() ? usual : parse_placement(inside[0]), parse_numbered(outside, "gpu"));
}

Engine parse_engine(std::string_view word) {
  if (word == "cpu") {
    throw UsageError(
        "a CPU moves bytes within the host alone, where no link is crossed: write copy_engine, sm, fault or "
        "prefetch");
  }
  return kEngines[find_word(word, "an engine", kEngines)];
}

// A lane of a line, and its sizes: none where they are those of the first.
struct LaneOfSizes {
  WrittenLane lane;
  std::vector<std::uint64_t> sizes;
};

// "compute(gpu:0)", "5ms".
LaneOfSizes parse_computing(const Words& parts) {
  const std::string_view gpu = parts[0].substr(parts[0].find('(') + 1);
  const std::string_view time = parts.size() == 2 ? parts[1] : "";
  const auto ms = time.ends_with("ms")
                      ? whole_number(trimmed(time.substr(0, time.size() - 2)), 1, kMostComputing_ms)
                      : std::nullopt;
  if (!gpu.ends_with(')') || !ms) {
    throw UsageError("a kernel that computes has a GPU and a time from 1 to " +
                     std::to_string(kMostComputing_ms) + " ms: write e.g. compute(gpu:0), 5ms");
  }
  LaneOfSizes computing{default_lane(), {}};
  Transfer& transfer = computing.lane.transfer;
  transfer.source = Endpoint::gpu(Placement::device, parse_numbered(gpu.substr(0, gpu.size() - 1), "gpu"));
  transfer.destination = transfer.source;
  computing.lane.background = true;
  computing.lane.computing_ms = static_cast<int>(*ms);
  return computing;
}

LaneOfSizes parse_lane(std::string_view text) {
  const Words parts = split(text, ',');
  if (parts[0].starts_with("compute(")) {
    return parse_computing(parts);
  }
  const auto arrow = parts[0].find("->");
  const std::string_view behind = arrow == std::string_view::npos ? "" : parts[0].substr(arrow + 2);
  const auto by = behind.find(" by ");
  if (by == std::string_view::npos) {
    throw UsageError(quoted(parts[0]) + " is not SOURCE -> DESTINATION by ENGINE: write e.g. " + kExample);
  }
  LaneOfSizes made{default_lane(), {}};
  WrittenLane& lane = made.lane;
  Transfer& transfer = lane.transfer;
  transfer.engine = parse_engine(trimmed(behind.substr(by + 4)));
  const Placement usual = transfer.migrates() ? Placement::managed : Placement::device;
  transfer.source = parse_end(trimmed(parts[0].substr(0, arrow)), usual);
  transfer.destination = parse_end(trimmed(behind.substr(0, by)), usual);
  // The GPU that has the registers runs the kernel.
  transfer.by_source = leaves_gpu(transfer) && transfer.source.placement == Placement::registers;
  std::vector<const Option*> given;
  for (const std::string_view part : Words(parts.begin() + 1, parts.end())) {
    if (part.empty()) {
      throw UsageError("between two commas, or behind the last, a size or an option is missing");
    }
    if (part.find_first_of("0123456789+-.") == 0) {
      for (const std::uint64_t bytes : parse_sizes(part)) {
        if (std::find(made.sizes.begin(), made.sizes.end(), bytes) != made.sizes.end()) {
          throw UsageError(std::to_string(bytes) + " bytes are written twice in one transfer");
        }
        made.sizes.push_back(bytes);
      }
      continue;
    }
    const auto blank = std::min(part.find(' '), part.size());
    const Option& option = kOptions.at(find_word(part.substr(0, blank), "an option", kOptions));
    if (std::find(given.begin(), given.end(), &option) != given.end()) {
      throw UsageError(std::string(option.word) + " is written twice in one transfer");
    }
    given.push_back(&option);
    set_value(option, lane, parse_value(option, trimmed(part.substr(blank))));
  }
  for (const Option* option : given) {
    if (!option->use.is_of(lane)) {
      throw UsageError(std::string(option->word) + " is for " + option->use.words);
    }
  }
  exchange_pieces(transfer);
  return made;
}

void require_possible_together(const WrittenLanes& lanes) {
  for (const WrittenLane& lane : lanes) {
    const Transfer& transfer = lane.transfer;
    if (transfer.submission_only && lanes.size() > 1) {
      throw UsageError("submission is timed of one transfer alone: write it on a line of its own");
    }
    if (lane.repeats > 1 && transfer.migrates()) {
      throw UsageError("managed pages that have moved have nowhere to go: leave out repeats");
    }
    const std::uint64_t pieces = transfer.piece_bytes > 0 ? transfer.bytes / transfer.piece_bytes : 1;
    if (lane.repeats > 1 && static_cast<std::uint64_t>(lane.repeats) * pieces > kMostBehindGate) {
      throw UsageError("a stream takes " + std::to_string(kMostBehindGate) +
                       " copies that wait at a closed gate; " + std::to_string(lane.repeats) +
                       " repeats of " + std::to_string(pieces) + " pieces are more");
    }
    for (const WrittenLane& other : lanes) {
      const auto& [a, b] = std::pair{transfer, other.transfer};
      const bool same =
          std::minmax(a.source.id, a.destination.id) == std::minmax(b.source.id, b.destination.id);
      if (!a.peer_access && b.peer_access && leaves_gpu(b) && same) {
        throw UsageError(
            "two GPUs reach each other's memory or not, whichever transfer asks: write "
            "no_peer_access for all between them, or for none");
      }
    }
  }
}

std::string end_text(const Endpoint& end) {
  const std::string kind = name(end.placement);
  if (!end.on_host()) {
    return "gpu:" + std::to_string(end.id) + "(" + kind + ")";
  }
  return "host(" + kind + (end.id == kNodeNotSaid ? "" : ",node:" + std::to_string(end.id)) + ")";
}

std::string lane_text(const WrittenLane& lane) {
  const Transfer& transfer = lane.transfer;
  if (lane.computing_ms > 0) {
    return "compute(gpu:" + std::to_string(transfer.source.id) + "), " + std::to_string(lane.computing_ms) +
           "ms";
  }
  std::string text = end_text(transfer.source) + " -> " + end_text(transfer.destination) + " by " +
                     name(transfer.engine) + ", " + std::to_string(transfer.bytes);
  for (const auto& [word, value] : options_of(lane)) {
    text += ", " + word + (value == AxisValue("on") ? "" : " " + to_string(value));
  }
  return text;
}

}  // namespace

const char* written_grammar() {
  return "--transfer 'SOURCE -> DESTINATION by ENGINE, SIZE, OPTION, ...; ...' (docs/transfer.md)\n"
         "  ends     host(MEMORY), host(MEMORY,node:N), gpu:N, gpu:N(MEMORY)\n"
         "  MEMORY   pageable, pinned, registered, write_combined, mapped, managed, managed_host; of a GPU\n"
         "           device, managed, registers\n"
         "  ENGINE   copy_engine, sm (a kernel), fault, prefetch\n"
         "  SIZE     64KiB; several by commas; 4KiB..1GiB is every octave of a range\n"
         "  OPTION   flush, pieces SIZE, stride SIZE, submission, accessed_by, offset N, width N, blocks N,\n"
         "           access strided|merged|scattered, threads N, host_threads N, by_source, no_peer_access,\n"
         "           node N, background, repeats N, via N (other GPUs pass on a part: 1+2), share N,\n"
         "           chunk SIZE, buffers N\n"
         "  ;        transfers that start at once; compute(gpu:N), 5ms is a kernel that computes beside them";
}

std::vector<WrittenLanes> parse_written(std::string_view line) {
  if (line.size() > kMostLetters) {
    throw UsageError("a line has " + std::to_string(kMostLetters) + " letters at most, not " +
                     std::to_string(line.size()));
  }
  std::string text(line);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  std::vector<LaneOfSizes> parsed;
  std::size_t count = 1;
  for (const std::string_view part : split(text, ';')) {
    if (part.empty()) {
      throw UsageError(std::string("a transfer is missing: write e.g. ") + kExample);
    }
    parsed.push_back(parse_lane(part));
    count = std::max(count, parsed.back().sizes.size());
  }
  if (parsed.size() > kMostLanes) {
    throw UsageError(std::to_string(kMostLanes) + " transfers start at once at most, not " +
                     std::to_string(parsed.size()));
  }
  if (parsed.front().lane.background) {
    throw UsageError("the first transfer of a line is measured: write what runs in the background behind it");
  }
  if (parsed.front().sizes.empty()) {
    throw UsageError(std::string("a size is missing: write e.g. ") + kExample);
  }
  std::vector<WrittenLanes> sets(count);
  for (const auto& [lane, own_sizes] : parsed) {
    const auto& sizes = own_sizes.empty() ? parsed.front().sizes : own_sizes;
    if (sizes.size() > 1 && sizes.size() != count) {
      throw UsageError("transfers at once have one size each or all the same number of sizes, not " +
                       std::to_string(sizes.size()) + " and " + std::to_string(count));
    }
    for (std::size_t i = 0; i < count; ++i) {
      sets[i].push_back(lane);
      if (lane.computing_ms == 0) {
        sets[i].back().transfer.bytes = sizes[sizes.size() == 1 ? 0 : i];
        require_possible(sets[i].back().transfer);
      }
    }
  }
  for (const WrittenLanes& set : sets) {
    require_possible_together(set);
  }
  return sets;
}

std::string to_text(const WrittenLanes& lanes) {
  std::string text;
  for (const WrittenLane& lane : lanes) {
    text += (text.empty() ? "" : "; ") + lane_text(lane);
  }
  return text;
}

std::vector<std::pair<std::string, AxisValue>> options_of(const WrittenLane& lane) {
  WrittenLane written = lane;
  exchange_pieces(written.transfer);
  std::vector<std::pair<std::string, AxisValue>> said;
  for (const Option& option : kOptions) {
    const std::int64_t value = value_of(option, written);
    // Who issues a kernel that has registers at one end is said by that end.
    if (value != value_of(option, default_lane()) && option.use.is_of(lane)) {
      said.emplace_back(option.word, option.value == Option::Value::none      ? AxisValue("on")
                                     : option.value == Option::Value::pattern ? AxisValue(kPatterns.at(value))
                                     : option.value == Option::Value::gpus    ? AxisValue(gpus_text(value))
                                                                              : AxisValue(value));
    }
  }
  return said;
}

}  // namespace grainscope::transfer
