// Tables that a GPU reads: on the host, in GPUs' memory, or partly in each; filled, and checked.

#include "gpu_tables.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/reach/span_memory.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/placement.hpp"
#include "pipelines.hpp"

namespace grainscope::gnn {

std::uint64_t count_unlike_file(const Features& features, const std::byte* out,
                                std::span<const graph::Vertex> rows, const cuda::Stream& stream) {
  constexpr std::uint64_t kPieceBytes = 16 * kMiB;
  const std::uint64_t row_bytes = features.row_bytes();
  const std::uint64_t rows_of_piece = std::clamp<std::uint64_t>(kPieceBytes / row_bytes, 1, rows.size() + 1);
  std::vector<std::byte> piece(rows_of_piece * row_bytes);
  std::uint64_t wrong = 0;
  for (std::uint64_t first = 0; first < rows.size(); first += rows_of_piece) {
    const auto here = rows.subspan(first, std::min<std::uint64_t>(rows_of_piece, rows.size() - first));
    cuda::check(cudaMemcpyAsync(piece.data(), out + first * row_bytes, here.size() * row_bytes,
                                cudaMemcpyDeviceToHost, stream.get()),
                "copy gathered rows back to the host");
    stream.synchronize();
    wrong += features.count_wrong(piece.data(), here);
  }
  return wrong;
}

// Seconds of copying `bytes` to memory of the current GPU from page-locked host memory in chunks, from the
// first again where they end, until all has arrived: the median of three. What filling a GPU's part of a
// table costs when its rows stand in order on the host.
double timed_fill_s(void* to, std::uint64_t bytes, std::span<const std::byte* const> chunks,
                    std::uint64_t chunk_bytes) {
  const cuda::Stream stream;
  std::array<double, 3> seconds{};
  for (double& each : seconds) {
    const double begun_s = steady_now_s();
    for (std::uint64_t done = 0, chunk = 0; done < bytes; done += chunk_bytes, ++chunk) {
      cuda::check(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, chunks[chunk % chunks.size()],
                                  std::min(chunk_bytes, bytes - done), cudaMemcpyHostToDevice, stream.get()),
                  "copy hot rows to the GPU");
    }
    stream.synchronize();
    each = steady_now_s() - begun_s;
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

namespace {

class MappedTable final : public FeatureTable {
 public:
  MappedTable(graph::Vertex vertices, const Features& features, const cuda::MappedRequest& memory,
              const cuda::Surroundings& surroundings)
      : FeatureTable(vertices, features),
        rows_(memory, whole_lines(std::uint64_t{vertices} * features.row_bytes()), surroundings) {
    features.fill(vertices, bytes());
  }
  [[nodiscard]] std::byte* bytes() const override { return static_cast<std::byte*>(rows_.host_data()); }
  [[nodiscard]] const std::byte* device_bytes() const override {
    return static_cast<const std::byte*>(rows_.device_data());
  }
  void expect_on_host() const override { rows_.expect_on_host(); }

 private:
  cuda::MappedMemory rows_;
};

const std::byte* as_the_gpu_reads(const FeatureTable& table, Store store) {
  if (store == Store::pageable || store == Store::pinned) {
    return table.bytes();
  }
  if (table.device_bytes() == nullptr) {
    throw UsageError("a GPU is to read a feature table that is not mapped for it");
  }
  return table.device_bytes();
}

}  // namespace

PlacedTable::PlacedTable(const FeatureTable& table, Store store, double hot_percent, int gpu,
                         const std::vector<int>& gpus, const std::byte* const* parts) {
  TableShape& shape = view_.shape;
  shape.row_bytes = static_cast<std::uint32_t>(table.row_bytes());
  shape.rows = table.vertices();
  const std::uint32_t hot = hot_rows(shape.rows, store, hot_percent);
  const bool spread = store == Store::multi_gpu;
  (spread ? shape.spread_rows : shape.local_rows) = hot;
  shape.by_chunk_rows = Divider(shape.rows);
  shape.chunk_bytes = shape.rows * table.row_bytes();
  if (shape.local_rows > 0) {
    place_local(table, gpu);
  }
  if (spread) {
    shape.by_gpus = Divider(static_cast<std::uint32_t>(gpus.size()));
    for (std::uint32_t part = 0; part < gpus.size(); ++part) {
      if (parts == nullptr) {
        place_part(table, part, gpus[part]);
      } else {
        view_.spread[part] = parts[part];
      }
      gpu_bytes_ += gpus[part] == gpu ? shape.spread_rows_of(part) * table.row_bytes() : 0;
    }
  }
  if (shape.host_rows() > 0) {
    // The host keeps all rows, GPUs copies of the first: what a row's place counts from is behind them.
    shape.host_begin = hot * table.row_bytes();
    view_.chunks[0] = as_the_gpu_reads(table, store) + shape.host_begin;
  }
}

void PlacedTable::place_local(const FeatureTable& table, int gpu) {
  const std::uint64_t bytes = view_.shape.local_rows * table.row_bytes();
  memory_.push_back(std::make_unique<cuda::DeviceBuffer>(gpu, whole_lines(bytes)));
  const std::byte* const rows = table.bytes();
  fill_s_ = timed_fill_s(memory_.back()->data(), bytes, {&rows, 1}, bytes);
  view_.local = static_cast<const std::byte*>(memory_.back()->data());
  gpu_bytes_ += memory_.back()->bytes();
}

void PlacedTable::place_part(const FeatureTable& table, std::uint32_t part, int gpu) {
  const std::uint64_t bytes = view_.shape.spread_rows_of(part) * table.row_bytes();
  memory_.push_back(std::make_unique<cuda::DeviceBuffer>(gpu, whole_lines(bytes)));
  void* const to = memory_.back()->data();
  view_.spread[part] = static_cast<const std::byte*>(to);
  fill_s_ += fill_part(table, view_.shape, part, gpu, to);
}

double fill_part(const FeatureTable& table, const TableShape& shape, std::uint32_t part, int gpu, void* to) {
  const std::uint64_t parts = shape.by_gpus.divisor;
  const std::uint64_t count = shape.spread_rows_of(part);
  const std::uint64_t row_bytes = table.row_bytes();
  if (count == 0) {
    return 0;
  }
  const cuda::DeviceGuard guard(gpu);
  const std::byte* const rows = table.bytes();
  const double seconds = timed_fill_s(to, count * row_bytes, {&rows, 1}, count * row_bytes);
  cuda::check(cudaMemcpy2D(to, row_bytes, rows + part * row_bytes, parts * row_bytes, row_bytes, count,
                           cudaMemcpyDefault),
              "copy a part of the hot rows to a GPU");
  return seconds;
}

std::unique_ptr<FeatureTable> make_mapped_table(graph::Vertex vertices, const Features& features,
                                                const cuda::MappedRequest& memory,
                                                const cuda::Surroundings& surroundings) {
  require_lockable(std::uint64_t{vertices} * features.row_bytes());
  return std::make_unique<MappedTable>(vertices, features, memory, surroundings);
}

// Tables that a GPU reads: on the host, in GPUs' memory, or partly in each.

namespace {

static_assert(kHostSeed == reach::kSpanSeed);
static_assert(kMostTableChunks == reach::kMostChunks);

constexpr std::size_t kAllPages = 0;

// mapped, pinned, device, tiered, multi_gpu: what is not on the host is copied to GPUs at construction.
class PlacedStore final : public FeatureStore {
 public:
  PlacedStore(const StoreRequest& request, const reach::SpanMemory* host) : FeatureStore(request) {
    const std::uint64_t chunk_bytes = host != nullptr ? host->request().chunk_bytes : request.span_bytes;
    view_.shape = table_shape(request, chunk_bytes);
    place_host(host);
    if (shape().local_rows > 0) {
      local_ = std::make_unique<cuda::DeviceBuffer>(
          request.gpu, whole_lines(std::uint64_t{shape().local_rows} * request.row_bytes));
      view_.local = static_cast<const std::byte*>(local_->data());
      fill(request.gpu, *local_, shape().local_rows, kLocalSeed, 0, 1);
    }
    for (std::uint32_t part = 0; part < shape().spread_rows && part < request.gpus.size(); ++part) {
      place_part(part);
    }
  }

  // Memory goes before the access to it, and accesses in the reverse order of their beginning.
  ~PlacedStore() override {
    parts_.clear();
    while (!access_.empty()) {
      access_.pop_back();
    }
  }

 private:
  void place_host(const reach::SpanMemory* host) {
    if (shape().host_rows() == 0) {
      return;
    }
    const std::uint64_t needed = store_bytes(request(), shape().chunk_bytes).host;
    if (host == nullptr || host->bytes() < needed) {
      throw UsageError("a table's rows on the host take " + format_bytes(needed) + "; the memory has " +
                       format_bytes(host == nullptr ? 0 : host->bytes()));
    }
    const bool by_cpu = request().store == Store::pinned;
    const auto as_bytes = [](const void* chunk) { return static_cast<const std::byte*>(chunk); };
    const std::vector<void*> chunks = by_cpu ? host->host_chunks() : host->device_chunks();
    std::transform(chunks.begin(), chunks.end(), view_.chunks, as_bytes);
    const std::vector<void*> sources = host->host_chunks();
    std::transform(sources.begin(), sources.end(), std::back_inserter(sources_), as_bytes);
  }

  void place_part(std::uint32_t part) {
    const int gpu = request().gpus[part];
    if (gpu != request().gpu) {
      access_.push_back(std::make_unique<cuda::PeerAccess>(request().gpu, gpu));
    }
    const std::uint32_t rows = shape().spread_rows_of(part);
    parts_.push_back(
        std::make_unique<cuda::DeviceBuffer>(gpu, whole_lines(std::uint64_t{rows} * request().row_bytes)));
    view_.spread[part] = static_cast<const std::byte*>(parts_.back()->data());
    fill(gpu, *parts_.back(), rows, kSpreadSeed, part, shape().by_gpus.divisor);
  }

  // By its pattern, which no host memory has; before that the same from host memory, for its time.
  void fill(int gpu, const cuda::DeviceBuffer& memory, std::uint32_t rows, std::uint32_t seed,
            std::uint32_t first, std::uint32_t step) {
    const cuda::DeviceGuard guard(gpu);
    if (!sources_.empty()) {
      const std::uint64_t bytes = std::uint64_t{rows} * request().row_bytes;
      fill_s_ = fill_s_.value_or(0) + timed_fill_s(memory.data(), bytes, sources_, shape().chunk_bytes);
    }
    const cuda::Stream stream;
    fill_rows(static_cast<std::byte*>(memory.data()), rows, request().row_bytes, seed, first, step, stream);
  }

  std::vector<const std::byte*> sources_;  // chunks on the host, of a table that is partly there
  std::unique_ptr<cuda::DeviceBuffer> local_;
  std::vector<std::unique_ptr<cuda::PeerAccess>> access_;
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> parts_;
};

class ManagedStore final : public FeatureStore {
 public:
  ManagedStore(const StoreRequest& request, cuda::ManagedBudget& budget)
      : FeatureStore(request), guard_(request.gpu), memory_(budget, request.gpu, whole_words(request)) {
    view_.shape = table_shape(request, request.span_bytes);
    view_.local = static_cast<const std::byte*>(memory_.data());
    fill_pattern(static_cast<std::uint32_t*>(memory_.data()), memory_.bytes() / sizeof(std::uint32_t),
                 kLocalSeed);
  }

  // The hint is given when the pages are where they are to be found: it would keep them from going there.
  void make_cold() override {
    cuda::take_back_hint(memory_.data(), memory_.bytes(), request().hint, request().gpu, stream_);
    if (const std::uint64_t elsewhere = bring_pages([this] { return bring_to_host(); }); elsewhere > 0) {
      throw FailedError("a managed table did not go back to the host before a sample: " +
                        std::to_string(elsewhere) + " of its pages are elsewhere");
    }
    cuda::give_hint(memory_.data(), memory_.bytes(), request().hint, request().gpu);
  }

  [[nodiscard]] bool begins() const override { return request().hint == cuda::Hint::prefetch; }
  void begin(const cuda::Stream& stream) const override {
    if (begins()) {
      cuda::check(
          cuda::prefetch(memory_.data(), memory_.bytes(), cuda::Location::gpu(request().gpu), stream.get()),
          "prefetch a managed table to the GPU");
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> moved_bytes() const override {
    const auto pages = presence();
    if (cuda::is_read_in_place(request().hint)) {
      if (!pages) {
        throw FailedError(
            "/proc/self/pagemap cannot be read: nothing shows that a managed table is read in place");
      }
      if (pages->absent > 0) {
        throw FailedError("a managed table that is to be read in place has left the host: " +
                          std::to_string(pages->absent) + " of its pages are elsewhere");
      }
    }
    return pages ? std::optional(pages->absent * base_page_bytes()) : std::nullopt;
  }

 private:
  // Pages that are elsewhere all the same; 0 where the system does not tell.
  std::uint64_t bring_to_host() {
    cuda::check(cuda::prefetch(memory_.data(), memory_.bytes(), cuda::Location::host(), stream_.get()),
                "bring a managed table back to the host");
    stream_.synchronize();
    // The host owns and maps a page only once it has written to it.
    auto* bytes = static_cast<volatile std::byte*>(memory_.data());
    const std::uint64_t page = base_page_bytes();
#pragma omp parallel for
    for (std::uint64_t at = 0; at < memory_.bytes(); at += page) {
      bytes[at] = bytes[at];
    }
    const auto pages = presence();
    return pages ? pages->absent : 0;
  }
  static std::uint64_t whole_words(const StoreRequest& request) {
    return (request.span_bytes + 3) / sizeof(std::uint32_t) * sizeof(std::uint32_t);
  }
  [[nodiscard]] std::optional<PagePresence> presence() const {
    return pages_present(memory_.data(), memory_.bytes(), kAllPages);
  }

  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::ManagedBuffer memory_;
};

}  // namespace

std::unique_ptr<FeatureStore> make_feature_store(const StoreRequest& request, const reach::SpanMemory* host,
                                                 cuda::ManagedBudget* budget) {
  if (request.store == Store::pageable) {
    return make_pageable_store(request);
  }
  if (request.store == Store::managed) {
    if (budget == nullptr) {
      throw FailedError("managed memory was asked for without a budget");
    }
    return std::make_unique<ManagedStore>(request, *budget);
  }
  return std::make_unique<PlacedStore>(request, host);
}

// A store over a page-locked table that others may read as well.

namespace {

class TableStore final : public FeatureStore {
 public:
  TableStore(const StoreRequest& request, const FeatureTable& table, const Features& features)
      : FeatureStore(request),
        features_(features),
        guard_(request.gpu),
        placed_(table, request.store, request.hot_percent, request.gpu) {
    view_ = placed_.view();
    if (request.store == Store::tiered && placed_.fill_s() > 0) {
      fill_s_ = placed_.fill_s();
    }
  }
  [[nodiscard]] const Features* features() const override { return &features_; }

 private:
  Features features_;
  cuda::DeviceGuard guard_;
  PlacedTable placed_;
};

}  // namespace

std::unique_ptr<FeatureStore> make_table_store(const StoreRequest& request, const FeatureTable& table,
                                               const Features& features) {
  const bool placed = request.store == Store::pinned || request.store == Store::mapped ||
                      request.store == Store::tiered || request.store == Store::device;
  const bool fits = request.row_bytes == table.row_bytes() &&
                    request.span_bytes == table.vertices() * table.row_bytes() &&
                    features.row_bytes() == table.row_bytes();
  if (!placed || !fits) {
    throw UsageError("a table of " + std::to_string(table.vertices()) + " rows of " +
                     std::to_string(table.row_bytes()) + " bytes is no " + name(request.store) +
                     " store of " + std::to_string(request.span_bytes) + " bytes in rows of " +
                     std::to_string(request.row_bytes));
  }
  static_cast<void>(table_shape(request, request.span_bytes));
  return std::make_unique<TableStore>(request, table, features);
}

}  // namespace grainscope::gnn
