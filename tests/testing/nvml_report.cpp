#include "nvml_report.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "grainscope/core/error.hpp"
#include "grainscope/system/sysfs.hpp"
#include "nvml_fields.hpp"

namespace grainscope::test {

using nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw UsageError("reading an NVML report: " + where + " " + why);
}

template <class T>
bool fits(const json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.is_boolean();
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return value.is_number_unsigned();
  } else if constexpr (std::is_integral_v<T>) {
    return value.is_number_integer() && value >= std::numeric_limits<T>::min() &&
           value <= std::numeric_limits<T>::max();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.is_string();
  } else {
    bool all = value.is_array();
    for (const json& element : value) {
      all = all && fits<typename T::value_type>(element);
    }
    return all;
  }
}

// Reads the visited fields of one object, and refuses keys that none of them has.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) {
      refuse(where_, "is no object");
    }
  }

  template <class T>
  void operator()(const char* key, T& field) {
    if (const json* value = find(key)) {
      read(key, *value, field);
    }
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& field) {
    if (const json* value = find(key); value != nullptr && !value->is_null()) {
      read(key, *value, field.emplace());
    }
  }

  // The value, marked as known; nullptr when the object has no such key.
  const json* find(const char* key) {
    known_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  void refuse_other_keys() const {
    for (const auto& [key, value] : object_.items()) {
      if (known_.count(key) == 0) {
        refuse(where_ + "." + key, "is no field of it");
      }
    }
  }

 private:
  template <class T>
  void read(const char* key, const json& value, T& field) {
    if (!fits<T>(value)) {
      refuse(where_ + "." + key, "has a value of the wrong kind: " + value.dump());
    }
    field = value.get<T>();
  }

  const json& object_;
  std::string where_;
  std::set<std::string> known_;
};

template <class Element, class VisitElement>
std::optional<std::vector<Element>> read_table(Reader& reader, const char* key, const std::string& where,
                                               VisitElement visit_element) {
  const json* rows = reader.find(key);
  if (rows == nullptr || rows->is_null()) {
    return std::nullopt;
  }
  if (!rows->is_array()) {
    refuse(where + "." + key, "is no array");
  }
  std::vector<Element> elements;
  for (const json& row : *rows) {
    Reader row_reader(row, where + "." + key + "[" + std::to_string(elements.size()) + "]");
    visit_element(elements.emplace_back(), row_reader);
    row_reader.refuse_other_keys();
  }
  return elements;
}

NvmlDevice read_device(const json& object, const std::string& where) {
  NvmlDevice device;
  Reader reader(object, where);
  visit_device(device, std::ref(reader));
  device.processes =
      read_table<NvmlProcess>(reader, "processes", where,
                              [](NvmlProcess& row, Reader& fields) { visit_process(row, std::ref(fields)); });
  device.nvlinks = read_table<NvmlNvlink>(
      reader, "nvlinks", where, [](NvmlNvlink& row, Reader& fields) { visit_nvlink(row, std::ref(fields)); });
  reader.refuse_other_keys();
  return device;
}

}  // namespace

NvmlReport parse_nvml_report(std::string_view json_text) {
  const json table = json::parse(json_text, nullptr, false);
  if (table.is_discarded()) {
    refuse("the text", "is no JSON");
  }
  NvmlReport report;
  Reader reader(table, "report");
  reader("why_none", report.why_none);
  reader("driver_version", report.driver_version);
  reader("confidential_computing", report.confidential_computing);
  if (const json* devices = reader.find("devices")) {
    if (!devices->is_array()) {
      refuse("report.devices", "is no array");
    }
    for (const json& device : *devices) {
      report.devices.push_back(
          read_device(device, "report.devices[" + std::to_string(report.devices.size()) + "]"));
    }
  }
  reader.refuse_other_keys();
  return report;
}

NvmlReport h100() {
  return parse_nvml_report(sysfs::read_text(GRAINSCOPE_FIXTURES "/nvml_h100.json").value());
}

std::string nvml_report_text(const NvmlReport& report) {
  json table;
  table["why_none"] = report.why_none;
  table["driver_version"] = report.driver_version;
  table["confidential_computing"] = to_json_value(report.confidential_computing);
  table["devices"] = json::array();
  for (const NvmlDevice& device : report.devices) {
    table["devices"].push_back(nvml_device_json(device));
  }
  // Names come from the driver: bytes that are no UTF-8 are replaced rather than thrown about.
  return table.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace grainscope::test
