// What --graph names.

#include <array>
#include <charconv>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"

namespace grainscope::graph {
namespace {

using Kind = GraphSpec::Kind;

constexpr int kLargestScale = 31;
constexpr int kLargestDegree = 4096;

struct Generated {
  Kind kind;
  const char* name;
  int degree;  // where none is named
};
constexpr std::array<Generated, 5> kGenerated{{{Kind::kron, "kron", 16},
                                               {Kind::urand, "urand", 16},
                                               {Kind::dense, "dense", 128},
                                               {Kind::web, "web", 16},
                                               {Kind::pareto, "pareto", 16}}};

struct Builtin {
  const char* name;
  std::uint64_t vertices;
  std::uint64_t entries;
};
constexpr std::array<Builtin, 2> kBuiltin{{{"power", 4941, 13188}, {"pgp", 10680, 48632}}};

const Generated* generated(const GraphSpec& spec) {
  for (const Generated& one : kGenerated) {
    if (one.kind == spec.kind) {
      return &one;
    }
  }
  return nullptr;
}

const Builtin* builtin(const std::string& name) {
  for (const Builtin& one : kBuiltin) {
    if (name == one.name) {
      return &one;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UsageError("'" + text + "' is no graph: " + why +
                   "; there are kron:SCALE, urand:SCALE, dense:SCALE, web:SCALE and pareto:SCALE (2^SCALE "
                   "vertices, SCALE 1 to " +
                   std::to_string(kLargestScale) + "), each with :DEGREE behind it where wished (1 to " +
                   std::to_string(kLargestDegree) + "), power, pgp and file:PATH");
}

int number(const std::string& text, const std::string& word, int most, const char* what) {
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < 1 || value > most) {
    refuse(text, std::string(what) + " '" + word + "' is not a number from 1 to " + std::to_string(most));
  }
  return value;
}

GraphSpec parse_generated(const std::string& text, const Generated& kind, const std::string& numbers) {
  const std::size_t colon = numbers.find(':');
  GraphSpec spec;
  spec.kind = kind.kind;
  spec.scale = number(text, numbers.substr(0, colon), kLargestScale, "the scale");
  spec.degree = colon == std::string::npos
                    ? kind.degree
                    : number(text, numbers.substr(colon + 1), kLargestDegree, "the degree");
  return spec;
}

}  // namespace

GraphSpec parse_graph_spec(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string first = text.substr(0, colon);
  if (colon == std::string::npos) {
    if (builtin(text) == nullptr) {
      refuse(text, "no graph of that name is inside the program");
    }
    return {Kind::builtin, 0, 0, text};
  }
  const std::string rest = text.substr(colon + 1);
  if (first == "file") {
    if (rest.empty()) {
      refuse(text, "the path is missing");
    }
    return {Kind::file, 0, 0, rest};
  }
  for (const Generated& one : kGenerated) {
    if (first == one.name) {
      return parse_generated(text, one, rest);
    }
  }
  refuse(text, "the kind '" + first + "' is unknown");
}

std::string GraphSpec::name() const {
  if (kind == Kind::builtin) {
    return path;
  }
  if (kind == Kind::file) {
    return graph_stem(path);
  }
  const Generated* const one = generated(*this);
  return one->name + std::to_string(scale) + (degree == one->degree ? "" : "_" + std::to_string(degree));
}

std::optional<std::uint64_t> GraphSpec::vertices() const {
  if (kind == Kind::file) {
    return std::nullopt;
  }
  const Builtin* const inside = kind == Kind::builtin ? builtin(path) : nullptr;
  return inside != nullptr ? inside->vertices : std::uint64_t{1} << scale;
}

std::optional<std::uint64_t> GraphSpec::most_entries() const {
  if (kind == Kind::file) {
    return std::nullopt;
  }
  const Builtin* const inside = kind == Kind::builtin ? builtin(path) : nullptr;
  const std::uint64_t drawn = static_cast<std::uint64_t>(degree) << scale;
  return inside != nullptr ? inside->entries : directed() ? drawn : 2 * drawn;
}

}  // namespace grainscope::graph
