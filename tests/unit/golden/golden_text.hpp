#ifndef GRAINSCOPE_TESTS_GOLDEN_TEXT_HPP
#define GRAINSCOPE_TESTS_GOLDEN_TEXT_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace grainscope::test {

// Holds `lines` to the file `name` of tests/golden. GRAINSCOPE_NEW_GOLDEN=1 writes it anew; `git diff` then
// shows what changed.
inline void expect_golden(const std::string& name, const std::vector<std::string>& lines) {
  const std::string path = std::string(GRAINSCOPE_GOLDEN) + "/" + name;
  if (std::getenv("GRAINSCOPE_NEW_GOLDEN") != nullptr) {
    std::ofstream file(path);
    for (const std::string& line : lines) {
      file << line << '\n';
    }
  }
  std::ifstream file(path);
  std::vector<std::string> before;
  for (std::string line; std::getline(file, line);) {
    before.push_back(line);
  }
  for (std::size_t i = 0; i < std::max(before.size(), lines.size()); ++i) {
    const std::string was = i < before.size() ? before[i] : "(its end)";
    const std::string is = i < lines.size() ? lines[i] : "(its end)";
    ASSERT_EQ(is, was) << name << ", line " << i + 1;
  }
}

}  // namespace grainscope::test

#endif
