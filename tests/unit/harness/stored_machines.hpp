#ifndef GRAINSCOPE_TESTS_STORED_MACHINES_HPP
#define GRAINSCOPE_TESTS_STORED_MACHINES_HPP

// Machines that are not at hand, as families see them.

#include <map>
#include <string>

#include "../system/machine_tree.hpp"
#include "harness/machine.hpp"

namespace grainscope::test {

// A machine of `sockets` nodes of four CPUs with `gpus` GPUs, divided among the nodes.
struct Described {
  int sockets = 1;
  int gpus = 0;
  bool peers = true;
  bool maps = true;
  bool mps = true;
};

[[nodiscard]] const std::map<std::string, Described>& stored_machines();

// Writes its files into `tree`, and reads them. All that families look at is set, so that it does not matter
// where this runs.
[[nodiscard]] harness::Machine write_machine(const Described& described, MachineTree& tree);

}  // namespace grainscope::test

#endif
