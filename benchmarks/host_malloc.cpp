// host/malloc: what does the C library's malloc cost, alone and with the first write to all of it?
//
// Timed: a batch of calls on the host's clock, one block after another; `malloc_and_fill` with a memset of
// each. Not timed: writing to and checking both ends of every block, and free. Operations: blocks.
// Source: Comm|Scope's Comm_libc_malloc and Comm_libc_malloc_memset (c3sr/comm_scope, src/libc).
// Limits: what malloc keeps from one sample to the next is its own affair: small blocks come from memory that
// the process has, large ones from the kernel each time; the pages' own cost is host/first_touch.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"
#include "host_case.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kMostBatchBytes = 64 * kMiB;
constexpr std::uint64_t kMostBlocks = 256;
constexpr double kFastestMalloc_s = 1e-9;
constexpr int kFill = 0x5a;

struct Call {
  bool fills = false;
  int node = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] std::uint64_t blocks() const {
    return std::clamp<std::uint64_t>(kMostBatchBytes / bytes, 1, kMostBlocks);
  }
};

struct Free {
  void operator()(void* block) const noexcept { std::free(block); }
};
using Block = std::unique_ptr<unsigned char, Free>;

// Throws FailedError unless every block is its own and keeps what is written to both its ends.
void use(const std::vector<Block>& blocks, const Call& call) {
  std::set<const unsigned char*> different;
  for (const Block& block : blocks) {
    if (!block || !different.insert(block.get()).second) {
      throw FailedError("malloc of " + format_bytes(call.bytes) + " gave no memory, or the same twice");
    }
    const std::uint64_t last = call.bytes - 1;
    if (call.fills && (block.get()[0] != kFill || block.get()[last] != kFill)) {
      throw FailedError("wrong result: a block does not hold what it was filled with");
    }
    block.get()[0] = static_cast<unsigned char>(different.size());
    block.get()[last] = static_cast<unsigned char>(different.size());
  }
  std::size_t number = 0;
  for (const Block& block : blocks) {
    ++number;
    if (block.get()[call.bytes - 1] != static_cast<unsigned char>(number)) {
      throw FailedError("wrong result: blocks of malloc overlap");
    }
  }
}

Measurement measure(Session& session, const Call& call) {
  const NodeBinding binding(session.machine().topology, call.node);
  std::vector<Block> blocks(call.blocks());
  Measurement measurement;
  measurement.samples = session.sample([&] {
    for (Block& block : blocks) {
      block.reset();
    }
    const double start_s = steady_now_s();
    for (Block& block : blocks) {
      block.reset(static_cast<unsigned char*>(std::malloc(call.bytes)));
      if (call.fills && block) {
        std::memset(block.get(), kFill, call.bytes);
      }
    }
    const double seconds = steady_now_s() - start_s;
    use(blocks, call);
    return seconds;
  });
  measurement.verification = "every block is its own, and keeps what is written to both its ends";
  measurement.timing = {Clock::steady, false,
                        call.fills ? "malloc and a memset of all of it, one block after another"
                                   : "malloc, one block after another"};
  measurement.operations = blocks.size();
  if (call.fills) {
    measurement.bytes = blocks.size() * call.bytes;
    measurement.limit = cpu_limit(1);
  } else {
    measurement.minimum_operation_s = kFastestMalloc_s;
  }
  return measurement;
}

Benchmark make_benchmark(const Call& call) {
  Benchmark benchmark;
  benchmark.id = {"host/malloc",
                  {{"what", call.fills ? "malloc_and_fill" : "malloc", AxisStyle::bare},
                   {"locality", "local", AxisStyle::hidden},
                   {"bytes", static_cast<std::int64_t>(call.bytes)}},
                  {{"node", call.node}}};
  benchmark.needs = {call.blocks() * call.bytes, 0, 0};
  benchmark.explanation = {
      call.fills ? "what a program pays for a block of memory and the first write to all of it"
                 : "what a program pays for a block of memory that it has yet to write to",
      "a batch of calls on the host's clock; free and the use of the blocks are not in it",
      "operation time = median time / blocks", "Comm|Scope, Comm_libc_malloc and Comm_libc_malloc_memset",
      "what malloc keeps between samples is its own affair"};
  benchmark.run = [call](Session& session) { return measure(session, call); };
  return benchmark;
}

std::vector<Benchmark> list(const Machine& /*machine*/, const Scope& scope) {
  std::vector<Benchmark> benchmarks;
  for (const int node : scope.nodes) {
    for (const bool fills : {false, true}) {
      for (const std::uint64_t bytes : scope.few_or_all(256, scope.end(kGiB, 256 * kMiB, kGiB),
                                                        {256, 4 * kKiB, 64 * kKiB, kMiB, 64 * kMiB})) {
        benchmarks.push_back(make_benchmark({fills, node, bytes}));
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family host_malloc() {
  return {"host/malloc", "What does the C library's malloc cost, alone and with a first write to all of it?",
          list};
}

}  // namespace grainscope::harness
