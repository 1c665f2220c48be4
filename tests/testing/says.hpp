#ifndef GRAINSCOPE_TESTS_SAYS_HPP
#define GRAINSCOPE_TESTS_SAYS_HPP

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace grainscope::test {

// Whether a text says something; the text is shown where it does not.
[[nodiscard]] inline testing::AssertionResult says(const std::string& text, const std::string& words) {
  if (text.find(words) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "'" << words << "' is not in: " << text;
}

// The message of the `Refusal` that `act` throws; empty where it throws none.
template <class Refusal>
[[nodiscard]] std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Refusal& error) {
    return error.what();
  }
  return "";
}

}  // namespace grainscope::test

#endif
