#ifndef GRAINSCOPE_TESTS_FUZZ_MUTATE_HPP
#define GRAINSCOPE_TESTS_FUZZ_MUTATE_HPP

#include <random>
#include <string>

namespace grainscope::test {

using Random = std::mt19937_64;

// One small change: bytes flipped, cut out, doubled or put in, a number replaced by one at the edge of what
// fits, lines or halves swapped. `other` is where foreign bytes are taken from.
void mutate(std::string& content, bool text, const std::string& other, Random& random);

}  // namespace grainscope::test

#endif
