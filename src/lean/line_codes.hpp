#ifndef GRAINSCOPE_SRC_LEAN_LINE_CODES_HPP
#define GRAINSCOPE_SRC_LEAN_LINE_CODES_HPP

// What lines of compressed lists are written in and read back by on the CPU (compressed_lists.hpp): gaps by
// blocks, or edges with weights. Both plan a line, as many neighbours as it has room for, write what was
// planned, and read it. `counted`: a line tells how many neighbours it holds.

#include <array>
#include <cstdint>
#include <span>

#include "grainscope/lean/compressed_lists.hpp"
#include "line_bits.hpp"

namespace grainscope::lean {

// Of a list what is to be compressed; weights or none.
struct ListRest {
  std::span<const graph::Vertex> ids;
  std::span<const graph::Weight> weights;

  [[nodiscard]] ListRest behind(std::size_t count) const {
    return {ids.subspan(count), weights.empty() ? weights : weights.subspan(count)};
  }
};

class GapLines {
 public:
  struct Plan {
    std::uint32_t count = 0;
    int bits = 0;
    std::array<std::uint8_t, kMostOfLine / kBlockElements> widths{};
  };

  explicit GapLines(const CompressedLists& lists) : id_bits_(lists.id_bits) {}
  // Of a list that has a neighbour.
  [[nodiscard]] Plan plan(const ListRest& list, bool counted) const;
  // `words`: cleared.
  void write(const ListRest& list, const Plan& line, bool counted, std::uint32_t* words) const;
  // A line of `count` neighbours, behind its count, goes to the end of `all`.
  void read(std::uint32_t count, BitReader& bits, Neighbours& all) const;

 private:
  int id_bits_;
};

class EdgeLines {
 public:
  struct Plan {
    std::uint32_t count = 0;
    int bits = 0;
    int width = 0;
  };

  explicit EdgeLines(const CompressedLists& lists) : id_bits_(lists.id_bits), weights_(lists.weights) {}
  [[nodiscard]] Plan plan(const ListRest& list, bool counted) const;
  void write(const ListRest& list, const Plan& line, bool counted, std::uint32_t* words) const;
  void read(std::uint32_t count, BitReader& bits, Neighbours& all) const;

 private:
  // Edge i of a list, behind another.
  [[nodiscard]] std::uint32_t number_of(const ListRest& list, std::size_t i) const {
    const std::uint32_t gap = list.ids[i] - list.ids[i - 1] - 1;
    return weights_.beside_bits > 0 ? gap : gap * weights_.range + (list.weights[i] - weights_.least);
  }

  int id_bits_;
  WeightCode weights_;
};

}  // namespace grainscope::lean

#endif
