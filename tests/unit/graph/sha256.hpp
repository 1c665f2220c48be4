#ifndef GRAINSCOPE_TESTS_SHA256_HPP
#define GRAINSCOPE_TESTS_SHA256_HPP

#include <cstddef>
#include <span>
#include <string>

namespace grainscope {

// SHA-256 (FIPS 180-4) of some bytes, in 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::span<const std::byte> bytes);

}  // namespace grainscope

#endif
