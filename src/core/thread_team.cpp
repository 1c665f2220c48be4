#include "grainscope/core/thread_team.hpp"

#include <pthread.h>
#include <sched.h>

#include <string>
#include <system_error>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope {
namespace {

void bind_to_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  // Where the kernel refuses, the thread still works, only less predictably.
  static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof(set), &set));
}

}  // namespace

OnCpu::OnCpu(int cpu) {
  if (cpu >= 0 && pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_) == 0 &&
      CPU_COUNT(&before_) > 1) {
    bind_to_cpu(cpu);
    bound_ = true;
  }
}

OnCpu::~OnCpu() {
  if (bound_) {
    static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_));
  }
}

ThreadTeam::ThreadTeam(int size, const std::vector<int>& cpus)
    : size_(size), callers_cpu_(size < 2 || cpus.empty() ? -1 : cpus.front()) {
  if (size < 1) {
    throw UsageError("a team of " + std::to_string(size) + " threads makes no sense; ask for at least one");
  }
  try {
    for (int i = 1; i < size; ++i) {
      const int cpu = cpus.empty() ? -1 : cpus[static_cast<std::size_t>(i) % cpus.size()];
      threads_.emplace_back([this, i, cpu] {
        if (cpu >= 0) {
          bind_to_cpu(cpu);
        }
        serve(i);
      });
    }
  } catch (const std::system_error& error) {
    stop();
    throw EnvironmentError("could not start " + std::to_string(size) + " threads: " + error.what() +
                           "; raise `ulimit -u` or the container's pids limit");
  }
}

ThreadTeam::~ThreadTeam() {
  stop();
}

void ThreadTeam::stop() {
  stopping_ = true;
  armed_.fetch_add(1);
  armed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadTeam::serve(int index) {
  unsigned seen = 0;
  while (true) {
    armed_.wait(seen);
    seen = armed_.load();
    if (stopping_) {
      return;
    }
    ready_.fetch_add(1);
    SpinWait wait;
    while (started_.load(std::memory_order_acquire) != seen) {
      wait.pause();
    }
    (*work_)(index);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

double ThreadTeam::run(const std::function<void(int)>& work) {
  const OnCpu placed(callers_cpu_);
  work_ = &work;
  ready_ = 0;
  running_ = size_ - 1;
  const unsigned number = armed_.fetch_add(1) + 1;
  armed_.notify_all();
  SpinWait wait;
  while (ready_.load() != size_ - 1) {
    wait.pause();
  }
  const double start_s = steady_now_s();
  started_.store(number, std::memory_order_release);
  work(0);
  wait_for_all();
  return steady_now_s() - start_s;
}

void ThreadTeam::spread(const std::function<void(int)>& work) {
  work_ = &work;
  running_ = size_ - 1;
  started_.store(armed_.load() + 1, std::memory_order_release);
  armed_.fetch_add(1);
  armed_.notify_all();
  work(0);
  wait_for_all();
}

void ThreadTeam::wait_for_all() {
  SpinWait wait;
  while (running_.load(std::memory_order_acquire) != 0) {
    wait.pause();
  }
}

}  // namespace grainscope
