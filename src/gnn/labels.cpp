// Labels and training ids: read from texts and NumPy arrays, checked, and chosen from.

#include "grainscope/gnn/labels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../graph/files.hpp"
#include "../graph/text.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "npy.hpp"

namespace grainscope::gnn {
namespace {

using graph::BinaryFile;
using graph::Cursor;
using graph::Text;
using graph::TextFault;
using graph::Vertex;

constexpr NpyKind kLabelFile{"file of labels",
                             "whole numbers ('<i8', '<i4', …) and float32 and float64 ('<f4', '<f8') are "
                             "read"};
constexpr NpyKind kIdFile{"file of training ids", "whole numbers ('<i8', '<i4', '<u4', …) are read"};
constexpr std::uint64_t kMostId = UINT32_MAX - std::uint64_t{1};

// A number as a file has it, before it is judged.
using Number = double;  // exact for all that can be right

bool is_npy(const std::string& path) {
  return path.ends_with(".npy");
}

std::uint64_t elements_of(const BinaryFile& file, const NpyKind& kind, const NpyHeader& header) {
  const std::vector<std::uint64_t>& shape = header.shape;
  if (shape.size() != 1 && !(shape.size() == 2 && shape[1] == 1)) {
    kind.refuse(file.path(), "an array of shape " + text_of_shape(shape) +
                                 "; a number for each is of one dimension, or of one column");
  }
  if (shape[0] > UINT32_MAX) {
    kind.refuse(file.path(), std::to_string(shape[0]) + " numbers; a graph has 2^32 - 1 vertices at most");
  }
  return shape[0];
}

template <class T>
void read_elements(const BinaryFile& file, const NpyHeader& header, std::vector<Number>& numbers) {
  file.for_elements<T>(header.array_at, numbers.size(),
                       [&](std::uint64_t first, const T* elements, std::uint64_t n) {
                         std::transform(elements, elements + n, numbers.data() + first,
                                        [](T element) { return static_cast<Number>(element); });
                       });
}

std::vector<Number> read_npy(const std::string& path, const NpyKind& kind, bool with_reals) {
  const BinaryFile file(path, kind.what);
  const NpyHeader header = read_npy_header(file, kind);
  const std::uint64_t count = elements_of(file, kind, header);
  std::vector<Number> numbers;
  bool known = false;
  const auto read = [&]<class T>(T /*of this type*/, std::string_view descr) {
    if (known || header.descr != descr || (std::is_floating_point_v<T> && !with_reals)) {
      return;
    }
    known = true;
    require_npy_end(file, kind, header, count * sizeof(T));
    numbers.resize(count);
    read_elements<T>(file, header, numbers);
  };
  read(std::int64_t{}, "<i8");
  read(std::uint64_t{}, "<u8");
  read(std::int32_t{}, "<i4");
  read(std::uint32_t{}, "<u4");
  read(std::int16_t{}, "<i2");
  read(std::uint16_t{}, "<u2");
  read(std::int8_t{}, "|i1");
  read(std::uint8_t{}, "|u1");
  read(float{}, "<f4");
  read(double{}, "<f8");
  if (!known) {
    kind.refuse(path, "its elements are '" + shown(header.descr) + "'; " + kind.reads);
  }
  return numbers;
}

// One number a line, by all threads; `take` reads it and may throw TextFault.
template <class Take>
std::vector<Number> read_lines(const std::string& path, const NpyKind& kind, const Take& take) {
  const BinaryFile file(path, kind.what);
  const HostBytes bytes = HostBytes::map_file(path, 0, file.bytes());
  const Text text{path, {reinterpret_cast<const char*>(bytes.data()), bytes.bytes()}};
  const std::vector<std::string_view> chunks = graph::cut_at_lines(text.bytes);
  std::vector<std::vector<Number>> found(chunks.size());
  graph::for_chunks(text, chunks.size(), [&](std::uint64_t i) {
    for (Cursor cursor(chunks[i]); !cursor.at_end();) {
      graph::skip_blanks(cursor);
      if (!cursor.at_end() && *cursor.at == '#') {
        graph::next_line(cursor);
        continue;
      }
      found[i].push_back(take(cursor));
      graph::take_line_end(cursor, "one number");
    }
  });
  std::vector<Number> numbers;
  for (const std::vector<Number>& each : found) {
    numbers.insert(numbers.end(), each.begin(), each.end());
  }
  return numbers;
}

Number take_label(Cursor& cursor) {
  const char* const begin = cursor.at;
  if (cursor.at_line_end()) {
    throw TextFault{begin, "the line is empty: a vertex without a label has -1 or nan"};
  }
  Cursor ahead = cursor;
  const std::string_view word = graph::take_word(ahead, "label");
  if (word == "-1" || word == "nan" || word == "NaN") {
    cursor = ahead;
    return kNoLabel;
  }
  return static_cast<Number>(graph::take_whole_real(cursor, "label", INT32_MAX));
}

std::string text_of(Number number) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

// "labels.npy: element 3" of an array, counted from 0; of a text a line's place has been told already.
[[noreturn]] void refuse_element(const NpyKind& kind, const std::string& path, std::uint64_t element,
                                 const std::string& why) {
  kind.refuse(path, "element " + std::to_string(element) + ": " + why);
}

std::string size_of(const std::string& graph, Vertex vertices) {
  return "the graph " + graph + " has " + std::to_string(vertices) + " vertices";
}

void require_different(const std::string& path, const std::vector<Vertex>& sorted) {
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    kIdFile.refuse(path, "the training id " + std::to_string(*twice) + " is there twice");
  }
}

}  // namespace

std::vector<std::int32_t> read_labels(const std::string& path) {
  const std::vector<Number> numbers =
      is_npy(path) ? read_npy(path, kLabelFile, true) : read_lines(path, kLabelFile, take_label);
  std::vector<std::int32_t> labels(numbers.size());
  bool any = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Number number = std::isnan(numbers[i]) ? kNoLabel : numbers[i];
    if (number < kNoLabel || number > INT32_MAX || number != std::floor(number)) {
      refuse_element(kLabelFile, path, i,
                     text_of(number) + " is no label: 0 to 2147483647, or -1 or nan where there is none");
    }
    labels[i] = static_cast<std::int32_t>(number);
    any |= labels[i] != kNoLabel;
  }
  if (!any) {
    kLabelFile.refuse(path, "no vertex has a label");
  }
  return labels;
}

void require_label_for_each(const std::string& path, std::uint64_t labels, Vertex vertices,
                            const std::string& graph) {
  if (labels != vertices) {
    kLabelFile.refuse(path, std::to_string(labels) + " labels; " + size_of(graph, vertices) +
                                ", and each needs one, -1 or nan where it has none");
  }
}

std::vector<Vertex> read_train_ids(const std::string& path) {
  const std::vector<Number> numbers =
      is_npy(path) ? read_npy(path, kIdFile, false) : read_lines(path, kIdFile, [](Cursor& cursor) {
        return static_cast<Number>(graph::take_number(cursor, "training id", kMostId));
      });
  std::vector<Vertex> ids(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] > static_cast<Number>(kMostId)) {
      refuse_element(kIdFile, path, i, text_of(numbers[i]) + " is no vertex");
    }
    ids[i] = static_cast<Vertex>(numbers[i]);
  }
  if (ids.empty()) {
    kIdFile.refuse(path, "it is empty: training starts from at least one vertex");
  }
  std::sort(ids.begin(), ids.end());
  require_different(path, ids);
  return ids;
}

OwnLabels::OwnLabels(const std::string& labels, const std::string& train_ids)
    : labels_path_(labels), ids_path_(train_ids) {
  std::vector<std::int32_t> label_of;
  if (!labels.empty()) {
    label_of = read_labels(labels);
    labels_ = label_of.size();
  }
  if (train_ids.empty()) {
    for (std::size_t v = 0; v < label_of.size(); ++v) {
      if (label_of[v] != kNoLabel) {
        chosen_.push_back(static_cast<Vertex>(v));
      }
    }
    return;
  }
  chosen_ = read_train_ids(train_ids);
  for (const Vertex id : chosen_) {
    if (!labels.empty() && (id >= label_of.size() || label_of[id] == kNoLabel)) {
      kIdFile.refuse(train_ids, "the training id " + std::to_string(id) + " has no label in " + labels);
    }
  }
}

std::string OwnLabels::stem() const {
  return std::filesystem::path(has_train_ids() ? ids_path_ : labels_path_).stem().string();
}

void OwnLabels::require_of(Vertex vertices, const std::string& graph) const {
  if (!labels_path_.empty()) {
    require_label_for_each(labels_path_, labels_, vertices, graph);
  }
  if (chosen_.back() >= vertices) {
    kIdFile.refuse(ids_path_, "the training id " + std::to_string(chosen_.back()) +
                                  " is no vertex: " + size_of(graph, vertices) + ", counted from 0");
  }
}

std::vector<Vertex> OwnLabels::trained_on(Vertex vertices, double percent, std::uint64_t seed) const {
  if (has_train_ids()) {
    return chosen_;
  }
  const std::uint64_t wanted = labelled_count(vertices, percent);
  if (wanted >= chosen_.size()) {
    return chosen_;
  }
  std::vector<Vertex> drawn =
      labelled_vertices(static_cast<Vertex>(chosen_.size()),
                        100 * static_cast<double>(wanted) / static_cast<double>(chosen_.size()), seed);
  std::transform(drawn.begin(), drawn.end(), drawn.begin(), [&](Vertex place) { return chosen_[place]; });
  return drawn;
}

std::vector<Vertex> trained_on(const graph::GraphSpec& spec, Vertex vertices, double percent,
                               std::uint64_t seed, const OwnLabels* own) {
  if (own != nullptr) {
    own->require_of(vertices, spec.name());
    return own->trained_on(vertices, percent, seed);
  }
  return spec.has_topics() ? graph::archived_papers(spec, labelled_count(vertices, percent))
                           : labelled_vertices(vertices, percent, seed);
}

}  // namespace grainscope::gnn
