#ifndef GRAINSCOPE_CORE_SPELLING_HPP
#define GRAINSCOPE_CORE_SPELLING_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace grainscope {

// Letters to change, add or leave out to turn one word into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The word of `known` nearest to `word`; empty where none is near: for "did you mean".
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& known);

// What to say of a word that is not among `known`: the nearest of them, and all.
// "'pined' is not a placement; the nearest is pinned; there are pageable, pinned"
[[nodiscard]] std::string not_among(std::string_view word, std::string_view what,
                                    const std::vector<std::string>& known);

}  // namespace grainscope

#endif
