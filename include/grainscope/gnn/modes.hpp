#ifndef GRAINSCOPE_GNN_MODES_HPP
#define GRAINSCOPE_GNN_MODES_HPP

// How rows are gathered and where they live, by name.

#include <cstdint>

#include "grainscope/gnn/access.hpp"

namespace grainscope::gnn {

enum class Mode {
  cpu_gather,       // threads copy rows into host memory; no GPU
  cpu_gather_dma,   // threads copy rows into page-locked double buffers, which copies take to the GPU
  row_dma,          // a copy for each row
  naive,            // a kernel over the flat output, an element a lane
  circular_shift,   // the same, each row turned so that lanes and lines agree
  masked,           // warps walk rows from the line boundary before them
  vector,           // as naive, with loads of more bytes
  address_ordered,  // rows of several mini-batches sorted by address, masked, widest loads; output as asked
  graphbolt,        // GraphBolt's own kernel: a mini-batch sorted, masked, widest loads
};
inline constexpr Mode kAllModes[] = {Mode::cpu_gather, Mode::cpu_gather_dma,  Mode::row_dma,
                                     Mode::naive,      Mode::circular_shift,  Mode::masked,
                                     Mode::vector,     Mode::address_ordered, Mode::graphbolt};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Mode mode) {
  switch (mode) {
    case Mode::cpu_gather:
      return "cpu_gather";
    case Mode::cpu_gather_dma:
      return "cpu_gather_dma";
    case Mode::row_dma:
      return "row_dma";
    case Mode::naive:
      return "naive";
    case Mode::circular_shift:
      return "circular_shift";
    case Mode::masked:
      return "masked";
    case Mode::vector:
      return "vector";
    case Mode::address_ordered:
      return "address_ordered";
    case Mode::graphbolt:
      return "graphbolt";
  }
  return "?";
}
// A kernel reads the rows.
[[nodiscard]] constexpr bool is_kernel(Mode mode) {
  return mode != Mode::cpu_gather && mode != Mode::cpu_gather_dma && mode != Mode::row_dma;
}
// Rows are sorted by address first.
[[nodiscard]] constexpr bool sorts(Mode mode) {
  return mode == Mode::address_ordered || mode == Mode::graphbolt;
}
// It walks rows by gnn::Masked.
[[nodiscard]] constexpr bool walks_masked(Mode mode) {
  return mode == Mode::masked || mode == Mode::address_ordered;
}
// The widest load, in bytes, of a kernel of the mode that is not bound to an element.
[[nodiscard]] constexpr std::uint32_t widest_load(Mode mode, std::uint64_t row_bytes) {
  const std::uint32_t widest = widest_load(row_bytes);
  return walks_masked(mode) && widest < kStraddlingLoad ? kStraddlingLoad : widest;
}
// Whether a kernel of the mode may load units of `width` bytes from rows of elements of `element` bytes:
// naive and circular_shift load an element, sorted modes what is widest.
[[nodiscard]] constexpr bool may_load(Mode mode, std::uint64_t row_bytes, std::uint32_t element,
                                      std::uint32_t width) {
  if (!is_kernel(mode) || row_bytes % 2 != 0 || (width != 2 && width != 4 && width != 8 && width != 16) ||
      (row_bytes % width != 0 && width != widest_load(mode, row_bytes))) {
    return false;
  }
  if (sorts(mode)) {
    return width == widest_load(mode, row_bytes);
  }
  return mode == Mode::naive || mode == Mode::circular_shift ? width == element : width >= element;
}

enum class Store {
  pageable,   // for the CPU's gather
  pinned,     // page-locked, for the CPU's gather and for copies
  mapped,     // page-locked, read by kernels over the link
  managed,    // managed memory whose pages are on the host when a sample starts
  device,     // the GPU's own memory: all of the table
  tiered,     // the first rows on the GPU, the rest mapped
  multi_gpu,  // the first rows on each GPU, the next interleaved over GPUs, the rest mapped
};
inline constexpr Store kAllStores[] = {Store::pageable, Store::pinned, Store::mapped,   Store::managed,
                                       Store::device,   Store::tiered, Store::multi_gpu};
[[nodiscard]] constexpr const char* name(Store store) {
  switch (store) {
    case Store::pageable:
      return "pageable";
    case Store::pinned:
      return "pinned";
    case Store::mapped:
      return "mapped";
    case Store::managed:
      return "managed";
    case Store::device:
      return "device";
    case Store::tiered:
      return "tiered";
    case Store::multi_gpu:
      return "multi_gpu";
  }
  return "?";
}
// Whether a mode can read rows that live there.
[[nodiscard]] constexpr bool can_read(Mode mode, Store store) {
  const bool host_only = store == Store::pageable || store == Store::pinned;
  if (mode == Mode::cpu_gather) {
    return store == Store::pageable;
  }
  if (mode == Mode::row_dma) {
    return store == Store::pinned;
  }
  return mode == Mode::cpu_gather_dma ? host_only : !host_only;
}
// Some rows of it cross a link from the host.
[[nodiscard]] constexpr bool crosses_link(Store store) {
  return store != Store::device;
}

}  // namespace grainscope::gnn

#endif
