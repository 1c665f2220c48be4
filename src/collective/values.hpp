#ifndef GRAINSCOPE_SRC_COLLECTIVE_VALUES_HPP
#define GRAINSCOPE_SRC_COLLECTIVE_VALUES_HPP

// Inputs of collective operations written, and outputs checked, by the GPU that is current.

#include <cstdint>
#include <optional>

#include "grainscope/collective/collective.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::collective {

// `count` elements of the input of `rank`, from number `first` on. Enqueues.
void fill_values(void* data, std::uint64_t count, Element element, int rank, std::uint64_t first,
                 const cuda::Stream& stream);

// The first of `count` elements that is not what is expected; waits.
[[nodiscard]] std::optional<std::uint64_t> find_wrong(const void* data, std::uint64_t count, Element element,
                                                      const Expected& expected, const cuda::Stream& stream);

}  // namespace grainscope::collective

#endif
