#include "terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace grainscope::test {

Terminal::Terminal() : reader_(posix_openpt(O_RDWR | O_NOCTTY)) {
  if (reader_ >= 0 && grantpt(reader_) == 0 && unlockpt(reader_) == 0) {
    writer_ = open(ptsname(reader_), O_RDWR | O_NOCTTY);
  }
  const winsize size{25, 100, 0, 0};
  if (writer_ < 0 || ioctl(writer_, TIOCSWINSZ, &size) != 0) {
    throw std::runtime_error("could not open a terminal");
  }
}

Terminal::~Terminal() {
  close(reader_);
  close(writer_);
}

void Terminal::become(int stream) const {
  if (dup2(writer_, stream) < 0) {
    _exit(126);
  }
}

std::string Terminal::read_to_the_end() {
  // While this process holds the writing end there is no end to read to.
  close(writer_);
  writer_ = -1;
  std::string text;
  std::array<char, 4096> part{};
  ssize_t size = 0;
  // Without a writer a terminal gives an error, not an empty read.
  while ((size = read(reader_, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace grainscope::test
