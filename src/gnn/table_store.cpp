// A store over a page-locked table that others may read as well.

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/gnn/feature_store.hpp"
#include "placed_table.hpp"

namespace grainscope::gnn {
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
