#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0), start_s_(steady_now_s()) {}

Progress::~Progress() {
  wipe();
}

void Progress::expect(std::size_t visits) {
  cases_ = std::max<std::size_t>(done_ + visits, 1);
}

void Progress::start_case(const std::string& name) {
  name_ = name;
  wipe();
  draw();
}

void Progress::finish_case() {
  ++done_;
}

void Progress::wipe() const {
  if (terminal_) {
    std::fputs("\r\033[K", stderr);
  }
}

void Progress::draw() const {
  if (!terminal_) {
    return;
  }
  const double elapsed_s = steady_now_s() - start_s_;
  std::string left = "?";
  if (done_ > 0) {
    left = format_seconds(elapsed_s / static_cast<double>(done_) * static_cast<double>(cases_ - done_));
  }
  std::array<char, 64> head{};
  std::snprintf(head.data(), head.size(), "[%zu/%zu] %s left  ", done_ + 1, cases_, left.c_str());
  std::string line = head.data() + name_;
  line.resize(std::min(line.size(), terminal_width() - 1));
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace grainscope::harness
