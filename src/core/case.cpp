#include "grainscope/core/case.hpp"

#include <stdexcept>

#include "grainscope/core/units.hpp"

namespace grainscope {

std::string to_string(const AxisValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*number);
  }
  return std::get<std::string>(value);
}

std::string shown_value(const Axis& axis) {
  const std::string text = to_string(axis.value);
  const bool number = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (axis.unit == AxisUnit::percent && number) {
    return text + " %";
  }
  const auto* bytes = std::get_if<std::int64_t>(&axis.value);
  return axis.unit == AxisUnit::bytes && bytes != nullptr && number
             ? format_bytes(static_cast<std::uint64_t>(*bytes))
             : text;
}

std::string Case::name() const {
  std::string text = family;
  for (const Axis& axis : axes) {
    if (axis.style == AxisStyle::bare) {
      text += "/" + to_string(axis.value);
    }
  }
  for (const Site& place : site) {
    text += "/" + place.key + ":" + std::to_string(place.value);
  }
  for (const Axis& axis : axes) {
    if (axis.style == AxisStyle::keyed) {
      text += "/" + axis.key + ":" + to_string(axis.value);
    }
  }
  return text;
}

const AxisValue& Case::axis(const std::string& key) const {
  for (const Axis& candidate : axes) {
    if (candidate.key == key) {
      return candidate.value;
    }
  }
  throw std::out_of_range("case " + name() + " has no axis '" + key + "'");
}

}  // namespace grainscope
