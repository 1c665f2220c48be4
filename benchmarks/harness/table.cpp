#include "table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <numeric>
#include <ostream>
#include <set>

#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;
constexpr std::size_t kTimeWidth = 12;
constexpr std::size_t kHalfWidthWidth = 8;
constexpr std::size_t kRateWidth = 10;
constexpr std::size_t kPeakWidth = 7;
constexpr std::size_t kMostNotes = 32;
// Longer groups are divided by what differs first, where this leaves groups of some lines.
constexpr std::size_t kLongGroup = 16;
constexpr std::size_t kLinesOfDivided = 4;
constexpr std::size_t kLinesOfNarrow = 2;

// A blank at which a heading does not go on to the next line.
constexpr char kNoBreak = '\x1f';

constexpr const char* kBold = "\033[1m";
constexpr const char* kDim = "\033[2m";
constexpr const char* kRed = "\033[31m";
constexpr const char* kYellow = "\033[33m";
constexpr const char* kPlain = "\033[0m";

std::string percent(double fraction) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", fraction * 100);
  return text.data();
}

bool has_rate(const json& row) {
  return row.contains("bandwidth_gb_s");
}

std::string rate_of(const json& row) {
  return has_rate(row) ? format_rate(row["bandwidth_gb_s"]) : "";
}

// Of one operation, where the row's time is of many.
std::string time_of(const json& row) {
  if (!row.contains("median_s")) {
    return "-";
  }
  return row.value("operations", 1.0) > 1 ? format_seconds(row["operation_s"]) + " each"
                                          : format_seconds(row["median_s"]);
}

std::string half_width_of(const json& row) {
  if (!row.contains("interval_s")) {
    return "";
  }
  const double low = row["interval_s"][0];
  const double high = row["interval_s"][1];
  return "+-" + percent((high - low) / 2 / row["median_s"].get<double>());
}

std::string words_of(std::string flag) {
  std::replace(flag.begin(), flag.end(), '_', ' ');
  return flag;
}

std::string flags_of(const json& row) {
  std::string text;
  for (const json& flag : row.value("flags", json::array())) {
    text += (text.empty() ? "" : ", ") + words_of(flag);
  }
  return text;
}

}  // namespace

Table::Table(std::ostream& out, const Screen& screen, const std::vector<Benchmark>& cases, bool full_names)
    : out_(out), screen_(screen), full_names_(full_names) {
  std::vector<std::pair<std::string, bool>> families;
  std::map<std::pair<std::string, bool>, std::vector<std::string>> names;
  for (const Benchmark& benchmark : cases) {
    const std::pair key(benchmark.id.family, benchmark.modelled);
    if (!names.contains(key)) {
      families.push_back(key);
    }
    const std::string name = benchmark.id.name();
    names[key].push_back(name);
    Cells& cells = cells_[name];
    const auto add_axes = [&](AxisStyle style) {
      for (const Axis& axis : benchmark.id.axes) {
        if (axis.style == style) {
          cells.emplace_back(axis.key, shown_value(axis));
        }
      }
    };
    add_axes(AxisStyle::bare);
    for (const Site& site : benchmark.id.site) {
      cells.emplace_back(site.key, std::to_string(site.value));
    }
    add_axes(AxisStyle::keyed);
  }
  for (const auto& family : families) {
    arrange(family.first, std::move(names[family]), family.second);
  }
}

void Table::arrange(const std::string& family, std::vector<std::string> names, bool modelled) {
  std::vector<Group> groups;
  if (full_names_) {
    groups.push_back({family, "", {}, std::move(names)});
    for (const std::string& name : groups.front().names) {
      groups.front().label_width = std::max(groups.front().label_width, name.size());
    }
  } else {
    groups = split(group_of(family, std::move(names)));
  }
  for (Group& group : groups) {
    fit(group);
    group.modelled = modelled;
    group.to_come = group.names.size();
    for (const std::string& name : group.names) {
      group_of_[name] = groups_.size();
    }
    groups_.push_back(std::move(group));
  }
}

void Table::fit(Group& group) const {
  const std::size_t most = screen_.width - kIndent - kGap - kTimeWidth;
  while (!full_names_ && group.label_width > most) {
    const auto widest = std::max_element(group.columns.begin(), group.columns.end(),
                                         [](const Column& a, const Column& b) { return a.width < b.width; });
    --widest->width;
    --group.label_width;
  }
}

const std::string& Table::value_of(const std::string& name, const std::string& key) const {
  static const std::string kNone;
  for (const auto& [axis, value] : cells_.at(name)) {
    if (axis == key) {
      return value;
    }
  }
  return kNone;
}

Table::Group Table::group_of(const std::string& family, std::vector<std::string> names) const {
  Group group{family, "", {}, std::move(names)};
  std::vector<std::string> keys;
  for (const std::string& name : group.names) {
    for (const auto& [key, value] : cells_.at(name)) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(key);
      }
    }
  }
  for (const std::string& key : keys) {
    Column column{key, key.size(), true};
    std::set<std::string> values;
    for (const std::string& name : group.names) {
      const std::string& value = value_of(name, key);
      values.insert(value);
      column.width = std::max(column.width, letters(value));
      column.numbers = column.numbers && (value.empty() || (value[0] >= '0' && value[0] <= '9'));
    }
    // A line has something, also where nothing differs.
    const bool last_of_one = group.columns.empty() && key == keys.back();
    if (values.size() > 1 || last_of_one) {
      group.label_width += column.width + (group.columns.empty() ? 0 : kGap);
      group.columns.push_back(column);
    } else {
      const std::string& value = *values.begin();
      const bool number = column.numbers || value == "on" || value == "off";
      std::string shown = number ? key : "";
      shown.append(number ? " " : "").append(value);
      std::replace(shown.begin(), shown.end(), ' ', kNoBreak);
      group.shared += (group.shared.empty() ? "" : ", ") + shown;
    }
  }
  return group;
}

std::vector<Table::Group> Table::split(Group group) const {
  const std::size_t numbers = kIndent + kGap + kTimeWidth + kGap + kHalfWidthWidth;
  const bool wide = group.label_width + numbers > screen_.width;
  const std::size_t fewest = wide ? kLinesOfNarrow : kLinesOfDivided;
  if (group.columns.size() < 2 || (!wide && group.names.size() <= kLongGroup)) {
    return {std::move(group)};
  }
  std::vector<std::string> values;
  std::map<std::string, std::vector<std::string>> names;
  for (const std::string& name : group.names) {
    const std::string& value = value_of(name, group.columns.front().key);
    if (!names.contains(value)) {
      values.push_back(value);
    }
    names[value].push_back(name);
  }
  if (group.names.size() < fewest * values.size()) {
    return {std::move(group)};
  }
  std::vector<Group> groups;
  for (const std::string& value : values) {
    for (Group& part : split(group_of(group.family, std::move(names[value])))) {
      groups.push_back(std::move(part));
    }
  }
  return groups;
}

std::string Table::label_of(const Group& group, const std::string& name) const {
  if (full_names_) {
    return name;
  }
  std::string label;
  for (const Column& column : group.columns) {
    label += (label.empty() ? "" : std::string(kGap, ' ')) +
             filled(shortened(value_of(name, column.key), column.width), column.width, column.numbers);
  }
  return label;
}

Table::Numbers Table::numbers_of(const Group& group) const {
  const std::size_t width = full_names_ ? std::numeric_limits<std::size_t>::max() : screen_.width;
  const std::size_t used = kIndent + group.label_width + kGap + kTimeWidth;
  std::size_t left = width - std::min(width, used);
  const auto some = [&](const char* field) {
    return std::any_of(group.names.begin(), group.names.end(), [&](const std::string& name) {
      const auto row = rows_.find(name);
      return row != rows_.end() && row->second.contains(field);
    });
  };
  const auto take = [&](std::size_t column) {
    const bool fits = left >= kGap + column;
    left -= fits ? kGap + column : 0;
    return fits;
  };
  Numbers numbers;
  numbers.half_width = some("interval_s") && take(kHalfWidthWidth);
  numbers.time = some("bandwidth_gb_s") && take(kRateWidth);
  numbers.of_peak = numbers.time && some("link_fraction") && take(kPeakWidth);
  numbers.notes = left > kGap ? std::min(left - kGap, kMostNotes) : 0;
  return numbers;
}

void Table::add(const json& row) {
  const std::string name = row.at("name");
  if (!group_of_.contains(name)) {  // this machine no longer lists it
    cells_[name];
    group_of_[name] = groups_.size();
    groups_.push_back({name, "", {}, {name}, false, 0, 1});
  }
  if (row.at("status") != "skipped") {
    rows_[name] = row;
  }
  Group& group = groups_.at(group_of_.at(name));
  if (--group.to_come == 0 && !group.modelled) {
    print(group);
  }
}

void Table::finish() {
  bool modelled = false;
  const auto is_left = [&](const std::string& name) { return rows_.contains(name); };
  for (const bool of_models : {false, true}) {
    for (Group& group : groups_) {
      if (group.modelled != of_models || std::none_of(group.names.begin(), group.names.end(), is_left)) {
        continue;
      }
      if (of_models && !std::exchange(modelled, true)) {
        print_legend();
        out_ << '\n'
             << in(kBold,
                   wrapped("", "MODELLED, NOT MEASURED: what a model says of the links and cards named", 0,
                           screen_.width));
      }
      print(group);
    }
  }
}

std::string Table::in(const char* color, const std::string& text) const {
  return screen_.color ? color + text + kPlain : text;
}

void Table::print_legend() {
  if (std::exchange(begun_, true)) {
    return;
  }
  std::string text =
      "+- is half of the 95 % interval; \"of peak\" compares with the link's measured copy peak; \"each\" "
      "is the time of one of many operations. ";
  text += screen_.color ? "Yellow lines are flagged, red ones failed." : "Lines with * are flagged.";
  out_ << for_screen(wrapped("", text, 0, screen_.width), screen_);
}

void Table::print(Group& group) {
  const auto is_left = [&](const std::string& name) { return rows_.contains(name); };
  if (std::none_of(group.names.begin(), group.names.end(), is_left)) {
    return;  // all were skipped, or there is none any more
  }
  print_legend();
  const Numbers numbers = numbers_of(group);
  print_heading(group, numbers);
  for (const std::string& name : group.names) {
    if (const auto row = rows_.find(name); row != rows_.end()) {
      print_row(group, numbers, row->second);
      rows_.erase(row);
    }
  }
  out_ << std::flush;
}

void Table::print_heading(const Group& group, const Numbers& numbers) {
  std::string heading =
      wrapped("", group.family + (group.shared.empty() ? "" : "  ") + group.shared, kIndent, screen_.width);
  std::replace(heading.begin(), heading.end(), kNoBreak, ' ');
  out_ << '\n' << in(kBold, heading.substr(kIndent, heading.size() - kIndent - 1)) << '\n';
  std::string label = full_names_ ? "case" : "";
  for (const Column& column : group.columns) {
    label += (label.empty() ? "" : std::string(kGap, ' ')) +
             filled(shortened(column.key, column.width), column.width, column.numbers);
  }
  const std::string gap(kGap, ' ');
  const bool rates = std::any_of(group.names.begin(), group.names.end(), [&](const std::string& name) {
    const auto row = rows_.find(name);
    return row != rows_.end() && has_rate(row->second);
  });
  std::string line = std::string(kIndent, ' ') + filled(label, group.label_width) + gap +
                     filled(numbers.time || !rates ? "time" : "rate", kTimeWidth, true);
  line += numbers.half_width ? gap + filled("+-", kHalfWidthWidth, true) : "";
  line += numbers.time ? gap + filled("rate", kRateWidth, true) : "";
  line += numbers.of_peak ? gap + filled("of peak", kPeakWidth, true) : "";
  // The column of ± is filled for two letters and shows one.
  std::string shown = for_screen(line, screen_);
  const auto sign = shown.find("±");
  if (sign != std::string::npos) {
    shown.insert(sign, " ");
  }
  out_ << in(kDim, shown) << '\n';
}

void Table::print_row(const Group& group, const Numbers& numbers, const json& row) {
  const std::string gap(kGap, ' ');
  const auto cell = [&](const std::string& text, std::size_t width) {
    return gap + filled(for_screen(text, screen_), width, true);
  };
  const std::string label = label_of(group, row["name"]);
  std::string line = std::string(kIndent, ' ') + filled(label, group.label_width);
  if (row["status"] != "ok") {
    line += cell(row["status"], kTimeWidth);
    line += "\n" + wrapped("", row.value("reason", ""), 2 * kIndent, screen_.width);
    line.pop_back();
    out_ << in(kRed, line) << '\n';
    return;
  }
  line += cell(numbers.time || !has_rate(row) ? time_of(row) : rate_of(row), kTimeWidth);
  line += numbers.half_width ? cell(half_width_of(row), kHalfWidthWidth) : "";
  line += numbers.time ? cell(rate_of(row), kRateWidth) : "";
  line += numbers.of_peak
              ? cell(row.contains("link_fraction") ? percent(row["link_fraction"]) : "", kPeakWidth)
              : "";
  const std::string flags = flags_of(row);
  if (!flags.empty() && numbers.notes > 0) {
    line += gap + (letters(flags) <= numbers.notes ? flags : "*");
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out_ << (flags.empty() ? line : in(kYellow, line)) << '\n';
}

namespace {

// The reason without its numbers, by which reasons are put together.
std::string kind_of(const std::string& reason) {
  std::string kind;
  for (const char letter : reason) {
    const bool digit = letter >= '0' && letter <= '9';
    if (!digit || kind.empty() || kind.back() != '#') {
      kind += digit ? '#' : letter;
    }
  }
  return kind;
}

}  // namespace

std::string reasons_text(const std::map<std::string, int>& reasons, const std::string& label,
                         std::size_t width) {
  constexpr std::ptrdiff_t kMostReasons = 5;  // a run of `smoke` has a dozen, and ends in a screen
  struct Kind {
    int cases = 0;
    std::set<std::string> reasons;
  };
  std::map<std::string, Kind> kinds;
  for (const auto& [reason, cases] : reasons) {
    Kind& kind = kinds[kind_of(reason)];
    kind.cases += cases;
    kind.reasons.insert(reason);
  }
  std::vector<Kind> ordered;
  ordered.reserve(kinds.size());
  for (const auto& [name, kind] : kinds) {
    ordered.push_back(kind);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Kind& a, const Kind& b) { return a.cases > b.cases; });
  std::string text;
  int left = std::accumulate(ordered.begin(), ordered.end(), 0,
                             [](int sum, const Kind& kind) { return sum + kind.cases; });
  for (const Kind& kind : ordered) {
    if (&kind - ordered.data() == kMostReasons) {
      const std::size_t others = ordered.size() - static_cast<std::size_t>(kMostReasons);
      return text + wrapped(label,
                            std::to_string(left) + (left == 1 ? " case" : " cases") + " skipped for " +
                                std::to_string(others) + (others == 1 ? " other reason" : " other reasons"),
                            label.size(), width);
    }
    left -= kind.cases;
    std::string reason = *kind.reasons.begin();
    if (kind.reasons.size() > 1) {
      reason += " (others differ in the numbers)";
    }
    text += wrapped(
        label, std::to_string(kind.cases) + (kind.cases == 1 ? " case" : " cases") + " skipped: " + reason,
        label.size(), width);
  }
  return text;
}

namespace {

constexpr std::size_t kMostHeadlines = 5;

std::int64_t size_of(const json& row) {
  const json& axes = row["case"]["axes"];
  return axes.contains("bytes") && axes["bytes"].is_number() ? axes["bytes"].get<std::int64_t>() : 0;
}

bool answers(const Headline& headline, const json& row) {
  if (row["status"] != "ok" || row["case"]["family"] != headline.family) {
    return false;
  }
  const json& axes = row["case"]["axes"];
  return std::all_of(headline.axes.begin(), headline.axes.end(), [&](const auto& axis) {
    return axes.contains(axis.first) && axes[axis.first] == axis.second;
  });
}

// Larger is better.
double merit_of(const json& row) {
  return has_rate(row) ? row["bandwidth_gb_s"].get<double>()
                       : -row.value("operation_s", row["median_s"].get<double>());
}

const json* best_row(const Headline& headline, const std::vector<json>& rows) {
  const json* best = nullptr;
  const auto rank = [&](const json& row) {
    return std::pair(headline.of_largest ? size_of(row) : 0, merit_of(row));
  };
  for (const json& row : rows) {
    if (answers(headline, row) && (best == nullptr || rank(row) > rank(*best))) {
      best = &row;
    }
  }
  return best;
}

}  // namespace

std::string headlines_text(const std::vector<json>& rows, const Screen& screen) {
  std::size_t label_width = 0;
  for (const Headline& headline : headlines()) {
    label_width = std::max(label_width, letters(headline.label));
  }
  label_width = std::min(label_width, screen.width - 2 * kIndent - kTimeWidth - kHalfWidthWidth);
  std::string text;
  std::size_t lines = 0;
  for (const Headline& headline : headlines()) {
    const json* row = lines < kMostHeadlines ? best_row(headline, rows) : nullptr;
    if (row == nullptr) {
      continue;
    }
    ++lines;
    std::string place = size_of(*row) > 0 ? format_bytes(static_cast<std::uint64_t>(size_of(*row))) : "";
    for (const auto& [key, value] : (*row)["case"]["site"].items()) {
      place += (place.empty() ? "" : ", ") + key + " " + value.dump();
    }
    std::string line =
        filled(shortened(headline.label, label_width), label_width) + "  " +
        filled(for_screen(has_rate(*row) ? rate_of(*row) : time_of(*row), screen), kTimeWidth, true) +
        filled(for_screen(half_width_of(*row), screen), kHalfWidthWidth + 1, true);
    if (letters(line) + kGap + letters(place) <= screen.width) {
      line += std::string(kGap, ' ') + place;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string flags_text(const std::vector<json>& rows) {
  std::map<std::string, int> counts;
  for (const json& row : rows) {
    for (const json& flag : row["status"] == "ok" ? row.value("flags", json::array()) : json::array()) {
      ++counts[flag];
    }
  }
  std::vector<std::pair<int, std::string>> ordered;
  ordered.reserve(counts.size());
  for (const auto& [flag, count] : counts) {
    ordered.emplace_back(-count, words_of(flag));
  }
  std::sort(ordered.begin(), ordered.end());
  std::string text;
  for (const auto& [count, flag] : ordered) {
    text += (text.empty() ? "" : ", ") + flag + " " + std::to_string(-count);
  }
  return text;
}

}  // namespace grainscope::harness
