// The kernels that reach over a link load and store what they say, as wide as they say, and in their
// loops. Comm|Scope's duplex zero-copy read had no load at all in its machine code: the compiler had found
// that nobody looked at what was read.

#include <cxxabi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace grainscope::test {

// A load from, or a store to, global memory: LDG.E, LDG.E.64, LDG.E.128, STG.E, ….
struct Access {
  enum class Kind { load, store };
  std::uint64_t address = 0;  // of the instruction
  Kind kind = Kind::load;
  int bytes = 4;  // of one lane
};

// The instructions from where a branch leads back to, up to the branch.
struct Loop {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] bool has(const Access& access) const {
    return first <= access.address && access.address <= last;
  }
};

struct Kernel {
  std::string name;  // demangled, without namespaces and parameters: "read_walk<Merged, 4>"
  std::vector<Access> accesses;
  std::vector<Loop> loops;

  // The most accesses of this kind and width that one loop has; 0 where no loop has one.
  [[nodiscard]] std::size_t most_in_a_loop(Access::Kind kind, int bytes) const;
  // The widths of all accesses of this kind in any loop, each once, in order.
  [[nodiscard]] std::vector<int> widths_in_loops(Access::Kind kind) const;
};

// The kernels in what `cuobjdump -sass` printed.
[[nodiscard]] std::vector<Kernel> parse_disassembly(const std::string& text);

// What `cuobjdump -sass` prints of a program, of sm_90 where it has that, else of its first architecture; or
// why there is nothing.
struct Disassembly {
  std::string text;
  std::string why_none;
};
// `tools`: a folder where cuobjdump and nvdisasm may be, besides those of PATH.
[[nodiscard]] Disassembly disassemble(const std::string& program, const std::string& tools);

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

// The kernels that reach over a link load and store what they say, as wide as they say, and in their loops.
// Comm|Scope's duplex zero-copy read had no load at all in its machine code: the compiler had found that
// nobody looked at what was read.

namespace {

using Kind = Access::Kind;

// What one loop of a kernel must have.
struct Claim {
  std::string kernel;
  Kind kind = Kind::load;
  int bytes = 4;
  std::size_t least = 1;      // accesses in one loop
  std::vector<int> widths{};  // all that its loops may have of this kind; empty: `bytes` alone
};

std::vector<Claim> claims() {
  constexpr std::size_t kInFlight = 4;  // of a thread before the first result is used
  std::vector<Claim> all{
      {"copy_elements", Kind::load, 16, kInFlight},
      {"copy_elements", Kind::store, 16, kInFlight},
      {"touch_pages", Kind::store, 4},
      // The rows, and the list that says where they are.
      {"gather_rows", Kind::load, 16, kInFlight, {8, 16}},
      {"gather_rows", Kind::load, 8, kInFlight, {8, 16}},
  };
  for (const int bytes : {4, 8, 16}) {
    const std::string width = std::to_string(bytes) + ">";
    for (const std::string pattern : {"Merged, ", "Scattered, "}) {
      all.push_back({"read_walk<" + pattern + width, Kind::load, bytes, kInFlight});
      all.push_back({"write_walk<" + pattern + width, Kind::store, bytes, kInFlight});
    }
    all.push_back({"read_walk<Strided, " + width, Kind::load, bytes});
    all.push_back({"write_walk<Strided, " + width, Kind::store, bytes});
  }
  const std::vector<std::pair<std::string, int>> elements{
      {"uint4", 16}, {"uint2", 8}, {"unsigned int", 4}, {"unsigned short", 2}, {"unsigned char", 1}};
  for (const auto& [type, bytes] : elements) {
    for (const Kind kind : {Kind::load, Kind::store}) {
      all.push_back({"copy_box<" + type + ">", kind, bytes});
    }
  }
  return all;
}

// Empty, or why the kernel does not do as it claims.
std::string broken(const Claim& claim, const std::vector<Kernel>& kernels) {
  const std::string what = claim.kind == Kind::load ? "loads" : "stores";
  for (const Kernel& kernel : kernels) {
    if (kernel.name != claim.kernel) {
      continue;
    }
    const std::size_t most = kernel.most_in_a_loop(claim.kind, claim.bytes);
    if (most < claim.least) {
      return std::to_string(most) + " " + what + " of " + std::to_string(claim.bytes) +
             " bytes in a loop, not " + std::to_string(claim.least);
    }
    const std::vector<int> allowed = claim.widths.empty() ? std::vector{claim.bytes} : claim.widths;
    return kernel.widths_in_loops(claim.kind) == allowed ? "" : what + " of other widths in its loops";
  }
  return "no such kernel";
}

TEST(MachineCode, accesses_memory_as_its_kernels_claim) {
  const Disassembly disassembly = disassemble(GRAINSCOPE_GPU_PROGRAM, GRAINSCOPE_CUDA_TOOLS);
  if (!disassembly.why_none.empty()) {
    GTEST_SKIP() << disassembly.why_none;
  }
  const std::vector<Kernel> kernels = parse_disassembly(disassembly.text);
  ASSERT_FALSE(kernels.empty());
  for (const Claim& claim : claims()) {
    EXPECT_EQ(broken(claim, kernels), "") << claim.kernel;
  }
  // A walk that writes has no reason to read, or its time would be that of both.
  for (const Kernel& kernel : kernels) {
    if (kernel.name.starts_with("write_walk<") || kernel.name == "touch_pages") {
      EXPECT_EQ(kernel.widths_in_loops(Kind::load), std::vector<int>{}) << kernel.name;
    }
  }
}

// As the disassembler prints it; the parts that do not matter are left out.
std::string listing(const std::string& body) {
  return "\t\tFunction : _ZN10grainscope8transfer12_GLOBAL__N_19read_walkINS1_6MergedELi8EEEvPKSt4byte\n"
         "        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x00000a00ff017b82 */\n"
         "                                                               /* 0x000fe40000000f00 */\n" +
         body +
         "        /*0780*/                   EXIT ;                      /* 0x000000000000794d */\n"
         "        /*0790*/                   BRA 0x790;                  /* 0xfffffffc00fc7947 */\n"
         "\t\t..........\n";
}

std::string line(const char* address, const std::string& instruction) {
  return "        /*" + std::string(address) + "*/                   " + instruction +
         " ;     /* 0x0000000816177981 */\n";
}

const Claim kClaim{"read_walk<Merged, 8>", Kind::load, 8, 2};

TEST(Disassembly, finds_the_accesses_of_a_loop) {
  const auto kernels = parse_disassembly(
      listing(line("0100", "LDG.E R2, desc[UR8][R22.64]") + line("0220", "LDG.E.64 R2, desc[UR8][R22.64]") +
              line("0230", "@P2 LDG.E.64.CONSTANT R4, desc[UR8][R20.64+0x8]") +
              line("0300", "STG.E.U8 desc[UR8][R20.64], R4") + line("03e0", "@!P0 BRA 0x220")));
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].name, "read_walk<Merged, 8>");
  EXPECT_EQ(kernels[0].accesses.size(), 4U);
  ASSERT_EQ(kernels[0].loops.size(), 1U);
  EXPECT_EQ(kernels[0].most_in_a_loop(Kind::load, 8), 2U);
  EXPECT_EQ(kernels[0].most_in_a_loop(Kind::load, 4), 0U);
  EXPECT_EQ(kernels[0].widths_in_loops(Kind::store), std::vector<int>{1});
  EXPECT_EQ(broken(kClaim, kernels), "");
}

TEST(Disassembly, tells_every_width) {
  const std::vector<std::pair<std::string, int>> widths{{"LDG.E", 4},
                                                        {"LDG.E.64", 8},
                                                        {"LDG.E.128", 16},
                                                        {"LDG.E.U8", 1},
                                                        {"LDG.E.S8", 1},
                                                        {"LDG.E.U16", 2},
                                                        {"LDG.E.CONSTANT", 4},
                                                        {"LDG.E.STRONG.SYS", 4},
                                                        {"LDG.E.128.CONSTANT", 16},
                                                        {"LDG.E.64.STRONG.GPU", 8},
                                                        {"LDG.E.U16.CONSTANT", 2}};
  for (const auto& [operation, bytes] : widths) {
    const auto kernels = parse_disassembly(listing(line("0220", operation + " R2, desc[UR8][R22.64]")));
    ASSERT_EQ(kernels[0].accesses.size(), 1U) << operation;
    EXPECT_EQ(kernels[0].accesses[0].bytes, bytes) << operation;
  }
}

TEST(Disassembly, a_load_that_was_optimised_away_hoisted_or_narrowed_is_seen) {
  const std::string load = " R2, desc[UR8][R22.64]";
  const std::string loop = line("03e0", "@!P0 BRA 0x220");
  EXPECT_NE(broken(kClaim, parse_disassembly(listing(loop))), "") << "gone";
  EXPECT_NE(broken(kClaim, parse_disassembly(listing(line("0200", "LDG.E.64" + load) +
                                                     line("0210", "LDG.E.64" + load) + loop))),
            "")
      << "before the loop";
  EXPECT_NE(broken(kClaim, parse_disassembly(
                               listing(line("0230", "LDG.E" + load) + line("0240", "LDG.E" + load) + loop))),
            "")
      << "narrower";
  EXPECT_NE(broken(kClaim, parse_disassembly(listing(line("0230", "LDG.E.64" + load) + loop))), "")
      << "fewer";
  EXPECT_NE(broken(kClaim, parse_disassembly(listing(line("0230", "LDG.E.64" + load) +
                                                     line("0240", "LDG.E.64" + load) +
                                                     line("0250", "LDG.E" + load) + loop))),
            "")
      << "another beside them";
  EXPECT_NE(broken({"write_walk<Merged, 8>"}, parse_disassembly(listing(loop))), "") << "another kernel";
}

TEST(Disassembly, says_why_there_is_none) {
  EXPECT_NE(disassemble("", "").why_none.find("without CUDA"), std::string::npos);
}

}  // namespace
}  // namespace grainscope::test
