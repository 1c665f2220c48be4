#ifndef GRAINSCOPE_SYSTEM_ENVIRONMENT_TEXT_HPP
#define GRAINSCOPE_SYSTEM_ENVIRONMENT_TEXT_HPP

// The environment report for a reader: `grainscope --env`.

#include <string>
#include <vector>

#include "grainscope/system/environment.hpp"
#include "grainscope/system/warnings.hpp"

namespace grainscope {

// The warnings first, then the machine by topics; lines of at most 100 columns, each ended by a newline.
// What the machine does not tell reads `unknown`, with why.
[[nodiscard]] std::string environment_text(const Environment& environment,
                                           const std::vector<Warning>& warnings);

}  // namespace grainscope

#endif
