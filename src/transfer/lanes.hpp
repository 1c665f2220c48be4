#ifndef GRAINSCOPE_SRC_TRANSFER_LANES_HPP
#define GRAINSCOPE_SRC_TRANSFER_LANES_HPP

// One maker for each way to move bytes; make_lane chooses, with the GPU current and the thread bound. Each
// checks nothing that require_possible checked.

#include <memory>
#include <optional>

#include "grainscope/transfer/lane.hpp"
#include "grainscope/transfer/seeds.hpp"

namespace grainscope::transfer {

[[nodiscard]] std::unique_ptr<Lane> make_copy_lane(const Transfer& transfer,
                                                   const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Lane> make_kernel_copy_lane(const Transfer& transfer,
                                                          const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Lane> make_walk_lane(const Transfer& transfer,
                                                   const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Lane> make_managed_lane(const Transfer& transfer,
                                                      const Surroundings& surroundings);
// Of those the one whose pieces lie apart and are read by the GPU.
[[nodiscard]] std::unique_ptr<Lane> make_managed_pieces_lane(const Transfer& transfer,
                                                             const Surroundings& surroundings);

// Throws FailedError, naming the first wrong word, unless `mismatch` is empty.
void expect_payload(std::optional<std::uint64_t> mismatch, const char* where);

}  // namespace grainscope::transfer

#endif
