#include "digest.hpp"

#include <zlib.h>

#include <array>

#include "grainscope/core/error.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr std::array kOfContext = {"date",  "environment", "grainscope",     "host_name",
                                   "links", "run",         "schema_version", "type_b"};
constexpr std::array kOfRow = {"bandwidth_gb_s", "bytes",    "case",        "flags",  "label",
                               "link_fraction",  "median_s", "operation_s", "reason", "status"};
constexpr std::array kOfTiming = {"clock", "gated", "quiet"};
constexpr std::array kOfUncertainty = {"a", "b"};

template <class Names>
json chosen(const json& object, const Names& names) {
  json kept = json::object();
  for (const char* name : names) {
    if (const auto found = object.find(name); found != object.end()) {
      kept[name] = *found;
    }
  }
  return kept;
}

json row_of(const json& row) {
  json kept = chosen(row, kOfRow);
  // Most rows have no flags, and no reason.
  for (auto it = kept.begin(); it != kept.end();) {
    const bool empty = it->is_null() || (it->is_array() && it->empty()) ||
                       (it->is_string() && it->get_ref<const std::string&>().empty());
    it = empty ? kept.erase(it) : std::next(it);
  }
  const auto add = [&](const char* name, const auto& names) {
    if (const auto found = row.find(name); found != row.end() && found->is_object()) {
      if (json parts = chosen(*found, names); !parts.empty()) {
        kept[name] = std::move(parts);
      }
    }
  };
  add("timing", kOfTiming);
  add("uncertainty", kOfUncertainty);
  if (const auto visits = row.find("visits"); visits != row.end()) {
    kept["visits"] = visits->size();
  }
  return kept;
}

std::string line(const json& thing) {
  return thing.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string digest_lines(const json& result) {
  const json& rows = result.at("benchmarks");
  std::string text = line(
      {{"context", chosen(result.at("context"), kOfContext)}, {"digest", kFormat}, {"rows", rows.size()}});
  for (const json& row : rows) {
    text += line(row_of(row));
  }
  return text;
}

std::string gzip(std::string_view text) {
  constexpr int kWithGzipHeader = 16;
  constexpr int kMemory = 8;  // zlib's own choice
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kWithGzipHeader, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw EnvironmentError("there is no memory to pack " + std::to_string(text.size()) + " bytes");
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  // zlib reads it and has no const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int ended = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) {
    throw EnvironmentError("zlib could not pack " + std::to_string(text.size()) + " bytes");
  }
  return packed;
}

}  // namespace grainscope::harness
