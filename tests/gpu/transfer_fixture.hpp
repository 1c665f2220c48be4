#ifndef GRAINSCOPE_TESTS_GPU_TRANSFER_FIXTURE_HPP
#define GRAINSCOPE_TESTS_GPU_TRANSFER_FIXTURE_HPP

#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/system/topology.hpp"
#include "grainscope/transfer/mover.hpp"
#include "grainscope/transfer/shape.hpp"

namespace grainscope {

// Places to move bytes between, and what every mover must do.
class TransferTest : public GpuTest {
 protected:
  [[nodiscard]] int node() const;
  [[nodiscard]] transfer::Surroundings surroundings() { return {&topology_, &budget_}; }

  // A transfer between the node and GPU 0.
  [[nodiscard]] transfer::Transfer one_way(transfer::Engine engine, transfer::Placement host,
                                           transfer::Placement gpu, bool to_gpu,
                                           std::uint64_t bytes = 4 * kMiB) const;

  // Pinned memory of the node, and that of GPU 0.
  [[nodiscard]] transfer::Endpoint host() const;
  [[nodiscard]] static transfer::Endpoint card();
  [[nodiscard]] transfer::Route route(const transfer::Endpoint& from, const transfer::Endpoint& to) const {
    return {from, to, node()};
  }
  // Every one that this machine has.
  [[nodiscard]] std::vector<transfer::Route> routes() const;

  // Takes time, moves everything, says what was checked and what was timed, over and over.
  static void expect_moves(transfer::Mover& mover);

  const Topology topology_ = Topology::read();
  cuda::ManagedBudget budget_;
};

}  // namespace grainscope

#endif
