#include "presets.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

const char* const kEveryFamily = "*";

[[noreturn]] void refuse(const std::string& line, const std::string& why) {
  throw std::logic_error("the table of presets cannot be read: " + why + " in `" + line + "`");
}

// $name for what a line `let name = values` gave it.
std::string with_names(const std::string& values, const std::map<std::string, std::string>& named,
                       const std::string& line) {
  std::string text;
  std::size_t at = 0;
  while (at < values.size()) {
    const std::size_t dollar = std::min(values.find('$', at), values.size());
    text += values.substr(at, dollar - at);
    if (dollar == values.size()) {
      break;
    }
    const std::size_t end = std::min(values.find(',', dollar), values.size());
    const auto name = named.find(values.substr(dollar + 1, end - dollar - 1));
    if (name == named.end()) {
      refuse(line, "nothing is named " + values.substr(dollar, end - dollar));
    }
    text += name->second;
    at = end;
  }
  return text;
}

void set_default(PresetLine& line, const std::pair<std::string, std::string>& axis) {
  const bool there = std::any_of(line.axes.begin(), line.axes.end(),
                                 [&](const auto& each) { return each.first == axis.first; });
  if (!there) {
    line.axes.push_back(axis);
  }
}

class Reader {
 public:
  std::vector<PresetLine> read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      line = line.substr(0, line.find('#'));
      if (line.find_first_not_of(' ') == std::string::npos) {
        continue;
      }
      if (line.starts_with("let ")) {
        add_name(line);
      } else if (line.front() != ' ') {
        family_ = line.substr(0, line.find_last_not_of(' ') + 1);
      } else {
        add_line(line);
      }
    }
    return std::move(lines_);
  }

 private:
  void add_name(const std::string& line) {
    std::istringstream words(line.substr(4));
    std::string name;
    std::string is;
    std::string values;
    if (!(words >> name >> is >> values) || is != "=") {
      refuse(line, "no `let name = values`");
    }
    named_[name] = with_names(values, named_, line);
  }

  void add_line(const std::string& line) {
    if (family_.empty()) {
      refuse(line, "no family before it");
    }
    PresetLine read{family_, {}, {}};
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos && read.axes.empty()) {
        read.presets.push_back(parse_preset(word));
      } else if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
        refuse(line, "`" + word + "` is no axis=values");
      } else {
        const std::string key = word.substr(0, equals);
        if (std::any_of(read.axes.begin(), read.axes.end(),
                        [&](const auto& each) { return each.first == key; })) {
          refuse(line, "axis " + key + " stands twice");
        }
        read.axes.emplace_back(key, with_names(word.substr(equals + 1), named_, line));
      }
    }
    if (read.presets.empty()) {
      refuse(line, "no preset");
    }
    if (family_ == kEveryFamily) {
      defaults_.push_back(std::move(read));
      return;
    }
    // A line of several presets becomes one for each, since what holds of all families differs between them.
    for (const Preset preset : read.presets) {
      PresetLine of_one{read.family, {preset}, read.axes};
      for (const PresetLine& each : defaults_) {
        if (std::find(each.presets.begin(), each.presets.end(), preset) != each.presets.end()) {
          for (const auto& axis : each.axes) {
            set_default(of_one, axis);
          }
        }
      }
      lines_.push_back(std::move(of_one));
    }
  }

  std::string family_;
  std::map<std::string, std::string> named_;
  std::vector<PresetLine> defaults_;
  std::vector<PresetLine> lines_;
};

}  // namespace

Preset parse_preset(std::string_view text) {
  for (const Preset preset : kAllPresets) {
    if (text == name(preset)) {
      return preset;
    }
  }
  const std::string near = nearest(std::string(text), {"smoke", "quick", "full", "paper", "acceptance"});
  throw UsageError("there is no preset '" + std::string(text) + "'; " +
                   (near.empty() ? "" : "did you mean " + near + "? ") +
                   "there are smoke, quick, full, paper and acceptance");
}

const char* name(Preset preset) {
  switch (preset) {
    case Preset::smoke:
      return "smoke";
    case Preset::quick:
      return "quick";
    case Preset::full:
      return "full";
    case Preset::paper:
      return "paper";
    case Preset::acceptance:
      return "acceptance";
  }
  return "?";
}

std::vector<PresetLine> read_presets(const std::string& text) {
  try {
    return Reader().read(text);
  } catch (const UsageError& error) {
    throw std::logic_error(std::string("the table of presets cannot be read: ") + error.what());
  }
}

const std::vector<PresetLine>& preset_lines() {
  static const std::vector<PresetLine> lines = read_presets(kPresetTable);
  return lines;
}

std::vector<const PresetLine*> preset_lines(const std::string& family, Preset preset) {
  std::vector<const PresetLine*> lines;
  for (const PresetLine& line : preset_lines()) {
    if (line.family == family && line.presets.front() == preset) {
      lines.push_back(&line);
    }
  }
  return lines;
}

}  // namespace grainscope::harness
