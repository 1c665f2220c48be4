#ifndef GRAINSCOPE_SRC_TRANSFER_MOVERS_HPP
#define GRAINSCOPE_SRC_TRANSFER_MOVERS_HPP

// One maker for each way to move bytes; make_mover chooses. Each checks nothing that its caller checked.

#include <memory>

#include "grainscope/transfer/seeds.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

[[nodiscard]] std::unique_ptr<Mover> make_copy(const Transfer& transfer, const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Mover> make_zero_copy(const Transfer& transfer,
                                                    const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Mover> make_managed(const Transfer& transfer, const Surroundings& surroundings);

// Throws FailedError, naming the first wrong word, unless `mismatch` is empty.
void expect_payload(std::optional<std::uint64_t> mismatch, const char* where);

}  // namespace grainscope::transfer

#endif
