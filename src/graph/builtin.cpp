// The graphs of benchmarks/graphs, which CMake packs (cmake/PackGraph.cmake says how) and compiles in.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/io.hpp"

namespace grainscope::graph {
namespace {

std::string_view text_of(const std::string& name) {
  if (name == "power") {
    return embedded::graphs::power();
  }
  if (name == "pgp") {
    return embedded::graphs::pgp();
  }
  throw UsageError("there is no graph '" + name + "' inside the program; there are power and pgp");
}

// The numbers of a packed text, one after the other.
class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : text_(text) {}

  [[nodiscard]] std::uint32_t next() {
    std::uint32_t number = 0;
    for (int shift = 0;; shift += 5) {
      const std::uint32_t digit = next_digit();
      number |= (digit & 31U) << shift;
      if (digit < 32) {
        return number;
      }
    }
  }

 private:
  std::uint32_t next_digit() {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    while (at_ < text_.size()) {
      if (const std::size_t digit = kDigits.find(text_[at_++]); digit != std::string_view::npos) {
        return static_cast<std::uint32_t>(digit);
      }
    }
    throw FailedError("a graph inside the program ends before its last list");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

template <class T>
HostArray<T> array_of(const std::vector<T>& values) {
  HostArray<T> array(values.size());
  std::copy(values.begin(), values.end(), array.begin());
  return array;
}

}  // namespace

Csr builtin_graph(const std::string& name) {
  Unpacker numbers(text_of(name));
  const std::uint32_t vertices = numbers.next();
  std::vector<Vertex> from;
  std::vector<Vertex> to;
  for (Vertex v = 0; v < vertices; ++v) {
    Vertex last = v;
    for (std::uint32_t left = numbers.next(); left > 0; --left) {
      last += 1 + numbers.next();
      from.push_back(v);
      to.push_back(last);
    }
  }
  Csr graph = build_csr({vertices, array_of(from), array_of(to), {}}, {.symmetrise = true});
  graph.name = name;
  return graph;
}

}  // namespace grainscope::graph
