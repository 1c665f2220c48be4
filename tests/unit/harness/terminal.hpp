#ifndef GRAINSCOPE_TESTS_TERMINAL_HPP
#define GRAINSCOPE_TESTS_TERMINAL_HPP

#include <string>

namespace grainscope::test {

// A terminal 100 columns wide, whose reader is the test. Made before a child that writes to it.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // In the child: makes the terminal one of its streams.
  void become(int stream) const;
  // In the test: everything that is written until the last writer is gone.
  [[nodiscard]] std::string read_to_the_end();

 private:
  int reader_ = -1;
  int writer_ = -1;
};

}  // namespace grainscope::test

#endif
