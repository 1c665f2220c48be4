#include "run_folder.hpp"

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "child.hpp"

namespace grainscope::test {

std::set<std::string> cases_in(const harness::Journal& journal) {
  std::set<std::string> names;
  for (const nlohmann::json& row : journal.rows) {
    names.insert(row.at("name").get<std::string>());
  }
  return names;
}

nlohmann::json whole_row(const std::string& name, int visit) {
  return {
      {"name", name},
      {"run_type", "iteration"},
      {"case", {{"family", "fake"}, {"axes", nlohmann::json::object()}, {"site", nlohmann::json::object()}}},
      {"status", "ok"},
      {"label", "measured"},
      {"samples_s", {0.1, 0.2}},
      {"median_s", 0.15},
      {"timing", {{"clock", "steady"}, {"gated", false}, {"timed", "nothing"}}},
      {"verified", true},
      {"round", static_cast<unsigned>(visit)}};
}

FullDisk::FullDisk(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
  getrlimit(RLIMIT_FSIZE, &old_);
  const rlimit limit{bytes, old_.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
}

FullDisk::~FullDisk() {
  setrlimit(RLIMIT_FSIZE, &old_);
  std::signal(SIGXFSZ, old_handler_);
}

namespace {

using nlohmann::json;

bool is_type(const json& value, const std::string& type) {
  return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
         (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
         (type == "null" && value.is_null()) || (type == "number" && value.is_number()) ||
         (type == "integer" && value.is_number_integer());
}

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  void check(const json& value, const json& schema, const std::string& where) {
    refuse_unknown_keywords(schema);
    if (schema.contains("$ref")) {
      check(value, part(schema["$ref"].get<std::string>().substr(1)), where);
    }
    check_value(value, schema, where);
    if (value.is_number()) {
      check_number(value, schema, where);
    } else if (value.is_array()) {
      check_array(value, schema, where);
    } else if (value.is_object()) {
      check_object(value, schema, where);
    }
    if (schema.contains("if")) {
      Checker condition(root_);
      condition.check(value, schema["if"], where);
      const char* branch = condition.errors_.empty() ? "then" : "else";
      if (schema.contains(branch)) {
        check(value, schema[branch], where);
      }
    }
  }

  [[nodiscard]] const json& part(const std::string& pointer) const {
    return root_.at(json::json_pointer(pointer));
  }
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

 private:
  static void refuse_unknown_keywords(const json& schema) {
    static const std::set<std::string> kKnown{"$schema",  "$defs",      "$ref",
                                              "title",    "type",       "const",
                                              "enum",     "minimum",    "exclusiveMinimum",
                                              "items",    "minItems",   "maxItems",
                                              "required", "properties", "additionalProperties",
                                              "if",       "then",       "else"};
    for (const auto& [key, value] : schema.items()) {
      if (!kKnown.contains(key)) {
        throw std::logic_error("this test does not know the schema keyword " + key);
      }
    }
  }

  void expect(bool right, const std::string& where, const std::string& rule) {
    if (!right) {
      errors_.push_back((where.empty() ? "/" : where) + ": " + rule);
    }
  }

  void check_value(const json& value, const json& schema, const std::string& where) {
    if (schema.contains("type")) {
      const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
      const bool any =
          std::any_of(types.begin(), types.end(), [&](const json& type) { return is_type(value, type); });
      expect(any, where, "is not " + types.dump());
    }
    if (schema.contains("const")) {
      expect(value == schema["const"], where, "is not " + schema["const"].dump());
    }
    if (schema.contains("enum")) {
      const json& list = schema["enum"];
      expect(std::find(list.begin(), list.end(), value) != list.end(), where,
             value.dump() + " is none of " + list.dump());
    }
  }

  void check_number(const json& value, const json& schema, const std::string& where) {
    const double number = value;
    if (schema.contains("minimum")) {
      expect(number >= schema["minimum"].get<double>(), where, value.dump() + " is below the minimum");
    }
    if (schema.contains("exclusiveMinimum")) {
      expect(number > schema["exclusiveMinimum"].get<double>(), where,
             value.dump() + " is not above the minimum");
    }
  }

  void check_array(const json& value, const json& schema, const std::string& where) {
    expect(value.size() >= schema.value("minItems", std::size_t{0}), where, "has too few items");
    expect(value.size() <= schema.value("maxItems", value.size()), where, "has too many items");
    for (std::size_t i = 0; schema.contains("items") && i < value.size(); ++i) {
      check(value[i], schema["items"], where + "/" + std::to_string(i));
    }
  }

  void check_object(const json& value, const json& schema, const std::string& where) {
    for (const json& key : schema.value("required", json::array())) {
      expect(value.contains(key.get<std::string>()), where, "lacks " + key.dump());
    }
    const json properties = schema.value("properties", json::object());
    for (const auto& [key, member] : value.items()) {
      if (properties.contains(key)) {
        check(member, properties[key], where + "/" + key);
      } else if (const auto others = schema.find("additionalProperties"); others == schema.end()) {
        continue;
      } else if (others->is_boolean()) {
        expect(others->get<bool>(), where, "has " + key + ", which is not described");
      } else {
        check(member, *others, where + "/" + key);
      }
    }
  }

  const json& root_;
  std::vector<std::string> errors_;
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

}  // namespace

json result_schema() {
  return json::parse(read_text(GRAINSCOPE_RESULT_SCHEMA));
}

std::vector<std::string> schema_errors(const json& value, const json& schema, const std::string& part) {
  Checker checker(schema);
  checker.check(value, checker.part(part), "");
  return checker.errors();
}

std::string result_errors(const json& result) {
  return joined(schema_errors(result, result_schema()));
}
std::string row_errors(const json& row) {
  return joined(schema_errors(row, result_schema(), "/$defs/row"));
}

}  // namespace grainscope::test
