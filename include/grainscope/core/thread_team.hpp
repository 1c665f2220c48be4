#ifndef GRAINSCOPE_CORE_THREAD_TEAM_HPP
#define GRAINSCOPE_CORE_THREAD_TEAM_HPP

// Threads that start together, on CPUs of one's choice, so that host work can be timed without the
// time that starting threads takes.

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace grainscope {

// Waits for what another thread is about to do: spins a while, then lets others run, since there may be more
// threads than CPUs.
class SpinWait {
 public:
  void pause() {
    if (++spins_ > 4096) {
      std::this_thread::yield();
    }
  }

 private:
  int spins_ = 0;
};

// Keeps the calling thread on one CPU while it lives: beside workers that are bound, one that may run
// anywhere may stand on the CPU of one of them, and both take turns. A thread that has a single CPU already
// stays there, and −1 leaves it where it is.
class [[nodiscard]] OnCpu {
 public:
  explicit OnCpu(int cpu);
  ~OnCpu();
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

// `size` workers, the caller being worker 0. The others sleep between two runs and spin from the moment
// a run is armed until it starts.
class ThreadTeam {
 public:
  // Worker i is bound to cpus[i % cpus.size()]; no binding where that is −1 or `cpus` is empty. The caller is
  // bound during a run, unless it has a single CPU already or is all of the team. Throws UsageError for a
  // size below 1, EnvironmentError where a thread cannot be started.
  ThreadTeam(int size, const std::vector<int>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] int size() const noexcept { return size_; }

  // Runs work(0) … work(size − 1) at once; seconds from the common start to the last one's end.
  // `work` must not throw.
  double run(const std::function<void(int)>& work);
  // The same without a common start, within what others time: who is awake begins, the caller first of all.
  // To bind takes as long as a short piece of work, so the caller holds an OnCpu of callers_cpu() around what
  // is timed.
  void spread(const std::function<void(int)>& work);
  // Where the caller belongs beside the others; −1: anywhere.
  [[nodiscard]] int callers_cpu() const noexcept { return callers_cpu_; }

 private:
  void wait_for_all();
  void serve(int index);
  void stop();

  int size_;
  int callers_cpu_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<unsigned> armed_{0};    // workers sleep on this: the number of the run to come
  std::atomic<unsigned> started_{0};  // workers spin on this: the number of the run that goes
  std::atomic<int> ready_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

// Worker i's share of `count` things, cut into `size` equal parts: [first, last).
struct Share {
  std::size_t first = 0;
  std::size_t last = 0;
};
[[nodiscard]] constexpr Share share_of(std::size_t count, int index, int size) {
  const auto parts = static_cast<std::size_t>(size);
  const auto i = static_cast<std::size_t>(index);
  return {count / parts * i + count % parts * i / parts,
          count / parts * (i + 1) + count % parts * (i + 1) / parts};
}

}  // namespace grainscope

#endif
