#ifndef GRAINSCOPE_CORE_CASE_HPP
#define GRAINSCOPE_CORE_CASE_HPP

// A case is one point in parameter space, in two parts: the question (family and axes) and the site
// (which GPU, which node). Its name is derived from it, and nothing ever parses a name back.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace grainscope {

using AxisValue = std::variant<std::string, std::int64_t>;

[[nodiscard]] std::string to_string(const AxisValue& value);

// How an axis shows in the name.
enum class AxisStyle {
  bare,    // its value alone: ".../pinned_to_gpu/..."
  keyed,   // "bytes:4096", behind the site
  hidden,  // not at all: it follows from the rest (locality from the site)
};

// What the numbers of an axis count.
enum class AxisUnit { none, bytes, percent };

struct Axis {
  std::string key;
  AxisValue value;
  AxisStyle style = AxisStyle::keyed;
  AxisUnit unit = AxisUnit::none;
};

// The value for a reader: "64 KiB", "25 %"; a name has it as it is.
[[nodiscard]] std::string shown_value(const Axis& axis);

struct Site {
  std::string key;  // "gpu", "numa", …
  std::int64_t value = 0;
};

struct Case {
  std::string family;  // "transfer/memcpy"
  std::vector<Axis> axes;
  std::vector<Site> site;

  // "family/bare/…/site:0/…/key:value/…"; unique within a run.
  [[nodiscard]] std::string name() const;

  // The value of an axis; throws std::out_of_range, naming the axis, where there is none.
  [[nodiscard]] const AxisValue& axis(const std::string& key) const;
};

}  // namespace grainscope

#endif
