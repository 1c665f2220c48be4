#ifndef GRAINSCOPE_BENCHMARKS_TRAFFIC_HPP
#define GRAINSCOPE_BENCHMARKS_TRAFFIC_HPP

#include <cstdint>

#include "grainscope/core/operation.hpp"
#include "grainscope/model/replay.hpp"

namespace grainscope::harness {

// A model's requests, made for `asked` bytes, as a row tells them.
[[nodiscard]] Traffic traffic_of(const model::Requests& requests, std::uint64_t asked);

}  // namespace grainscope::harness

#endif
