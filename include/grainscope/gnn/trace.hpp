#ifndef GRAINSCOPE_GNN_TRACE_HPP
#define GRAINSCOPE_GNN_TRACE_HPP

// Which rows of a feature table a training run asks for, mini-batch by mini-batch.

#include <cstdint>
#include <span>
#include <vector>

namespace grainscope::gnn {

// Row number = vertex, as the graph is numbered when it is sampled. The rows of a mini-batch differ from each
// other and stand in the order in which its consumer wants them.
struct Trace {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint64_t> begins = {0};  // batch b is rows[begins[b] … begins[b + 1])

  [[nodiscard]] std::size_t batches() const noexcept { return begins.empty() ? 0 : begins.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> batch(std::size_t b) const noexcept {
    return {rows.data() + begins[b], static_cast<std::size_t>(begins[b + 1] - begins[b])};
  }
  void add(std::span<const std::uint32_t> batch) {
    rows.insert(rows.end(), batch.begin(), batch.end());
    begins.push_back(rows.size());
  }
  friend bool operator==(const Trace&, const Trace&) = default;
};

}  // namespace grainscope::gnn

#endif
