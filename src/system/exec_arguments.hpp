#ifndef GRAINSCOPE_SRC_SYSTEM_EXEC_ARGUMENTS_HPP
#define GRAINSCOPE_SRC_SYSTEM_EXEC_ARGUMENTS_HPP

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "grainscope/system/child_process.hpp"

namespace grainscope {

// What exec is given, made before the fork: the child may not take memory.
class ExecArguments {
 public:
  ExecArguments(const ChildRequest& request, const std::string& program) : words_(request.words) {
    words_.front() = program;
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string_view text(*each);
      const std::string_view name = text.substr(0, text.find('='));
      const auto is_name = [&](const std::string& other) { return other == name; };
      const bool replaced = std::any_of(request.set.begin(), request.set.end(),
                                        [&](const auto& variable) { return variable.first == name; });
      if (!replaced && std::none_of(request.unset.begin(), request.unset.end(), is_name)) {
        variables_.emplace_back(text);
      }
    }
    for (const auto& [name, value] : request.set) {
      variables_.push_back(name + "=" + value);
    }
    word_pointers_ = pointers(words_);
    variable_pointers_ = pointers(variables_);
  }
  [[nodiscard]] char* const* words() const { return word_pointers_.data(); }
  [[nodiscard]] char* const* variables() const { return variable_pointers_.data(); }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) {
      result.push_back(text.data());
    }
    result.push_back(nullptr);
    return result;
  }

  std::vector<std::string> words_;
  std::vector<std::string> variables_;
  std::vector<char*> word_pointers_;
  std::vector<char*> variable_pointers_;
};

}  // namespace grainscope

#endif
