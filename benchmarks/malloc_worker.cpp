#include "malloc_worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kMostBatchBytes = 64 * kMiB;
constexpr std::uint64_t kMostBlocks = 256;
constexpr int kFill = 0x5a;
constexpr const char* kSample = "sample";
constexpr const char* kStarted = "started";
constexpr const char* kTook = "took";

struct Free {
  void operator()(void* block) const noexcept { std::free(block); }
};
using Block = std::unique_ptr<unsigned char, Free>;

// Throws FailedError unless every block is its own and keeps what is written to both its ends.
void use(const std::vector<Block>& blocks, const MallocJob& job) {
  std::set<const unsigned char*> different;
  const std::uint64_t last = job.bytes - 1;
  for (const Block& block : blocks) {
    if (!block || !different.insert(block.get()).second) {
      throw FailedError("malloc of " + format_bytes(job.bytes) + " gave no memory, or the same twice");
    }
    if (job.fills && (block.get()[0] != kFill || block.get()[last] != kFill)) {
      throw FailedError("wrong result: a block does not hold what it was filled with");
    }
    block.get()[0] = static_cast<unsigned char>(different.size());
    block.get()[last] = static_cast<unsigned char>(different.size());
  }
  std::size_t number = 0;
  for (const Block& block : blocks) {
    ++number;
    if (block.get()[last] != static_cast<unsigned char>(number)) {
      throw FailedError("wrong result: blocks of malloc overlap");
    }
  }
}

double timed_batch(std::vector<Block>& blocks, const MallocJob& job) {
  for (Block& block : blocks) {
    block.reset();
  }
  const double start_s = steady_now_s();
  for (Block& block : blocks) {
    block.reset(static_cast<unsigned char*>(std::malloc(job.bytes)));
    if (job.fills && block) {
      std::memset(block.get(), kFill, job.bytes);
    }
  }
  return steady_now_s() - start_s;
}

// Until the end of the input, which comes when the other end is gone, however it went.
void serve(const MallocJob& job) {
  const Topology topology = Topology::read();
  const NodeBinding binding(topology, job.node);
  std::vector<Block> blocks(job.blocks());
  tell(kStarted, "");
  for (std::string line; std::getline(std::cin, line);) {
    if (line != kSample) {
      throw FailedError("nothing is known of `" + line + "`");
    }
    const double seconds = timed_batch(blocks, job);
    use(blocks, job);
    tell(kTook, exact_text(seconds));
  }
}

std::vector<std::string> command_of(const MallocJob& job) {
  std::vector<std::string> words = to_words(job);
  words.insert(words.begin(), kMallocWorkerCommand);
  return words;
}

}  // namespace

std::uint64_t MallocJob::blocks() const {
  return std::clamp<std::uint64_t>(kMostBatchBytes / bytes, 1, kMostBlocks);
}

std::vector<std::string> to_words(const MallocJob& job) {
  return {std::to_string(static_cast<int>(job.fills)), std::to_string(job.node), std::to_string(job.bytes)};
}

MallocJob parse_malloc_job(const std::vector<std::string>& words) {
  if (words.size() != 3) {
    throw UsageError(std::string(kMallocWorkerCommand) + " is started by the program itself");
  }
  MallocJob job;
  job.fills = number_in<int>(words[0], kMallocWorkerCommand) != 0;
  job.node = number_in<int>(words[1], kMallocWorkerCommand);
  job.bytes = number_in<std::uint64_t>(words[2], kMallocWorkerCommand);
  if (job.bytes == 0) {
    throw UsageError(std::string(kMallocWorkerCommand) + " allocates blocks of a byte or more");
  }
  return job;
}

MallocWorker::MallocWorker(const MallocJob& job, const std::string& program)
    : process_("the process that allocates", program, command_of(job), {}) {
  static_cast<void>(process_.answer(kStarted));
}

double MallocWorker::sample() {
  process_.ask(kSample);
  return std::stod(process_.answer(kTook));
}

int malloc_worker(const std::vector<std::string>& words) {
  const MallocJob job = parse_malloc_job(words);
  return worker_status([&] { serve(job); });
}

}  // namespace grainscope::harness
