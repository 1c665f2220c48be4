// `grainscope graph describe`.

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "grainscope/core/units.hpp"
#include "grainscope/graph/io.hpp"
#include "graph_command.hpp"

namespace grainscope::harness {
namespace {

using graph::Csr;
using graph::Description;
using nlohmann::json;

// What the arrays of a graph take where a GPU reads them.
struct Memory {
  std::uint64_t offsets;
  std::uint64_t edges_4;
  std::uint64_t edges_8;
  std::uint64_t weights;
};
Memory memory_of(const Csr& csr) {
  return {8 * (csr.vertices() + std::uint64_t{1}), 4 * csr.edges(), 8 * csr.edges(), 4 * csr.edges()};
}

std::string number(double value, const char* format) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string percent(double part, double whole) {
  return number(whole == 0 ? 0 : 100 * part / whole, "%.1f %%");
}

// "16777216" as "16,777,216"
std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t place = text.size(); place > 3;) {
    place -= 3;
    text.insert(place, ",");
  }
  return text;
}

std::string line(const std::string& label, const std::string& value) {
  return "  " + label + std::string(label.size() < 22 ? 22 - label.size() : 1, ' ') + value + "\n";
}

std::string edges_text(const Csr& csr) {
  return csr.directed ? grouped(csr.edges()) + ", directed"
                      : grouped(csr.edges() / 2) + ", undirected: " + grouped(csr.edges()) + " entries";
}

std::string lengths_text(const Csr& csr, const Description& description) {
  std::string text = "\n  entries in lists of at most\n";
  for (std::size_t i = 0; i < description.entries_up_to.size(); ++i) {
    const std::string length = grouped(std::uint64_t{1} << i);
    text += std::string(length.size() < 20 ? 20 - length.size() : 1, ' ') + length + "  " +
            percent(static_cast<double>(description.entries_up_to[i]), static_cast<double>(csr.edges())) +
            "\n";
  }
  return text;
}

std::string as_text(const Csr& csr, const Description& description) {
  const graph::Degrees& degrees = description.degrees;
  const auto entries = static_cast<double>(csr.edges());
  const auto vertices = static_cast<double>(csr.vertices());
  const Memory memory = memory_of(csr);
  std::string text = csr.name + "\n";
  text += line("vertices", grouped(csr.vertices()));
  text += line("edges", edges_text(csr));
  text += line("without an edge",
               grouped(degrees.zero) + " vertices, " + percent(static_cast<double>(degrees.zero), vertices));
  text += line("degree", "mean " + number(degrees.mean, "%.2f") + ", least " + grouped(degrees.least) +
                             ", median " + grouped(degrees.median) + ", 99th percentile " +
                             grouped(degrees.p99) + ", most " + grouped(degrees.most));
  text += line("components", description.components ? grouped(*description.components)
                                                    : "not counted: the graph is directed");
  text += line("mean |u - v|", number(description.mean_distance, "%.1f") + ", " +
                                   percent(description.mean_distance, vertices) + " of the vertices");
  text += line(
      "in lists below 128 B",
      percent(static_cast<double>(description.entries_below_line_4), entries) + " of 4-byte entries, " +
          percent(static_cast<double>(description.entries_below_line_8), entries) + " of 8-byte entries");
  text += line("memory", "offsets " + format_bytes(memory.offsets) + ", 4-byte edges " +
                             format_bytes(memory.edges_4) + ", 8-byte edges " + format_bytes(memory.edges_8) +
                             ", weights " + format_bytes(memory.weights));
  return text + lengths_text(csr, description);
}

std::string as_json(const Csr& csr, const Description& description) {
  const graph::Degrees& degrees = description.degrees;
  const Memory memory = memory_of(csr);
  json lengths = json::array();
  for (std::size_t i = 0; i < description.entries_up_to.size(); ++i) {
    lengths.push_back({{"at_most", std::uint64_t{1} << i}, {"entries", description.entries_up_to[i]}});
  }
  const json result{
      {"graph", csr.name},
      {"vertices", csr.vertices()},
      {"entries", csr.edges()},
      {"directed", csr.directed},
      {"degree",
       {{"mean", degrees.mean},
        {"least", degrees.least},
        {"median", degrees.median},
        {"p99", degrees.p99},
        {"most", degrees.most},
        {"zero", degrees.zero}}},
      {"components", description.components ? json(*description.components) : json()},
      {"mean_distance", description.mean_distance},
      {"entries_in_lists", lengths},
      {"entries_in_lists_below_128_bytes",
       {{"4", description.entries_below_line_4}, {"8", description.entries_below_line_8}}},
      {"bytes",
       {{"offsets", memory.offsets},
        {"edges_4", memory.edges_4},
        {"edges_8", memory.edges_8},
        {"weights", memory.weights}}},
  };
  return result.dump(2) + "\n";
}

}  // namespace

std::string describe_graph(const DescribeOptions& options) {
  const Csr csr = graph_named(options.graph, false, options.directed);
  const Description description = graph::describe(csr);
  return options.json ? as_json(csr, description)
                      : as_text(csr, description) + numbering_note(csr, options.graph);
}

}  // namespace grainscope::harness
