#ifndef GRAINSCOPE_TESTS_MACHINE_CODE_DISASSEMBLY_HPP
#define GRAINSCOPE_TESTS_MACHINE_CODE_DISASSEMBLY_HPP

// What the GPU's machine code of a program loads and stores, and in which loops, as cuobjdump prints it.

#include <cstddef>
#include <cstdint>
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

}  // namespace grainscope::test

#endif
