#include "schema_check.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace grainscope::test {
namespace {

using nlohmann::json;

TEST(SchemaCheck, finds_each_kind_of_fault) {
  const json schema = json::parse(R"({"type": "object", "required": ["a"], "additionalProperties": false,
    "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"$ref": "#/$defs/pair"}, "c": {"enum": ["x"]},
                   "d": {"exclusiveMinimum": 0}},
    "$defs": {"pair": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}}})");
  EXPECT_TRUE(schema_errors(json::parse(R"({"a": 1, "b": [1, 2.5], "c": "x", "d": 0.1})"), schema).empty());
  for (const char* wrong : {"3", "{}", R"({"a": 0})", R"({"a": 1.5})", R"({"a": 1, "z": 1})",
                            R"({"a": 1, "b": [1]})", R"({"a": 1, "b": [1, 2, 3]})",
                            R"({"a": 1, "b": [1, "2"]})", R"({"a": 1, "c": "y"})", R"({"a": 1, "d": 0})"}) {
    EXPECT_EQ(schema_errors(json::parse(wrong), schema).size(), 1U) << wrong;
  }
}

TEST(SchemaCheck, follows_the_branch_that_the_condition_picks) {
  const json schema = json::parse(R"({"if": {"properties": {"s": {"const": "ok"}}},
    "then": {"required": ["value"]}, "else": {"required": ["reason"]}})");
  EXPECT_TRUE(schema_errors(json::parse(R"({"s": "ok", "value": 1})"), schema).empty());
  EXPECT_TRUE(schema_errors(json::parse(R"({"s": "failed", "reason": ""})"), schema).empty());
  EXPECT_FALSE(schema_errors(json::parse(R"({"s": "ok", "reason": ""})"), schema).empty());
  EXPECT_FALSE(schema_errors(json::parse(R"({"s": "failed", "value": 1})"), schema).empty());
}

TEST(SchemaCheck, refuses_a_keyword_that_it_would_not_check) {
  EXPECT_THROW(static_cast<void>(schema_errors(1, json{{"maximum", 3}})), std::logic_error);
}

}  // namespace
}  // namespace grainscope::test
