#ifndef GRAINSCOPE_TESTS_FAKE_KERNEL_HPP
#define GRAINSCOPE_TESTS_FAKE_KERNEL_HPP

#include <string>
#include <vector>

namespace grainscope::test {

// While one lives, threads and memory are bound to CPUs and nodes of a machine that is not at hand: the calls
// are noted and answered, and the kernel hears nothing of them (--wrap in CMakeLists.txt).
class [[nodiscard]] FakeKernel {
 public:
  explicit FakeKernel(const std::vector<int>& cpus);
  ~FakeKernel();
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  // What the calling thread was bound to, each once, in the order in which it came: "CPUs 0-3", "memory of
  // node 0".
  [[nodiscard]] std::vector<std::string> of_caller() const;
  // CPUs that other threads were bound to, sorted.
  [[nodiscard]] std::vector<std::string> of_workers() const;
  // "node 1", of each buffer that was bound, each once, in order.
  [[nodiscard]] std::vector<std::string> of_buffers() const;
  // What the calling thread is bound to now.
  [[nodiscard]] static std::string now();
};

}  // namespace grainscope::test

#endif
