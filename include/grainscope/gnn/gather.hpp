#ifndef GRAINSCOPE_GNN_GATHER_HPP
#define GRAINSCOPE_GNN_GATHER_HPP

// Gathers of rows from a feature store: where its rows live is a value, which rows are asked for is drawn
// or traced, and a gather is prepared, timed with all that its mode needs, and checked. A lookup of
// embedding bags adds up what it gathers.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::cuda {
class ManagedBudget;
class Stream;
}  // namespace grainscope::cuda
namespace grainscope::reach {
class SpanMemory;
}

namespace grainscope::gnn {

class FeatureTable;

struct StoreRequest {
  Store store = Store::mapped;
  std::uint32_t row_bytes = 128;       // even
  std::uint64_t span_bytes = 0;        // of the whole table, whatever part of it is where
  int gpu = 0;                         // that reads
  double hot_percent = 0;              // tiered: of the rows, on the GPU. multi_gpu: interleaved over `gpus`
  double replicated_percent = 0;       // multi_gpu: of the rows, in each GPU's own memory
  std::vector<int> gpus = {};          // multi_gpu: of the interleaved part, the reading one among them
  cuda::Hint hint = cuda::Hint::none;  // managed
};

// Which rows are where: of a table of all of `span_bytes`, in chunks on the host. Throws UsageError for rows
// that are no even number of bytes or do not fit, more than 100 percent, or no GPUs to interleave over.
[[nodiscard]] TableShape table_shape(const StoreRequest& request, std::uint64_t chunk_bytes);

// Bytes of the rows that are on the host, in the reading GPU's memory, and on each other GPU at most.
struct StoreBytes {
  std::uint64_t host = 0;
  std::uint64_t own = 0;
  std::uint64_t other = 0;
};
[[nodiscard]] StoreBytes store_bytes(const StoreRequest& request, std::uint64_t chunk_bytes);

class FeatureStore {
 public:
  virtual ~FeatureStore() = default;
  FeatureStore(const FeatureStore&) = delete;
  FeatureStore& operator=(const FeatureStore&) = delete;

  [[nodiscard]] const StoreRequest& request() const noexcept { return request_; }
  // As the reading GPU addresses it; of `pageable` and `pinned` as the host does.
  [[nodiscard]] const TableView& view() const noexcept { return view_; }
  [[nodiscard]] const TableShape& shape() const noexcept { return view_.shape; }
  // What its rows hold, where that is a file's; null: the patterns of its shape's tiers.
  [[nodiscard]] virtual const Features* features() const { return nullptr; }
  // Of a tiered or multi_gpu one: seconds of copying as many bytes from the table's page-locked memory as
  // GPUs have of it, one GPU after another; nothing where there is no such memory, or no such rows.
  [[nodiscard]] std::optional<double> fill_s() const noexcept { return fill_s_; }
  // Before a sample, untimed: pages of a managed table go back to the host, and that is proved. Else nothing.
  virtual void make_cold() {}
  // Whether a gather begins with work of the store's, and the enqueuing of it, timed: under Hint::prefetch
  // all of a managed table goes to the GPU, within the call. Else nothing.
  [[nodiscard]] virtual bool begins() const { return false; }
  virtual void begin(const cuda::Stream& stream) const { static_cast<void>(stream); }
  // Of a managed table, after a sample: bytes that have left the host, where the system tells. Throws
  // FailedError where some of one have that is to be read in place.
  [[nodiscard]] virtual std::optional<std::uint64_t> moved_bytes() const { return std::nullopt; }

 protected:
  explicit FeatureStore(StoreRequest request) : request_(std::move(request)) {}
  TableView view_;
  std::optional<double> fill_s_;

 private:
  StoreRequest request_;
};

// `host`: filled memory that outlives the store and that the GPU reads, large enough for the host's rows; of
// managed and device stores none. `budget`: of a managed one. Throws SkipError, with the numbers, where there
// is no room; UsageError as table_shape; in a build without CUDA always SkipError, but for `pageable`.
[[nodiscard]] std::unique_ptr<FeatureStore> make_feature_store(const StoreRequest& request,
                                                               const reach::SpanMemory* host,
                                                               cuda::ManagedBudget* budget);

// A `pageable` store of its own, on the node that the calling thread is bound to: no GPU is needed. Throws
// EnvironmentError where there is not so much memory.
[[nodiscard]] std::unique_ptr<FeatureStore> make_pageable_store(const StoreRequest& request);

// A `pageable` store that is a mapped file, its rows as they stand there.
[[nodiscard]] std::unique_ptr<FeatureStore> make_file_store(std::shared_ptr<const NpyFile> file);

// A pinned, mapped, tiered or device store over a page-locked table that outlives it and holds `features`; of
// a tiered one the first rows are copied to the GPU, of a device one all. Throws as make_feature_store, and
// UsageError for other stores.
[[nodiscard]] std::unique_ptr<FeatureStore> make_table_store(const StoreRequest& request,
                                                             const FeatureTable& table,
                                                             const Features& features);

enum class Indices {
  uniform,  // every row alike; repeats are kept
  zipf,     // row r about as often as 1 / (r + 1): low numbers are the hot rows; repeats are kept
  sampled,  // of mini-batches that neighbour sampling made
};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Indices indices) {
  switch (indices) {
    case Indices::uniform:
      return "uniform";
    case Indices::zipf:
      return "zipf";
    case Indices::sampled:
      return "sampled";
  }
  return "?";
}

// Row ⌊(table_rows + 1)^u⌋ − 1 of u drawn uniformly from [0, 1): its logarithm is uniform, so row r comes
// with probability ln((r + 2) / (r + 1)) / ln(table_rows + 1). Zipf's law with exponent 1, smoothed.
[[nodiscard]] std::uint32_t zipf_row(std::uint64_t position, std::uint32_t table_rows, std::uint64_t seed);

// List number `list` of `count` rows of a table, of `seed`; all threads, and the same however many. `sampled`
// cannot be drawn: UsageError.
[[nodiscard]] std::vector<std::uint32_t> draw_rows(Indices indices, std::uint64_t count,
                                                   std::uint32_t table_rows, std::uint64_t seed, int list);

// Throws UsageError, naming the position and the row, where one is not in the table.
void require_in_table(std::span<const std::uint32_t> rows, std::uint32_t table_rows);

// Different rows of a list, all in the table, and those of them that lie on the host.
struct UniqueRows {
  std::uint64_t all = 0;
  std::uint64_t on_host = 0;
};
[[nodiscard]] UniqueRows unique_rows(std::span<const std::uint32_t> rows, const TableShape& table);

struct GatherRequest {
  Mode mode = Mode::masked;
  std::uint32_t width = 4;  // bytes of a load, of kernels
  int blocks = 0;           // of 256 threads at most; 0: as many as the GPU holds
  int threads = 1;          // that gather, of cpu_gather and cpu_gather_dma
  // GPUs that gather a share each over their own links, right into the memory of the GPU that asked: of
  // kernels and mapped stores, whose memory they read too.
  std::vector<int> neighbours = {};
};

// Which of `rows` rows of a list one of so many GPUs gathers: equal shares that begin at whole lines of the
// output, whatever a row is. Few rows are the first GPU's.
[[nodiscard]] Share share_of_gpu(std::uint64_t rows, std::size_t gpu, std::size_t gpus);

// What samples ask for, in turn: each list is a window of mini-batches behind one another, all of one length.
using RowLists = std::vector<std::vector<std::uint32_t>>;

// A gather of the next list in turn, in the order asked, into the GPU's memory (of cpu_gather into the
// host's). Before each sample the output is overwritten, and so is the GPU's L2 cache; after it the whole
// output is checked. Describes how long the sort takes alone (`sort_s`), of modes that sort, and of a managed
// store the bytes that left the host in a sample, the median, where the system tells (`link_bytes`).
// The store outlives the gather. Threads of the CPU's modes are bound to the CPUs of the calling one. Throws
// UsageError, naming it, for an index that is not in the table, for no lists or unequal ones, for a mode that
// cannot read the store or load so wide, or that no neighbour can help; SkipError where a GPU has no room for
// output, lists and sort, or a neighbour cannot reach the GPU that asked; in a build without CUDA SkipError,
// but for cpu_gather.
[[nodiscard]] std::unique_ptr<Operation> make_gather(FeatureStore& store, RowLists lists,
                                                     const GatherRequest& request);

// Bytes of the GPU's memory that a gather takes beside its store, about.
[[nodiscard]] std::uint64_t gather_bytes(Mode mode, std::uint64_t rows, std::uint64_t row_bytes,
                                         std::size_t lists);

// Embedding bags: what a recommender asks of its tables. A bag of a table is a few of its rows, added up.

struct BagRequest {
  std::uint32_t tables = 8;
  std::uint32_t bags = 4096;   // of each table in a batch
  std::uint32_t pooling = 20;  // rows of a bag
  [[nodiscard]] constexpr std::uint64_t outputs() const { return std::uint64_t{tables} * bags; }
  [[nodiscard]] constexpr std::uint64_t lookups() const { return outputs() * pooling; }
};

// Elements stand for numbers of 1 to 2 in steps of 1/256, told by the upper eight bits of their 32: sums of
// up to 32,768 of them are exact in float32, in any order.
inline constexpr std::uint32_t kMostPooled = 1 << 15;
[[nodiscard]] constexpr std::uint32_t bag_element_bits(std::uint32_t word) {
  return (word >> 9 & 0x007f8000U) | 0x3f800000U;
}

// Row numbers of a batch, [bags][tables][pooling]: row r of table t is row r × tables + t of the store, so
// that the hot rows of all tables come first. Drawn by `indices` from each table; list number `list`. Throws
// UsageError for no tables, bags or rows of a bag, more than kMostPooled of these, or fewer rows than tables.
[[nodiscard]] std::vector<std::uint32_t> draw_bags(const BagRequest& request, Indices indices,
                                                   std::uint32_t store_rows, std::uint64_t seed, int list);

// Timed and checked as a gather (gather.hpp): the next list in turn.
class BagLookup : public Operation {
 public:
  // For tests: the last output, f32[bags][tables][row_bytes / 4].
  [[nodiscard]] virtual std::vector<float> output() const = 0;
};

// The store, of rows of whole 16 bytes that kernels can read, outlives it. Throws as make_gather; in a build
// without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<BagLookup> make_bag_lookup(FeatureStore& store, const RowLists& lists,
                                                         const BagRequest& request);

}  // namespace grainscope::gnn

#endif
