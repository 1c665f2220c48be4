#include "grainscope/gnn/gather.hpp"

#include <string>
#include <utility>

#include "gathers.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/row_lists.hpp"

namespace grainscope::gnn {

void require_possible(const FeatureStore& store, const RowLists& lists, const GatherRequest& request) {
  const TableShape& table = store.shape();
  if (!can_read(request.mode, store.request().store)) {
    throw UsageError(std::string(name(request.mode)) + " cannot read rows that are " +
                     name(store.request().store));
  }
  if (is_kernel(request.mode) && !may_load(request.mode, table.row_bytes, 2, request.width) &&
      !may_load(request.mode, table.row_bytes, request.width, request.width)) {
    throw UsageError(std::string(name(request.mode)) + " cannot load " + std::to_string(request.width) +
                     " bytes at once from rows of " + std::to_string(table.row_bytes));
  }
  if (lists.empty() || lists.front().empty()) {
    throw UsageError("a gather needs rows to ask for");
  }
  for (const std::vector<std::uint32_t>& list : lists) {
    if (list.size() != lists.front().size()) {
      throw UsageError("the samples of a gather ask for equally many rows; not for " +
                       std::to_string(lists.front().size()) + " and " + std::to_string(list.size()));
    }
    require_in_table(list, table.rows);
  }
}

std::unique_ptr<Operation> make_gather(FeatureStore& store, RowLists lists, const GatherRequest& request) {
  require_possible(store, lists, request);
  return request.mode == Mode::cpu_gather ? make_host_gather(store, std::move(lists), request)
                                          : make_gpu_gather(store, std::move(lists), request);
}

std::uint64_t gather_bytes(Mode mode, std::uint64_t rows, std::uint64_t row_bytes, std::size_t lists) {
  constexpr std::uint64_t kEvictor = 256 * kMiB;
  // A sort has three lists, and two more that it turns to and fro.
  const std::uint64_t own_lists = lists + (sorts(mode) ? 5 : 0);
  return rows * (row_bytes + own_lists * sizeof(std::uint32_t)) + kEvictor;
}

}  // namespace grainscope::gnn
