#include "seeds.hpp"

#include <cstdint>

#include "npy_files.hpp"

namespace grainscope::test {
namespace {

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// A ring of eight with two chords, so that degrees differ.
struct Ring {
  std::vector<std::int64_t> offsets{0, 3, 6, 8, 10, 13, 16, 18, 20};
  std::vector<std::int32_t> targets{1, 4, 7, 0, 2, 5, 1, 3, 2, 4, 0, 3, 5, 1, 4, 6, 5, 7, 0, 6};
};

std::string serialised(bool directed, bool weights) {
  const Ring ring;
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(directed ? 1 : 0));
  put(bytes, static_cast<std::int64_t>(ring.targets.size()));
  put(bytes, static_cast<std::int64_t>(ring.offsets.size() - 1));
  for (int way = 0; way < (directed ? 2 : 1); ++way) {
    for (const std::int64_t offset : ring.offsets) {
      put(bytes, offset);
    }
    for (const std::int32_t target : ring.targets) {
      put(bytes, target);
      if (weights) {
        put(bytes, std::int32_t{7});
      }
    }
  }
  return bytes;
}

Specimen bel() {
  const Ring ring;
  std::string col;
  std::string dst;
  std::string val;
  const auto header = [](std::string& bytes, std::size_t count) {
    put(bytes, std::uint64_t{count});
    put(bytes, std::uint64_t{0});
  };
  header(col, ring.offsets.size());
  header(dst, ring.targets.size());
  header(val, ring.targets.size());
  for (const std::int64_t offset : ring.offsets) {
    put(col, offset);
  }
  for (const std::int32_t target : ring.targets) {
    put(dst, static_cast<std::uint64_t>(target));
    put(val, static_cast<std::uint32_t>(target + 3));
  }
  return {"g.bel", {{"g.bel.col", col}, {"g.bel.dst", dst}, {"g.bel.val", val}}, false};
}

std::string metis(bool weights, const char* header) {
  const Ring ring;
  std::string text = header;
  for (std::size_t v = 0; v + 1 < ring.offsets.size(); ++v) {
    for (auto i = ring.offsets[v]; i < ring.offsets[v + 1]; ++i) {
      text += std::to_string(ring.targets[static_cast<std::size_t>(i)] + 1) + (weights ? " 5 " : " ");
    }
    text += "\n";
  }
  return text;
}

std::string long_list() {
  std::string text;
  for (int i = 0; i < 30000; ++i) {
    text += std::to_string(i % 997) + " " + std::to_string(i % 1009) + "\n";
  }
  return text;
}

Specimen text(const char* name, std::string content) {
  return {name, {{name, std::move(content)}}, true};
}

}  // namespace

std::vector<Specimen> good_specimens() {
  const char* const el = "0 1\n1 2\n2 3\n3 0\n0 5\n7 7\n5 6\n";
  const char* const wel = "# c\n0 1 8\n1 2 72\r\n2 3 1\n3 0 255\n\n0 5 0\n";
  const char* const snap = "# Nodes: 4 Edges: 3\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n3\t0\n";
  const char* const pattern =
      "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n5 5 4\n2 1\n3 1\n5 4\n4 2\n";
  const char* const real =
      "%%MatrixMarket matrix coordinate real general\r\n5 5 3\r\n2 1 1.0\r\n3 1 2e1\r\n5 4 7\r\n";
  const char* const integer = "%%MatrixMarket matrix coordinate integer general\n4 4 2\n1 2 -3\n3 4 9\n";
  return {
      text("g.el", el),
      text("g.wel", wel),
      text("g.txt", snap),
      text("g.snap", wel),
      text("g.mtx", pattern),
      text("g.mtx", real),
      text("g.mtx", integer),
      text("g.graph", metis(false, "% c\n8 10\n")),
      text("g.graph", metis(true, "8 10 001\n")),
      text("g.graph", "4 3 011 2\n1 1 2 9 3 9\n2 2 1 9 4 9\n3 3 1 9\n4 4 2 9\n"),
      {"g.sg", {{"g.sg", serialised(false, false)}}, false},
      {"g.sg", {{"g.sg", serialised(true, false)}}, false},
      {"g.wsg", {{"g.wsg", serialised(false, true)}}, false},
      {"g.wsg", {{"g.wsg", serialised(true, true)}}, false},
      bel(),
      text("g.el", long_list()),
      {"t.npy", {{"t.npy", npy_table(9, 5)}}, false},
      {"t.npy", {{"t.npy", npy_table(9, 5, 2)}}, false},
      // The header as a text: its words are replaced by others.
      {"t.npy", {{"t.npy", npy_table(9, 5)}}, true},
      {"t.npy", {{"t.npy", npy_header(npy_dictionary("<f4", "(1, 4)"), '\3') + std::string(16, '\0')}}, true},
  };
}

}  // namespace grainscope::test
