// Tables in ordinary host memory, and mapped files, for the CPU's gathers.

#include "grainscope/core/host_array.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/gnn/feature_store.hpp"

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

}  // namespace grainscope::gnn
