// Prints to stdout as some libraries do: when it is loaded, and later.
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

void print(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

struct Chatty {
  Chatty() {
    print("NCCL version 0.0");
    std::thread([] {
      while (true) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        print("still here");
      }
    }).detach();
  }
} chatty;

}  // namespace
