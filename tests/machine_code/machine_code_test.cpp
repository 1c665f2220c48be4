// The kernels that reach over a link load and store what they say, as wide as they say, and in their loops.
// Comm|Scope's duplex zero-copy read had no load at all in its machine code: the compiler had found that
// nobody looked at what was read.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "disassembly.hpp"

namespace grainscope::test {
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
