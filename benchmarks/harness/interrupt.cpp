#include "interrupt.hpp"

#include <atomic>
#include <csignal>
#include <ctime>

namespace grainscope::harness {
namespace {

// A signal handler has no other way to tell the program.
std::atomic<int> g_signal{0};
// Of the monotonic clock; written before g_signal, by the first signal alone.
std::atomic<double> g_signal_s{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<double>::is_always_lock_free);

// What asks a run to end: Ctrl-C, a batch system, a terminal that closes, and its Ctrl-\ (quit).
constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

double now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void remember(int signal) {
  if (g_signal == 0) {
    g_signal_s = now_s();
    g_signal = signal;
  } else if (now_s() - g_signal_s > kOneRequestS) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  // None interrupts another's handler.
  for (const int signal : kEndings) {
    sigaddset(&action.sa_mask, signal);
  }
  for (const int signal : kEndings) {
    struct sigaction before {};
    // A run under nohup goes on when its terminal closes.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
  // A file that may not grow is an error of writing, which is told.
  std::signal(SIGXFSZ, SIG_IGN);
}

int signal_received() noexcept {
  return g_signal;
}

}  // namespace grainscope::harness
