#include "fake_kernel.hpp"

#include <numaif.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>

#include "grainscope/system/sysfs.hpp"

namespace grainscope::test {
namespace {

constexpr int kNoNode = -1;

struct Bound {
  std::vector<int> cpus;
  int node = kNoNode;
};
struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
  int node;
};

struct State {
  bool on = false;
  std::thread::id caller;
  std::vector<int> all;
  std::vector<std::string> of_caller;
  std::vector<std::string> of_workers;
  std::vector<std::string> of_buffers;
  std::vector<Range> ranges;
  int generation = 0;
};
State state;
std::mutex guard;
// Of the calling thread, since `generation`: threads of an earlier machine do not live on.
thread_local Bound bound;
thread_local int bound_in = -1;

Bound& mine() {
  if (bound_in != state.generation) {
    bound = {state.all, kNoNode};
    bound_in = state.generation;
  }
  return bound;
}

void add_once(std::vector<std::string>& lines, const std::string& line) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
    lines.push_back(line);
  }
}

std::string text_of(const Bound& now) {
  return "CPUs " + sysfs::format_list(now.cpus) + ", " +
         (now.node == kNoNode ? "memory anywhere" : "memory of node " + std::to_string(now.node));
}

void note() {
  if (std::this_thread::get_id() == state.caller) {
    add_once(state.of_caller, text_of(mine()));
  } else {
    add_once(state.of_workers, "CPUs " + sysfs::format_list(mine().cpus));
  }
}

std::vector<int> bits_of(const void* words, std::size_t bytes) {
  std::vector<int> bits;
  for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
    if ((static_cast<const unsigned char*>(words)[bit / 8] >> (bit % 8) & 1) != 0) {
      bits.push_back(static_cast<int>(bit));
    }
  }
  return bits;
}

int set_cpus(const void* set, std::size_t bytes) {
  const std::lock_guard lock(guard);
  mine().cpus = bits_of(set, bytes);
  note();
  return 0;
}

int get_cpus(void* set, std::size_t bytes) {
  const std::lock_guard lock(guard);
  std::memset(set, 0, bytes);
  for (const int cpu : mine().cpus) {
    static_cast<unsigned char*>(set)[cpu / 8] |= static_cast<unsigned char>(1U << (cpu % 8));
  }
  return 0;
}

int first_node(const unsigned long* nodes, unsigned long bits) {
  const std::vector<int> named = nodes == nullptr ? std::vector<int>() : bits_of(nodes, bits / 8);
  return named.empty() ? kNoNode : named.front();
}

int node_of(const void* page) {
  const auto address = reinterpret_cast<std::uintptr_t>(page);
  for (auto range = state.ranges.rbegin(); range != state.ranges.rend(); ++range) {
    if (address >= range->begin && address < range->end) {
      return range->node;
    }
  }
  return mine().node == kNoNode ? 0 : mine().node;
}

}  // namespace

FakeKernel::FakeKernel(const std::vector<int>& cpus) {
  const std::lock_guard lock(guard);
  const int generation = state.generation + 1;
  state = {};
  state.on = true;
  state.caller = std::this_thread::get_id();
  state.all = cpus;
  state.generation = generation;
}
FakeKernel::~FakeKernel() {
  const std::lock_guard lock(guard);
  state.on = false;
}

std::vector<std::string> FakeKernel::of_caller() const {
  return state.of_caller;
}
std::vector<std::string> FakeKernel::of_workers() const {
  std::vector<std::string> sorted = state.of_workers;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}
std::vector<std::string> FakeKernel::of_buffers() const {
  return state.of_buffers;
}
std::string FakeKernel::now() {
  return text_of(mine());
}

}  // namespace grainscope::test

using namespace grainscope::test;

extern "C" {
int __real_sched_setaffinity(pid_t pid, std::size_t bytes, const cpu_set_t* set);
int __wrap_sched_setaffinity(pid_t pid, std::size_t bytes, const cpu_set_t* set) {
  return state.on ? set_cpus(set, bytes) : __real_sched_setaffinity(pid, bytes, set);
}
int __real_sched_getaffinity(pid_t pid, std::size_t bytes, cpu_set_t* set);
int __wrap_sched_getaffinity(pid_t pid, std::size_t bytes, cpu_set_t* set) {
  return state.on ? get_cpus(set, bytes) : __real_sched_getaffinity(pid, bytes, set);
}
int __real_pthread_setaffinity_np(pthread_t thread, std::size_t bytes, const cpu_set_t* set);
int __wrap_pthread_setaffinity_np(pthread_t thread, std::size_t bytes, const cpu_set_t* set) {
  return state.on ? set_cpus(set, bytes) : __real_pthread_setaffinity_np(thread, bytes, set);
}
int __real_pthread_getaffinity_np(pthread_t thread, std::size_t bytes, cpu_set_t* set);
int __wrap_pthread_getaffinity_np(pthread_t thread, std::size_t bytes, cpu_set_t* set) {
  return state.on ? get_cpus(set, bytes) : __real_pthread_getaffinity_np(thread, bytes, set);
}
int __real_numa_available();
int __wrap_numa_available() {
  return state.on ? 0 : __real_numa_available();
}
long __real_set_mempolicy(int mode, const unsigned long* nodes, unsigned long bits);
long __wrap_set_mempolicy(int mode, const unsigned long* nodes, unsigned long bits) {
  if (!state.on) {
    return __real_set_mempolicy(mode, nodes, bits);
  }
  const std::lock_guard lock(guard);
  mine().node = first_node(nodes, bits);
  note();
  return 0;
}
long __real_get_mempolicy(int* mode, unsigned long* nodes, unsigned long bits, void* address, unsigned flags);
long __wrap_get_mempolicy(int* mode, unsigned long* nodes, unsigned long bits, void* address,
                          unsigned flags) {
  if (!state.on) {
    return __real_get_mempolicy(mode, nodes, bits, address, flags);
  }
  const std::lock_guard lock(guard);
  const int node = mine().node;
  *mode = node == kNoNode ? MPOL_DEFAULT : MPOL_BIND;
  if (nodes != nullptr) {
    std::memset(nodes, 0, bits / 8);
    if (node != kNoNode) {
      nodes[0] = 1UL << static_cast<unsigned>(node);
    }
  }
  return 0;
}
long __real_mbind(void* begin, unsigned long bytes, int mode, const unsigned long* nodes, unsigned long bits,
                  unsigned flags);
long __wrap_mbind(void* begin, unsigned long bytes, int mode, const unsigned long* nodes, unsigned long bits,
                  unsigned flags) {
  if (!state.on) {
    return __real_mbind(begin, bytes, mode, nodes, bits, flags);
  }
  const std::lock_guard lock(guard);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  state.ranges.push_back({address, address + bytes, first_node(nodes, bits)});
  add_once(state.of_buffers, "node " + std::to_string(state.ranges.back().node));
  return 0;
}
long __real_move_pages(int pid, unsigned long count, void** pages, const int* nodes, int* status, int flags);
long __wrap_move_pages(int pid, unsigned long count, void** pages, const int* nodes, int* status, int flags) {
  if (!state.on) {
    return __real_move_pages(pid, count, pages, nodes, status, flags);
  }
  const std::lock_guard lock(guard);
  for (unsigned long i = 0; i < count; ++i) {
    status[i] = node_of(pages[i]);
  }
  return 0;
}
}
