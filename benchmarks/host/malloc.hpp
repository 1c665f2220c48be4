#ifndef GRAINSCOPE_BENCHMARKS_HOST_MALLOC_HPP
#define GRAINSCOPE_BENCHMARKS_HOST_MALLOC_HPP

// Calls of malloc in a process of their own: this program once more, as `grainscope worker malloc`. What
// malloc does with a block depends on what was allocated and freed before it (glibc raises the sizes from
// which on it asks the kernel), so in one process the cases that ran earlier would decide what a later one
// costs.

#include <cstdint>
#include <string>
#include <vector>

#include "grainscope/system/child_process.hpp"
#include "worker_process.hpp"

namespace grainscope::harness {

inline constexpr const char* kMallocKind = "malloc";

// A batch of blocks, allocated one after another.
struct MallocJob {
  bool fills = false;  // with a memset of each
  int node = 0;        // whose CPUs call
  std::uint64_t bytes = 0;

  [[nodiscard]] std::uint64_t blocks() const;
  friend bool operator==(const MallocJob&, const MallocJob&) = default;
};
// As words of a command line, and back; throws UsageError for others.
[[nodiscard]] std::vector<std::string> to_words(const MallocJob& job);
[[nodiscard]] MallocJob parse_malloc_job(const std::vector<std::string>& words);

class MallocWorker {
 public:
  explicit MallocWorker(const MallocJob& job, const std::string& program = kOwnProgram);
  // Seconds of one batch on the CPU that the caller runs on, after the blocks of the last were freed. Throws
  // FailedError where malloc gave no memory or the same twice, or a block did not keep what was written to
  // it.
  [[nodiscard]] double sample();

 private:
  WorkerProcess process_;
};

// The worker's body, by the words of its job.
[[nodiscard]] std::function<void()> malloc_worker(const std::vector<std::string>& job);

}  // namespace grainscope::harness

#endif
