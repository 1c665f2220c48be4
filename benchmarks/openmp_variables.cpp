#include "openmp_variables.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

namespace grainscope::harness {
namespace {

constexpr std::size_t kMostVariables = 64;

// Written before any constructor has run: only what the linker lays out is there by then.
const char* g_set_aside[kMostVariables];  // NAME=value, as the kernel left them on the stack
std::size_t g_set_aside_count = 0;

// These two call no library: none is ready yet, a sanitizer's neither.
[[gnu::no_sanitize("address", "thread", "undefined")]] bool begins_with(const char* text,
                                                                        const char* prefix) {
  for (; *prefix != '\0'; ++text, ++prefix) {
    if (*text != *prefix) {
      return false;
    }
  }
  return true;
}

[[gnu::no_sanitize("address", "thread", "undefined")]] void set_openmp_variables_aside(int /*argc*/,
                                                                                       char** /*argv*/,
                                                                                       char** variables) {
  char** kept = variables;
  for (char** each = variables; *each != nullptr; ++each) {
    if (!begins_with(*each, "OMP_") && !begins_with(*each, "GOMP_") && !begins_with(*each, "KMP_")) {
      *kept++ = *each;
    } else if (g_set_aside_count < kMostVariables) {
      g_set_aside[g_set_aside_count++] = *each;
    }
  }
  *kept = nullptr;
}

// The loader calls what is in this section before the constructors of every library, libgomp's among them.
__attribute__((section(".preinit_array"),
               used)) void (*g_before_libraries)(int, char**, char**) = set_openmp_variables_aside;

// A value that may name a person or a folder, or write to a terminal, is not shown.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_={},:-*.() ").find(letter) != std::string_view::npos;
  });
}

}  // namespace

std::optional<Warning> openmp_warning() {
  std::string names;
  std::string settings;
  for (std::size_t i = 0; i < g_set_aside_count; ++i) {
    const std::string_view text(g_set_aside[i]);
    const std::string_view name = text.substr(0, text.find('='));
    settings += (i == 0 ? "" : ", ") + std::string(is_plain(text) ? text : name);
    names += " " + std::string(name);
  }
  if (settings.empty()) {
    return std::nullopt;
  }
  return Warning{
      "cpu.openmp_variables", Severity::warning, "variables of OpenMP are set and not used: " + settings,
      "none on this run; with them, cases would have other threads or CPUs under the same names",
      "unset" + names + "; to measure on fewer CPUs, start the program with a mask: taskset --cpu-list 0-3"};
}

}  // namespace grainscope::harness
