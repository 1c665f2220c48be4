#ifndef GRAINSCOPE_SRC_SYSTEM_TEXT_TABLE_HPP
#define GRAINSCOPE_SRC_SYSTEM_TEXT_TABLE_HPP

// A table of two columns in plain text, wrapped, by sections.

#include <optional>
#include <string>

#include "grainscope/system/environment.hpp"

namespace grainscope {

inline constexpr const char* kUnknown = "unknown (not exposed)";

class TextTable {
 public:
  // A heading, after an empty line unless it is the first.
  void section(const std::string& title);
  // A label, and a value that is wrapped between words to 100 columns. An empty label continues the row
  // above.
  void row(const std::string& label, const std::string& value);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

[[nodiscard]] inline std::string or_unknown(const std::optional<std::string>& value) {
  return value.value_or(kUnknown);
}
[[nodiscard]] inline std::string or_unknown(const std::optional<int>& value) {
  return value ? std::to_string(*value) : kUnknown;
}
[[nodiscard]] inline std::string on_off(const std::optional<bool>& value) {
  return value ? (*value ? "on" : "off") : kUnknown;
}

// The sections on the driver and each GPU.
void write_gpus(TextTable& table, const Environment& environment);

}  // namespace grainscope

#endif
