#include "grainscope/collective/collective.hpp"

#include <algorithm>

namespace grainscope::collective {

const char* name(Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return "all_reduce";
    case Kind::all_gather:
      return "all_gather";
    case Kind::reduce_scatter:
      return "reduce_scatter";
    case Kind::broadcast:
      return "broadcast";
    case Kind::all_to_all:
      return "all_to_all";
    case Kind::send_receive:
      return "send_receive";
  }
  return "";
}

const char* name(Element element) {
  return element == Element::uint32 ? "uint32" : "float32";
}

bool in_parts(Kind kind) {
  return kind == Kind::all_gather || kind == Kind::reduce_scatter || kind == Kind::all_to_all;
}

std::string why_impossible(const Work& work, int ranks) {
  if (work.in_place && (work.kind == Kind::all_to_all || work.kind == Kind::send_receive)) {
    return "what is sent must not be overwritten by what comes: all_to_all and send_receive have place=out";
  }
  if (part_bytes(work, ranks) == 0) {
    return "every rank has an element at least: bytes is 4 or more, of operations with parts 4 * ranks";
  }
  return "";
}

std::uint64_t part_bytes(const Work& work, int ranks) {
  const auto count = static_cast<std::uint64_t>(in_parts(work.kind) ? ranks : 1);
  const std::uint64_t part = work.bytes / count;
  constexpr std::uint64_t kAligned = 16;
  const std::uint64_t unit = in_parts(work.kind) && part >= kAligned ? kAligned : kElementBytes;
  return part / unit * unit;
}

std::uint64_t input_bytes(const Work& work, int ranks) {
  const bool all = work.kind == Kind::reduce_scatter || work.kind == Kind::all_to_all;
  return part_bytes(work, ranks) * static_cast<std::uint64_t>(all ? ranks : 1);
}

std::uint64_t output_bytes(const Work& work, int ranks) {
  const bool all = work.kind == Kind::all_gather || work.kind == Kind::all_to_all;
  return part_bytes(work, ranks) * static_cast<std::uint64_t>(all ? ranks : 1);
}

std::uint64_t counted_bytes(const Work& work, int ranks) {
  return std::max(input_bytes(work, ranks), output_bytes(work, ranks));
}

double bus_factor(Kind kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  return kind == Kind::all_reduce ? 2 * others : in_parts(kind) ? others : 1;
}

std::uint64_t link_bytes_least(const Work& work, int ranks) {
  const std::uint64_t part = part_bytes(work, ranks);
  return in_parts(work.kind) ? part * static_cast<std::uint64_t>(ranks - 1) : part;
}

Expected expected_of(const Work& work, int ranks, int rank) {
  const std::uint64_t part = part_bytes(work, ranks) / kElementBytes;
  Expected expected;
  expected.ranks = ranks;
  switch (work.kind) {
    case Kind::all_reduce:
      expected.sum = true;
      break;
    case Kind::reduce_scatter:
      expected.sum = true;
      expected.first = part * static_cast<std::uint64_t>(rank);
      break;
    case Kind::all_gather:
      expected.part = part;
      break;
    case Kind::all_to_all:
      expected.part = part;
      expected.first = part * static_cast<std::uint64_t>(rank);
      break;
    case Kind::broadcast:
      break;
    case Kind::send_receive:
      expected.source = (rank + ranks - 1) % ranks;
      break;
  }
  return expected;
}

}  // namespace grainscope::collective
