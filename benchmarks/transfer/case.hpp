#ifndef GRAINSCOPE_BENCHMARKS_TRANSFER_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_TRANSFER_CASE_HPP

// What the transfer families share: a transfer between the host and a GPU becomes a benchmark.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/cuda/mapped.hpp"
#include "grainscope/transfer/transfer.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

struct GpuPair;  // transfer/peer_case.hpp

// A benchmark that carries out `transfer`. Locality, site and bytes are derived from it; `axes` are the
// rest. Skipped where the GPU is unavailable.
[[nodiscard]] Benchmark transfer_benchmark(const std::string& family, std::vector<Axis> axes,
                                           const transfer::Transfer& transfer, const GpuTarget& gpu,
                                           const Explanation& explanation);

// Where what a transfer moves lies on the host. Throws UsageError, saying why, for a kind of memory that no
// end of a transfer is.
[[nodiscard]] transfer::Placement placement_of(cuda::MemoryKind memory);
// The host's end of a transfer of pinned or mapped memory comes to lie in such memory. Throws as
// placement_of, and for a transfer whose memory is of another kind.
void set_memory(transfer::Transfer& transfer, cuda::MemoryKind memory);

// The pair's second GPU and those behind it, `count` in all, a bit each: they pass on a part of what the
// first copies. On a machine that has fewer, nominal ones.
[[nodiscard]] std::uint64_t neighbours_of(const Machine& machine, const GpuPair& pair, std::uint64_t count);
// Where a GPU that passes on a part of the transfer is not there, or cannot reach the GPU at its end or be
// reached.
void skip_without_relays(Benchmark& benchmark, const Machine& machine, const transfer::Transfer& transfer);
// The same of neighbours that nobody named: also where the machine has too few GPUs.
void skip_without_neighbours(Benchmark& benchmark, const Machine& machine,
                             const transfer::Transfer& transfer);

// How a kernel loads, of families whose kernels can do so in bulk (TMA): the axes `load`, `chunk` and
// `stages`.
[[nodiscard]] std::vector<DeclaredAxis> load_axes();
// Sets a walk's load, chunk and stages to those of a point; empty, or why the point cannot be. `copies`: its
// method is one whose kernel can load in bulk.
[[nodiscard]] std::string set_load(transfer::Walk& walk, const Values& values, bool copies = true);
// What a name tells of that: nothing of a load of an access a thread, and `blocks` where they were asked for.
[[nodiscard]] std::vector<Axis> axes_of_load(const transfer::Walk& walk);

// What a transfer may reach: of relayed ones what all their links carry. Absent where the machine does not
// tell.
[[nodiscard]] std::optional<PhysicalLimit> limit_of(const Machine& machine,
                                                    const transfer::Transfer& transfer);

// Prepares, times and verifies one transfer, and says what bounds it.
[[nodiscard]] Measurement measure_transfer(Session& session, const transfer::Transfer& transfer);

// The same of any mover: `transfer` says what it moves, from where to where, by which GPU.
[[nodiscard]] Measurement measure_mover(Session& session, const MakeOperation& make,
                                        const transfer::Transfer& transfer);

// Median time of a few runs of one lane alone, or of all at once, after one that does not count.
[[nodiscard]] double median_s(transfer::Mover& mover, std::optional<std::size_t> lane = 0);

// Of a few shares of so many neighbours the one with which a copy is the fastest; each follows from the rates
// of both parts with the one before it. `make` makes its mover with a share; each is verified.
[[nodiscard]] int find_share(std::size_t neighbours, std::uint64_t bytes,
                             const std::function<std::unique_ptr<transfer::Mover>(int)>& make);

// One of several transfers that run at once; without a transfer, a kernel that computes.
struct PlannedLane {
  struct Computing {
    int gpu = 0;
    int node = 0;
    double seconds = 0;
    bool beside_bulk = false;  // a kernel beside it copies in bulk
  };
  std::string name;  // "to_gpu"
  std::optional<transfer::Transfer> transfer;
  std::optional<Computing> computing;
  bool background = false;  // it only loads what the others are measured on
  int repeats = 1;          // of a background lane, so that it outlasts the others
};

// What a benchmark needs, and its body, where it carries out one transfer: see measure_transfer.
void carry_out(Benchmark& benchmark, const transfer::Transfer& transfer);

// The same where it carries out lanes together: starts them at once, times each and all of them, checks every
// destination, and times each by itself as well. Bytes are those of the lanes that are not background.
void carry_out_together(Benchmark& benchmark, const std::vector<PlannedLane>& lanes);

}  // namespace grainscope::harness

#endif
