#ifndef GRAINSCOPE_GNN_FEATURES_HPP
#define GRAINSCOPE_GNN_FEATURES_HPP

// What the rows of a feature table hold, wherever they lie: a closed form, or the rows of a file.
// Source of the file's format (.npy): NumPy Enhancement Proposal 1, versions 1.0, 2.0 and 3.0.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/system/limits.hpp"

namespace grainscope::gnn {

// A row that no gather loads: a chunk of host memory has no more, and no row crosses chunks.
inline constexpr std::uint64_t kMostRowBytes = std::uint64_t{1} << 30;

// A feature table of one's own: a NumPy file, mapped into the address space and never read as a whole.
class NpyFile {
 public:
  // Reads the header and maps the array. Throws UsageError, in a sentence with the path, unless the file is
  // an array of float32 or float16 (little-endian), of two dimensions, none of them 0, row by row (C order),
  // with rows of at most kMostRowBytes and fewer than 2³² − 1 of them, and ends where the array ends;
  // EnvironmentError where it cannot be read or mapped. Of a malformed header no more is believed than the
  // file's own size bears out.
  explicit NpyFile(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Its name without folder and ending.
  [[nodiscard]] std::string stem() const;
  [[nodiscard]] std::uint32_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint32_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::uint32_t element() const noexcept { return element_; }  // bytes: 4 or 2
  [[nodiscard]] std::uint32_t row_bytes() const noexcept { return columns_ * element_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{rows_} * row_bytes(); }
  // Row after row, host, read-only. A file that is cut while it is mapped ends the process (SIGBUS).
  [[nodiscard]] const std::byte* data() const noexcept { return array_.data(); }
  [[nodiscard]] const std::byte* row(std::uint64_t row) const noexcept { return data() + row * row_bytes(); }

 private:
  std::string path_;
  std::uint32_t element_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t columns_ = 0;
  HostBytes array_;
};

// Throws UsageError, in a sentence with both numbers, unless the file has a row for every vertex of a graph.
void require_row_for_each(const NpyFile& file, std::uint64_t vertices, const std::string& graph);

inline constexpr std::uint64_t kFeatureSeed = 1;

class Features {
 public:
  // Row v holds feature(seed, v, ·), float32.
  explicit Features(std::uint32_t columns = 0, std::uint64_t seed = kFeatureSeed)
      : columns_(columns), seed_(seed) {}
  // Row v holds the file's row `vertex_of[v]`; without numbers row v. Throws UsageError unless there is one
  // for each of the file's rows, all of them in it.
  explicit Features(std::shared_ptr<const NpyFile> file, std::vector<graph::Vertex> vertex_of = {});

  // Null: a closed form.
  [[nodiscard]] const NpyFile* file() const noexcept { return file_.get(); }
  [[nodiscard]] std::uint32_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint32_t row_bytes() const noexcept {
    return columns_ * (file_ ? file_->element() : static_cast<std::uint32_t>(sizeof(float)));
  }
  // Of a file: where a row lies, host, row_bytes().
  [[nodiscard]] const std::byte* in_file(graph::Vertex row) const noexcept {
    return file_->row(number_in_file(row));
  }
  [[nodiscard]] graph::Vertex number_in_file(graph::Vertex row) const noexcept {
    return vertex_of_.empty() ? row : vertex_of_[row];
  }
  // A row in float32, whatever the file has: f32[columns].
  void read(graph::Vertex row, float* to) const;
  // The first `rows` rows as they are, one after another, by all threads.
  void fill(graph::Vertex rows, std::byte* to) const;
  // Of `found`, rows one after another: how many elements differ, bit for bit, from those of `rows`. All
  // threads.
  [[nodiscard]] std::uint64_t count_wrong(const std::byte* found, std::span<const graph::Vertex> rows) const;
  // What it is held against, for a row's `verification`: "the table's closed form" or "the mapped file".
  [[nodiscard]] std::string spoken() const { return file_ ? "the mapped file" : "the table's closed form"; }

 private:
  std::shared_ptr<const NpyFile> file_;
  std::vector<graph::Vertex> vertex_of_;
  std::uint32_t columns_ = 0;
  std::uint64_t seed_ = kFeatureSeed;
};

// How a file's features lie about 0, by up to some thousand of the rows given.
struct FeatureSpread {
  std::vector<double> means;  // f64[columns]
  double scale = 1;           // √(3 · mean square): 1 of what is uniform in [−1, 1)
};
// Throws UsageError, naming row and column of the file, where one is not finite, or where all that were
// looked at are 0. Of a file's features only.
[[nodiscard]] FeatureSpread spread_of(const Features& features, std::span<const graph::Vertex> rows);

// Throws SkipError, with both numbers, where so much host memory cannot be page-locked.
void require_lockable(std::uint64_t bytes, const AvailableMemory& available = available_memory());

}  // namespace grainscope::gnn

#endif
