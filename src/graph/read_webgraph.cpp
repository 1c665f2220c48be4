// Graphs in WebGraph's format (Boldi and Vigna, WWW 2004): NAME.graph holds the lists of successors as a
// stream of bits, the most significant bit of a byte first, and NAME.properties says how they are coded.
//
// The list of vertex x: its length d. Where that is not 0, and the window is not 0, the number of a vertex
// x − r whose list it copies from; for r > 0 how many blocks follow, and the blocks: successors of x − r that
// are copied, that are not, that are, in turn, the first block as it is, others less 1; what is left behind
// the last block is copied where their number is even. Of what is still missing runs of consecutive
// successors: how many, of each where it begins and how long it is (less the least length); and the rest, by
// gaps. The first of either counts from x, signed (0, −1, 1, −2, … as 0, 1, 2, 3, …), others from the end of
// the one before. Lengths, blocks and runs are in γ, references in unary, the rest in ζ, unless
// `compressionflags` says otherwise.
// Limits: read by one thread, since every list may need the one before; neither Golomb nor nibble codes, nor
// the little-endian streams of other programs.

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files.hpp"
#include "grainscope/core/error.hpp"
#include "readers.hpp"

namespace grainscope::graph {
namespace {

enum class Code { unary, gamma, delta, zeta };

struct Properties {
  std::uint64_t vertices = 0;
  std::uint64_t arcs = 0;
  std::uint64_t window = 7;
  std::uint64_t least_run = 4;  // 0: there are no runs
  std::uint64_t zeta_k = 3;
  Code lengths = Code::gamma;
  Code references = Code::unary;
  Code block_counts = Code::gamma;
  Code blocks = Code::gamma;
  Code rest = Code::zeta;
};

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? std::string_view{}
                            : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// A Java properties file, as far as WebGraph writes one: a key and a value a line.
class PropertiesFile {
 public:
  explicit PropertiesFile(const std::string& path) {
    const BinaryFile file(path);
    constexpr std::uint64_t kMost = 1 << 20;
    if (file.bytes() > kMost) {
      throw UsageError(path + " has " + std::to_string(file.bytes()) +
                       " bytes; a graph's properties are few");
    }
    content_.resize(file.bytes());
    file.read(0, content_.data(), content_.size());
    text_ = {path, content_};
    for (std::string_view rest = content_; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      const std::size_t equals = line.find('=');
      if (!trimmed(line).starts_with('#') && equals != line.npos) {
        values_[trimmed(line.substr(0, equals))] = trimmed(line.substr(equals + 1));
      }
    }
  }

  [[nodiscard]] Properties properties() const {
    const std::string_view kind = word("graphclass");
    if (!kind.ends_with("BVGraph")) {
      refuse_value("graphclass", "graphs of it.unimi.dsi.webgraph.BVGraph are read");
    }
    if (word("version") != "0" && !word("version").empty()) {
      refuse_value("version", "version 0, big-endian, is read");
    }
    Properties properties;
    properties.vertices = number("nodes", UINT32_MAX, {});
    if (properties.vertices == 0) {
      refuse_value("nodes", "a graph has at least one vertex");
    }
    properties.arcs = number("arcs", properties.vertices * properties.vertices, {});
    properties.window = number("windowsize", UINT32_MAX, properties.window);
    properties.least_run = number("minintervallength", UINT32_MAX, properties.least_run);
    properties.zeta_k = number("zetak", 16, properties.zeta_k);
    if (properties.zeta_k == 0) {
      refuse_value("zetak", "a code of it has at least one bit");
    }
    read_flags(properties);
    return properties;
  }

 private:
  [[nodiscard]] std::string_view word(std::string_view key) const {
    const auto place = values_.find(key);
    return place == values_.end() ? std::string_view{} : place->second;
  }
  [[noreturn]] void refuse_value(const std::string& key, const std::string& why) const {
    const std::string_view value = word(key);
    if (value.empty()) {
      throw UsageError(text_.name + ": " + key + " is missing: " + why);
    }
    refuse(text_, value.data(), key + "=" + quoted(value.data(), value.data() + value.size()) + ": " + why);
  }
  [[nodiscard]] std::uint64_t number(const std::string& key, std::uint64_t most,
                                     std::optional<std::uint64_t> otherwise) const {
    const std::string_view value = word(key);
    if (value.empty() && otherwise) {
      return *otherwise;
    }
    std::uint64_t result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (value.empty() || error != std::errc{} || end != value.data() + value.size() || result > most) {
      refuse_value(key, "a whole number from 0 to " + std::to_string(most) + " should stand there");
    }
    return result;
  }

  // "OUTDEGREES_DELTA | RESIDUALS_GAMMA"; offsets are of a file that is not read.
  void read_flags(Properties& properties) const {
    const std::array<std::pair<std::string_view, Code*>, 5> parts{{{"OUTDEGREES_", &properties.lengths},
                                                                   {"REFERENCES_", &properties.references},
                                                                   {"BLOCK_COUNT_", &properties.block_counts},
                                                                   {"BLOCKS_", &properties.blocks},
                                                                   {"RESIDUALS_", &properties.rest}}};
    constexpr std::array<std::pair<std::string_view, Code>, 4> kCodes{
        {{"UNARY", Code::unary}, {"GAMMA", Code::gamma}, {"DELTA", Code::delta}, {"ZETA", Code::zeta}}};
    std::string_view rest = word("compressionflags");
    while (!rest.empty()) {
      const std::size_t bar = rest.find('|');
      const std::string_view flag = trimmed(rest.substr(0, bar));
      rest = bar == rest.npos ? std::string_view{} : rest.substr(bar + 1);
      bool known = flag.starts_with("OFFSETS_") || flag.empty();
      for (const auto& [part, code] : parts) {
        for (const auto& [name, value] : kCodes) {
          if (flag.starts_with(part) && flag.substr(part.size()) == name) {
            *code = value;
            known = true;
          }
        }
      }
      if (!known) {
        refuse_value("compressionflags",
                     "'" + std::string(flag) + "' is not read: codes are UNARY, GAMMA, DELTA and ZETA");
      }
    }
  }

  std::string content_;
  Text text_;
  std::map<std::string_view, std::string_view> values_;
};

// Numbers of a stream of bits. Throws UsageError, with the byte, where it ends too early or a number is
// larger than any can be.
class Bits {
 public:
  Bits(const BinaryFile& file, const HostBytes& bytes, std::uint64_t zeta_k)
      : file_(file), bytes_(bytes), bits_(8 * bytes.bytes()), zeta_k_(zeta_k) {}

  void begin_list(std::uint64_t vertex) { vertex_ = vertex; }

  [[nodiscard]] std::uint64_t take(Code code) {
    switch (code) {
      case Code::unary:
        return unary();
      case Code::gamma:
        return natural(unary()) - 1;
      case Code::delta:
        return natural(natural(unary()) - 1) - 1;
      case Code::zeta:
        return zeta();
    }
    return 0;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    file_.refuse(at_ / 8, "in the list of vertex " + std::to_string(vertex_) + ": " + what);
  }

 private:
  static constexpr std::uint64_t kSure = 57;  // bits that are in a word, wherever it begins

  // From the bit `at_`, the next one on top; zeros behind the stream's end.
  [[nodiscard]] std::uint64_t word() const {
    const std::uint64_t byte = at_ / 8;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + byte, std::min<std::uint64_t>(sizeof(word), bytes_.bytes() - byte));
    return __builtin_bswap64(word) << (at_ % 8);
  }
  void advance(std::uint64_t bits) {
    if (bits_ - at_ < bits) {
      at_ = bits_;
      refuse("the file ends here: it is cut off");
    }
    at_ += bits;
  }
  std::uint64_t unary() {
    std::uint64_t zeros = 0;
    for (;;) {
      if (at_ == bits_) {
        advance(1);
      }
      const auto here = static_cast<std::uint64_t>(std::countl_zero(word()));
      if (here < kSure) {
        advance(here + 1);
        return zeros + here;
      }
      advance(std::min(kSure, bits_ - at_));
      zeros += kSure;
    }
  }
  std::uint64_t fixed(std::uint64_t bits) {
    if (bits > kSure) {
      refuse("a number of " + std::to_string(bits) + " bits stands where a vertex or a length should");
    }
    const std::uint64_t value = bits == 0 || at_ == bits_ ? 0 : word() >> (64 - bits);
    advance(bits);
    return value;
  }
  // A number above 0 that is `bits` bits longer than 1.
  std::uint64_t natural(std::uint64_t bits) {
    const std::uint64_t below = fixed(bits);
    return std::uint64_t{1} << bits | below;
  }
  std::uint64_t zeta() {
    const std::uint64_t h = unary();
    if (h * zeta_k_ + zeta_k_ > kSure) {
      refuse("a number of " + std::to_string(h * zeta_k_) + " bits stands where a vertex should");
    }
    const std::uint64_t left = std::uint64_t{1} << (h * zeta_k_);
    const std::uint64_t value = fixed(h * zeta_k_ + zeta_k_ - 1);
    return value < left ? value + left - 1 : (value << 1) + fixed(1) - 1;
  }

  const BinaryFile& file_;
  const HostBytes& bytes_;
  std::uint64_t bits_;
  std::uint64_t zeta_k_;
  std::uint64_t at_ = 0;
  std::uint64_t vertex_ = 0;
};

class Lists {
 public:
  Lists(const Properties& properties, Bits& bits) : properties_(properties), bits_(bits) {
    graph_.directed = true;
    graph_.offsets = HostArray<Edge>(properties.vertices + 1);
    graph_.targets = HostArray<Vertex>(properties.arcs);
  }

  Csr read() {
    graph_.offsets[0] = 0;
    for (std::uint64_t v = 0; v < properties_.vertices; ++v) {
      bits_.begin_list(v);
      read_list(v);
    }
    const Edge found = graph_.offsets[properties_.vertices];
    if (found != properties_.arcs) {
      bits_.refuse("the lists hold " + std::to_string(found) + " arcs, with " +
                   std::to_string(properties_.arcs) + " declared");
    }
    return std::move(graph_);
  }

 private:
  void read_list(std::uint64_t v) {
    const std::uint64_t begin = graph_.offsets[v];
    const std::uint64_t length = bits_.take(properties_.lengths);
    if (length > properties_.arcs - begin) {
      bits_.refuse(std::to_string(length) + " successors, with " + std::to_string(properties_.arcs) +
                   " arcs declared of which " + std::to_string(begin) + " have been read");
    }
    graph_.offsets[v + 1] = begin + length;
    if (length == 0) {
      return;
    }
    copied_.clear();
    others_.clear();
    if (properties_.window > 0) {
      read_copied(v, length);
    }
    if (copied_.size() < length && properties_.least_run > 0) {
      read_runs(v, length);
    }
    const std::size_t runs = others_.size();
    read_rest(v, length - copied_.size() - runs);
    std::inplace_merge(others_.begin(), others_.begin() + static_cast<std::ptrdiff_t>(runs), others_.end());
    Vertex* const list = graph_.targets.data() + begin;
    std::merge(copied_.begin(), copied_.end(), others_.begin(), others_.end(), list);
    if (const Vertex* twice = std::adjacent_find(list, list + length); twice != list + length) {
      bits_.refuse("successor " + std::to_string(*twice) + " is there twice");
    }
  }

  void read_copied(std::uint64_t v, std::uint64_t length) {
    const std::uint64_t reference = bits_.take(properties_.references);
    if (reference > std::min(v, properties_.window)) {
      bits_.refuse("it copies from the list " + std::to_string(reference) + " before it; the window has " +
                   std::to_string(properties_.window));
    }
    if (reference == 0) {
      return;
    }
    const auto list = graph_.neighbours(static_cast<Vertex>(v - reference));
    const std::uint64_t blocks = bits_.take(properties_.block_counts);
    std::uint64_t place = 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::uint64_t size = bits_.take(properties_.blocks) + (block == 0 ? 0 : 1);
      if (size > list.size() - place) {
        bits_.refuse("a block goes beyond the list that it copies from");
      }
      copy(list.subspan(place, block % 2 == 0 ? size : 0));
      place += size;
    }
    copy(list.subspan(place, blocks % 2 == 0 ? list.size() - place : 0));
    if (copied_.size() > length) {
      bits_.refuse(std::to_string(copied_.size()) + " successors are copied into a list of " +
                   std::to_string(length));
    }
  }
  void copy(std::span<const Vertex> part) { copied_.insert(copied_.end(), part.begin(), part.end()); }

  void read_runs(std::uint64_t v, std::uint64_t length) {
    const std::uint64_t runs = bits_.take(Code::gamma);
    std::uint64_t next = 0;
    for (std::uint64_t run = 0; run < runs; ++run) {
      next = run == 0 ? from(v, bits_.take(Code::gamma)) : next + bits_.take(Code::gamma) + 1;
      const std::uint64_t size = bits_.take(Code::gamma) + properties_.least_run;
      if (size > length - copied_.size() - others_.size()) {
        bits_.refuse("a run of " + std::to_string(size) + " successors is longer than what is missing");
      }
      require_vertex_below(next, size);
      for (std::uint64_t i = 0; i < size; ++i) {
        others_.push_back(static_cast<Vertex>(next + i));
      }
      next += size;
    }
  }

  void read_rest(std::uint64_t v, std::uint64_t count) {
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t gap = bits_.take(properties_.rest);
      next = i == 0 ? from(v, gap) : next + gap + 1;
      require_vertex_below(next, 1);
      others_.push_back(static_cast<Vertex>(next));
    }
  }

  // `code` counts 0, −1, 1, −2, … from a vertex; below 0 it comes out far above all vertices.
  static std::uint64_t from(std::uint64_t vertex, std::uint64_t code) {
    return (code & 1U) == 0 ? vertex + code / 2 : vertex - (code + 1) / 2;
  }
  void require_vertex_below(std::uint64_t first, std::uint64_t count) const {
    if (first >= properties_.vertices || count > properties_.vertices - first) {
      bits_.refuse("successor " + std::to_string(static_cast<std::int64_t>(first + count - 1)) +
                   " is no vertex; there are " + std::to_string(properties_.vertices));
    }
  }

  const Properties& properties_;
  Bits& bits_;
  Csr graph_;
  std::vector<Vertex> copied_;
  std::vector<Vertex> others_;
};

}  // namespace

std::uint64_t webgraph_vertices(const std::string& stem) {
  return PropertiesFile(stem + ".properties").properties().vertices;
}

Csr read_webgraph(const std::string& stem, const ReadOptions& options) {
  if (options.weights) {
    throw_no_weights(stem + ".graph");
  }
  const Properties properties = PropertiesFile(stem + ".properties").properties();
  const BinaryFile file(stem + ".graph");
  // Of every list at least its length is there, a bit at least.
  if (properties.vertices > 8 * file.bytes()) {
    file.refuse(file.bytes(), "the file ends here: " + std::to_string(properties.vertices) +
                                  " lists are declared, which take a bit each at least; it is cut off");
  }
  const HostBytes bytes = HostBytes::map_file(file.path(), 0, file.bytes());
  Bits bits(file, bytes, properties.zeta_k);
  Csr graph = Lists(properties, bits).read();
  if (first_list_fault(graph)) {  // self-loops, as crawls have them
    graph = build_csr(edges_of(std::move(graph)), {.symmetrise = false});
  }
  graph.directed = options.directed || first_unpaired(graph).has_value();
  return graph;
}

}  // namespace grainscope::graph
