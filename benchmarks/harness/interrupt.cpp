#include "interrupt.hpp"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace grainscope::harness {
namespace {

// A signal handler has no other way to tell the program.
std::atomic<int> g_signal{0};

void remember(int signal) {
  g_signal = signal;
}

}  // namespace

void catch_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    action.sa_handler = remember;
    // The second one takes its default course.
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(signal, &action, nullptr);
  }
}

int signal_received() noexcept {
  return g_signal;
}

}  // namespace grainscope::harness
