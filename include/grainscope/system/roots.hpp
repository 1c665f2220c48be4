#ifndef GRAINSCOPE_SYSTEM_ROOTS_HPP
#define GRAINSCOPE_SYSTEM_ROOTS_HPP

// Where the machine is read from: every probe takes its roots from outside, so that a test, or a report
// about a node that is not at hand, can give it another machine.

#include <filesystem>
#include <string>

namespace grainscope {

struct Roots {
  // What stands for `/` when /proc and /sys are read.
  std::filesystem::path filesystem = "/";
  // Path of an hwloc XML export (`lstopo --of xml`). Empty: the topology is read below `filesystem`.
  std::string hwloc_xml;

  // Whether `/proc` and `/sys` are those of the machine that runs this program.
  [[nodiscard]] bool is_this_machine() const { return filesystem == "/" && hwloc_xml.empty(); }
};

}  // namespace grainscope

#endif
