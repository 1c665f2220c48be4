// Tables in ordinary host memory, mapped files, and the CPU's own gather (cpu_gather): threads copy rows
// from host memory to host memory.

#include <atomic>
#include <utility>

#include "gather_parts.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::gnn {
namespace {

class PageableStore final : public FeatureStore {
 public:
  explicit PageableStore(const StoreRequest& request)
      : FeatureStore(request), words_((request.span_bytes + 3) / sizeof(std::uint32_t)) {
    view_.shape = table_shape(request, request.span_bytes);
    fill_pattern(words_.data(), words_.size(), kHostSeed);
    view_.chunks[0] = reinterpret_cast<const std::byte*>(words_.data());
  }

 private:
  HostArray<std::uint32_t> words_;
};

class FileStore final : public FeatureStore {
 public:
  explicit FileStore(const StoreRequest& request, std::shared_ptr<const NpyFile> file)
      : FeatureStore(request), features_(std::move(file)) {
    view_.shape = table_shape(request, request.span_bytes);
    view_.chunks[0] = features_.file()->data();
  }
  [[nodiscard]] const Features* features() const override { return &features_; }

 private:
  Features features_;
};

}  // namespace

std::unique_ptr<FeatureStore> make_pageable_store(const StoreRequest& request) {
  static_cast<void>(table_shape(request, request.span_bytes));
  return std::make_unique<PageableStore>(request);
}

std::unique_ptr<FeatureStore> make_file_store(std::shared_ptr<const NpyFile> file) {
  StoreRequest request;
  request.store = Store::pageable;
  request.row_bytes = file->row_bytes();
  request.span_bytes = file->bytes();
  return std::make_unique<FileStore>(request, std::move(file));
}

// cpu_gather: threads copy rows from host memory to host memory. What a CPU alone can do, and what the first
// half of cpu_gather_dma costs.

namespace {

class HostGather final : public Operation {
 public:
  HostGather(FeatureStore& store, RowLists lists, const GatherRequest& request)
      : store_(store),
        lists_(std::move(lists)),
        out_(lists_.front().size() * store.shape().row_bytes),
        team_(request.threads, current_affinity()) {}

  void prepare() override {
    constexpr int kOther = 0xa5;
    team_.run([&](int worker) {
      const Share share = share_of(out_.size(), worker, team_.size());
      std::memset(out_.data() + share.first, kOther, share.last - share.first);
    });
  }

  double run() override {
    const std::span<const std::uint32_t> rows = lists_[samples_++ % lists_.size()];
    const std::size_t row_bytes = store_.shape().row_bytes;
    const double seconds = team_.run([&](int worker) {
      const Share share = share_of(rows.size(), worker, team_.size());
      copy_rows(store_.view(), rows.subspan(share.first, share.last - share.first),
                out_.data() + share.first * row_bytes);
    });
    check(rows);
    return seconds;
  }

  std::string verify() override {
    const Features* const own = store_.features();
    if (samples_ == 0 || wrong_ > 0) {
      throw FailedError(samples_ == 0 ? "wrong result: no rows were gathered"
                                      : "wrong result: " + std::to_string(wrong_) +
                                            (own != nullptr ? " elements" : " rows") +
                                            " of the outputs do not hold what the table has there");
    }
    return "every byte of every sample's output against " +
           (own != nullptr ? own->spoken() : Features().spoken());
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false, "threads that copy rows, from their common start to the last one's end"};
  }

 private:
  // Of a row's bytes two at a time: rows need not be whole words.
  void check(std::span<const std::uint32_t> rows) {
    if (const Features* const own = store_.features()) {
      wrong_ += own->count_wrong(out_.data(), rows);
      return;
    }
    const TableShape& table = store_.shape();
    const std::uint64_t halves = table.row_bytes / sizeof(std::uint16_t);
    std::atomic<std::uint64_t> wrong = 0;
    team_.run([&](int worker) {
      const Share share = share_of(rows.size(), worker, team_.size());
      for (std::size_t i = share.first; i < share.last; ++i) {
        const TableShape::Contents contents = table.contents(rows[i]);
        const auto* found = reinterpret_cast<const std::uint16_t*>(out_.data() + i * table.row_bytes);
        bool right = true;
        for (std::uint64_t half = 0; half < halves; ++half) {
          right &=
              found[half] == pattern_half(contents.first_byte / sizeof(std::uint16_t) + half, contents.seed);
        }
        wrong += right ? 0 : 1;
      }
    });
    wrong_ += wrong;
  }

  FeatureStore& store_;
  RowLists lists_;
  HostArray<std::byte> out_;
  ThreadTeam team_;
  std::uint64_t samples_ = 0;
  std::uint64_t wrong_ = 0;  // rows; of a file elements
};

}  // namespace

std::unique_ptr<Operation> make_host_gather(FeatureStore& store, RowLists lists,
                                            const GatherRequest& request) {
  return std::make_unique<HostGather>(store, std::move(lists), request);
}

}  // namespace grainscope::gnn
