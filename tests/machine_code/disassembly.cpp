#include "disassembly.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

namespace grainscope::test {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

// "void a::(anonymous namespace)::f<a::(anonymous namespace)::T, 4>(int)" is f<T, 4>.
std::string short_name(const std::string& mangled) {
  static const std::regex kNamespaces(R"((\w+::)*\(anonymous namespace\)::|grainscope::\w+::)");
  std::string name = std::regex_replace(demangled(mangled), kNamespaces, "");
  name = name.substr(0, name.find('('));
  return name.starts_with("void ") ? name.substr(5) : name;
}

// The address before an instruction, and the instruction: "/*0250*/   LDG.E R23, … ;".
bool split_line(const std::string& line, std::uint64_t& address, std::string& instruction) {
  const std::size_t open = line.find_first_not_of(" \t");
  if (open == std::string::npos || line.compare(open, 2, "/*") != 0) {
    return false;
  }
  const std::size_t close = line.find("*/", open);
  const std::size_t end = line.find(';', open);
  if (close == std::string::npos || end == std::string::npos || close > end) {
    return false;  // the second half of an encoding
  }
  char* stopped = nullptr;
  address = std::strtoull(line.c_str() + open + 2, &stopped, 16);
  if (stopped != line.c_str() + close) {
    return false;
  }
  instruction = line.substr(close + 2, end - close - 2);
  return true;
}

// Without the predicate: the operation and what follows it.
std::string operation_of(const std::string& instruction) {
  std::istringstream words(instruction);
  std::string word;
  words >> word;
  if (word.starts_with('@')) {
    words >> word;
  }
  return word;
}

int width_of(const std::string& operation) {
  for (const auto& [suffix, bytes] : {std::pair{".128", 16}, std::pair{".64", 8}, std::pair{"8", 1}}) {
    const std::size_t at = operation.find(suffix);
    const bool is_byte = bytes == 1 && at != std::string::npos && at > 0 &&
                         (operation[at - 1] == 'U' || operation[at - 1] == 'S');
    if (at != std::string::npos && (bytes > 1 || is_byte)) {
      return bytes;
    }
  }
  return operation.find("U16") != std::string::npos || operation.find("S16") != std::string::npos ? 2 : 4;
}

void note(Kernel& kernel, std::uint64_t address, const std::string& instruction) {
  const std::string operation = operation_of(instruction);
  if (operation.starts_with("LDG") || operation.starts_with("STG")) {
    kernel.accesses.push_back(
        {address, operation[0] == 'L' ? Access::Kind::load : Access::Kind::store, width_of(operation)});
  } else if (operation.starts_with("BRA")) {
    const std::size_t at = instruction.rfind("0x");
    const std::uint64_t to =
        at == std::string::npos ? address : std::strtoull(instruction.c_str() + at, nullptr, 16);
    if (to < address) {  // the branch to itself behind a kernel's end is no loop
      kernel.loops.push_back({to, address});
    }
  }
}

// Standard output of a shell command; `status` as pclose gives it.
std::string output_of(const std::string& command, int& status) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    status = -1;
    return text;
  }
  std::array<char, 1 << 16> chunk{};
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    text.append(chunk.data(), got);
  }
  status = pclose(pipe);
  return text;
}

}  // namespace

std::size_t Kernel::most_in_a_loop(Access::Kind kind, int bytes) const {
  std::size_t most = 0;
  for (const Loop& loop : loops) {
    const auto there = std::count_if(accesses.begin(), accesses.end(), [&](const Access& access) {
      return access.kind == kind && access.bytes == bytes && loop.has(access);
    });
    most = std::max(most, static_cast<std::size_t>(there));
  }
  return most;
}

std::vector<int> Kernel::widths_in_loops(Access::Kind kind) const {
  std::set<int> widths;
  for (const Access& access : accesses) {
    if (access.kind == kind &&
        std::any_of(loops.begin(), loops.end(), [&](const Loop& loop) { return loop.has(access); })) {
      widths.insert(access.bytes);
    }
  }
  return {widths.begin(), widths.end()};
}

std::vector<Kernel> parse_disassembly(const std::string& text) {
  static const std::string kFunction = "Function : ";
  std::vector<Kernel> kernels;
  std::istringstream lines(text);
  std::string line;
  std::string instruction;
  std::uint64_t address = 0;
  while (std::getline(lines, line)) {
    if (const std::size_t at = line.find(kFunction); at != std::string::npos) {
      kernels.push_back({short_name(line.substr(at + kFunction.size())), {}, {}});
    } else if (!kernels.empty() && split_line(line, address, instruction)) {
      note(kernels.back(), address, instruction);
    }
  }
  return kernels;
}

Disassembly disassemble(const std::string& program, const std::string& tools) {
  if (program.empty()) {
    return {"", "built without CUDA: there is no machine code of a GPU"};
  }
  const std::string path = "PATH='" + tools + "':\"$PATH\" ";
  int status = 0;
  for (const char* tool : {"cuobjdump", "nvdisasm"}) {
    static_cast<void>(output_of(path + "command -v " + tool, status));
    if (status != 0) {
      return {"",
              std::string(tool) + " is neither in PATH nor beside the compiler: it comes with the toolkit"};
    }
  }
  const std::string listed = output_of(path + "cuobjdump --list-elf '" + program + "' 2>&1", status);
  std::smatch found;
  const bool has_90 = listed.find(".sm_90.") != std::string::npos;
  if (!has_90 && !std::regex_search(listed, found, std::regex(R"(\.(sm_\w+)\.)"))) {
    return {"", "cuobjdump finds no machine code in " + program + ": " + listed.substr(0, 200)};
  }
  const std::string architecture = has_90 ? "sm_90" : found[1].str();
  Disassembly disassembly;
  disassembly.text = output_of(path + "cuobjdump -sass -arch " + architecture + " '" + program + "'", status);
  if (status != 0) {
    disassembly = {"", "cuobjdump cannot disassemble " + program + " for " + architecture};
  }
  return disassembly;
}

}  // namespace grainscope::test
