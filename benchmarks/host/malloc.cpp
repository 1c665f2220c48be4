// host/malloc, and the process that it calls malloc in.

#include "malloc.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <istream>
#include <memory>
#include <vector>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::harness {
namespace {

// host/malloc

constexpr About kAboutHostMalloc{
    .question = "What does the C library's malloc cost, alone and with a first write to all of it?",
    .timed =
        "a batch of calls on the host's clock, one block after another; `malloc_and_fill` with a memset of "
        "each, in a process of its own. Not timed: writing to and checking both ends of every block, and "
        "free",
    .formula = "operation time = median time / blocks",
    .source = "Comm|Scope's Comm_libc_malloc and Comm_libc_malloc_memset (c3sr/comm_scope, src/libc)",
    .limits =
        "of a process that allocates blocks of this size alone, and frees them all between two samples. "
        "glibc keeps 128 KiB of what is freed (from blocks of 128 KiB on twice a block) and gives the rest "
        "back to the kernel, so larger batches touch new pages; a program of many sizes keeps more. The "
        "pages' own cost is host/first_touch",
};

const char* const kAndFill = "malloc_and_fill";
constexpr std::uint64_t kLarge_bytes = 64 * kKiB;

Measurement measure(Session& session, const MallocJob& job) {
  const NodeBinding binding(session.machine().topology, job.node);  // whose CPUs the worker is told to take
  MallocWorker worker(job);
  LocalOperation batches(
      {.run = [&] { return worker.sample(); },
       .verify = [] { return "every block is its own, and keeps what is written to both its ends"; },
       .timing = {Clock::steady, false,
                  job.fills ? "malloc and a memset of all of it, one block after another"
                            : "malloc, one block after another"},
       .on_callers_thread = true,
       // Beside filling large blocks, asking the worker and checking both ends takes little.
       .around_s =
           [&](double run_s) {
             return job.fills && job.bytes >= kLarge_bytes ? std::optional(run_s) : std::nullopt;
           }});
  Measurement measurement = harness::measure(session, batches);
  measurement.operations = job.blocks();
  if (job.fills) {
    measurement.bytes = job.blocks() * job.bytes;
    measurement.limit = cpu_limit(1);
  } else {
    measurement.limit = call_limit();
  }
  return measurement;
}

Benchmark make_benchmark(const MallocJob& job) {
  Benchmark benchmark;
  benchmark.id = {"host/malloc",
                  {{"what", job.fills ? kAndFill : "malloc", AxisStyle::bare},
                   {"locality", "local", AxisStyle::hidden},
                   {"bytes", static_cast<std::int64_t>(job.bytes)}},
                  {{"node", job.node}}};
  benchmark.needs = {job.blocks() * job.bytes, 0, 0};
  benchmark.explanation = {
      .measures = job.fills ? "what a program pays for a block of memory and the first write to all of it"
                            : "what a program pays for a block of memory that it has yet to write to"};
  benchmark.run = [job](Session& session) { return measure(session, job); };
  return benchmark;
}

std::vector<Benchmark> list(const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  for (const int node : scope.nodes) {
    for (const Grid& grid : grids) {
      for (const Values& values : grid.points()) {
        benchmarks.push_back(make_benchmark({values.is("what", kAndFill), node, values.number("bytes")}));
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family host_malloc() {
  return {"host/malloc",
          kAboutHostMalloc,
          {word_axis("what", "whether each block is written to as well", {"malloc", kAndFill}),
           size_axis("bytes", "bytes of a block", {1, 1024 * kGiB})},
          list};
}

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

// Blocks of a batch, and room to look at them. Nothing else is allocated while they live: what lay above them
// on the heap would decide what becomes of them when they are freed.
class Batch {
 public:
  explicit Batch(const MallocJob& job) : job_(job), blocks_(job.blocks()), places_(job.blocks()) {}

  // Seconds for all blocks, which are checked and freed afterwards. Throws FailedError unless every block is
  // its own and keeps what is written to both its ends.
  double run() {
    const double seconds = allocate();
    require_different();
    use();
    for (Block& block : blocks_) {
      block.reset();
    }
    return seconds;
  }

 private:
  double allocate() {
    const double start_s = steady_now_s();
    for (Block& block : blocks_) {
      block.reset(static_cast<unsigned char*>(std::malloc(job_.bytes)));
      if (job_.fills && block) {
        std::memset(block.get(), kFill, job_.bytes);
      }
    }
    return steady_now_s() - start_s;
  }

  void require_different() {
    std::transform(blocks_.begin(), blocks_.end(), places_.begin(),
                   [](const Block& block) { return block.get(); });
    std::sort(places_.begin(), places_.end());
    if (places_.front() == nullptr || std::adjacent_find(places_.begin(), places_.end()) != places_.end()) {
      throw FailedError("malloc of " + format_bytes(job_.bytes) + " gave no memory, or the same twice");
    }
  }

  void use() {
    const std::uint64_t last = job_.bytes - 1;
    std::size_t number = 0;
    for (const Block& block : blocks_) {
      if (job_.fills && (block.get()[0] != kFill || block.get()[last] != kFill)) {
        throw FailedError("wrong result: a block does not hold what it was filled with");
      }
      ++number;
      block.get()[0] = static_cast<unsigned char>(number);
      block.get()[last] = static_cast<unsigned char>(number);
    }
    number = 0;
    for (const Block& block : blocks_) {
      ++number;
      if (block.get()[last] != static_cast<unsigned char>(number)) {
        throw FailedError("wrong result: blocks of malloc overlap");
      }
    }
  }

  const MallocJob& job_;
  std::vector<Block> blocks_;
  std::vector<const unsigned char*> places_;
};

void run(const MallocJob& job) {
  const Topology topology = Topology::read();
  const NodeBinding binding(topology, job.node);
  Batch batch(job);
  tell(kStarted);
  serve({{kSample, [&](std::istream& words) {
            int cpu = -1;
            words >> cpu;
            const OnCpu there(cpu);
            tell_numbers(kTook, batch.run());
          }}});
}

}  // namespace

std::uint64_t MallocJob::blocks() const {
  return std::clamp<std::uint64_t>(kMostBatchBytes / bytes, 1, kMostBlocks);
}

std::vector<std::string> to_words(const MallocJob& job) {
  return {std::to_string(static_cast<int>(job.fills)), std::to_string(job.node), std::to_string(job.bytes)};
}

MallocJob parse_malloc_job(const std::vector<std::string>& words) {
  JobWords all(kMallocKind, words, 3);
  MallocJob job;
  job.fills = all.number<int>() != 0;
  job.node = all.number<int>();
  job.bytes = all.number<std::uint64_t>();
  if (job.bytes == 0) {
    all.refuse(words.back());
  }
  return job;
}

MallocWorker::MallocWorker(const MallocJob& job, const std::string& program)
    : process_("the process that allocates", program, kMallocKind, to_words(job), {}) {
  process_.answer(kStarted);
}

double MallocWorker::sample() {
  process_.ask(kSample + (' ' + std::to_string(sched_getcpu())));
  return process_.numbers(kTook, 1).front();
}

std::function<void()> malloc_worker(const std::vector<std::string>& job) {
  return [parsed = parse_malloc_job(job)] { run(parsed); };
}

}  // namespace grainscope::harness
