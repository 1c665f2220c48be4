#ifndef GRAINSCOPE_TESTS_CONTAINS_HPP
#define GRAINSCOPE_TESTS_CONTAINS_HPP

#include <string>

namespace grainscope::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace grainscope::test

#endif
