// First touches of managed pages that live on the other side.

#include <cuda_runtime.h>

#include <cstring>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/latency.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "launch.cuh"

namespace grainscope::cuda {
namespace {

constexpr std::uint32_t kSeed = 11;

// The words at the start of a touched page.
struct Page {
  Page* next;
  std::uint64_t value;
};

// What a walk over all pages ends with.
struct Walk {
  const Page* end = nullptr;
  std::uint64_t sum = 0;
};

// The same on both sides: each address is what the page before told. Volatile: the loads are the purpose.
__host__ __device__ inline Walk walk_pages(const Page* first, std::uint64_t pages) {
  Walk walk{first, 0};
  for (std::uint64_t i = 0; i < pages; ++i) {
    const volatile Page* page = walk.end;
    walk.end = page->next;
    walk.sum += page->value;
  }
  return walk;
}

__global__ void walk_managed_pages(const Page* first, std::uint64_t pages, Walk* result) {
  *result = walk_pages(first, pages);
}

Page* page_at(const ManagedBuffer& memory, std::uint64_t place) {
  // Blocks begin at multiples of their size, whatever the allocation begins at.
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first =
      (begin + ManagedTouch::kBlockBytes - 1) / ManagedTouch::kBlockBytes * ManagedTouch::kBlockBytes;
  return reinterpret_cast<Page*>(first + place * ManagedTouch::kBlockBytes);
}

}  // namespace

ManagedTouch::ManagedTouch(const TouchSpec& spec, const Topology& topology, ManagedBudget& budget, int bits)
    : binding_(topology, spec.node),
      guard_(spec.gpu),
      cycle_(Cycle::Order::shuffled, bits),
      gpu_(spec.gpu),
      node_(spec.node),
      to_gpu_(spec.to_gpu),
      // One block more than there are pages, since the first may begin within the allocation.
      memory_(budget, spec.gpu, (cycle_.places() + 1) * kBlockBytes),
      result_(spec.gpu, sizeof(Walk)) {
  load_kernel(walk_managed_pages, "load the kernel that touches pages");
  if (const std::optional<int> from_peer = spec.from_peer) {
    if (!to_gpu_ || *from_peer == gpu_) {
      throw UsageError("pages of one GPU are touched by another, or by the host: name no peer for that");
    }
    if (budget.available(*from_peer) < memory_.bytes()) {
      throw SkipError(format_bytes(memory_.bytes()) +
                      " of managed memory are more than a quarter of what GPU " + std::to_string(*from_peer) +
                      " has free");
    }
    peer_.emplace(Peer{*from_peer, ResidencyProbe(*from_peer, gpu_), ResidencyProbe(gpu_, *from_peer)});
  }
  // All of every block exists before it is asked for: a page that never was is made, not moved.
  std::memset(memory_.data(), 0, memory_.bytes());
  for (std::uint64_t place = 0; place < pages(); ++place) {
    const std::uint64_t value = pattern_word(place, kSeed);
    *page_at(memory_, place) = {page_at(memory_, cycle_.next(place)), value};
    expected_sum_ += value;
  }
}

void ManagedTouch::prefetch(Location to) const {
  check(cuda::prefetch(memory_.data(), memory_.bytes(), to, stream_.get()),
        "prefetch " + format_bytes(memory_.bytes()) + " of managed memory");
  stream_.synchronize();
}

void ManagedTouch::prepare() {
  // What is still elsewhere after that is found, and refused, when a sample begins.
  static_cast<void>(bring_pages([this] {
    bring_to_source();
    return peer_ ? elsewhere(peer_->there) : misplaced(to_gpu_);
  }));
}

void ManagedTouch::bring_to_source() {
  if (peer_) {
    prefetch(Location::gpu(peer_->gpu));
    return;
  }
  if (!to_gpu_) {
    prefetch(Location::gpu(gpu_));
    return;
  }
  prefetch(Location::host_node(node_));
  for (std::uint64_t place = 0; place < pages(); ++place) {
    // The host owns and maps a page only once it has written to it.
    volatile Page* page = page_at(memory_, place);
    page->value = pattern_word(place, kSeed);
  }
}

double ManagedTouch::run() {
  expect_before();
  const Page* first = page_at(memory_, 0);
  Walk walk;
  double seconds = 0;
  if (to_gpu_) {
    seconds = stopwatch_.time_s(stream_, [&] {
      walk_managed_pages<<<1, 1, 0, stream_.get()>>>(first, pages(), static_cast<Walk*>(result_.data()));
      check_launch("walk_managed_pages");
    });
    check(cudaMemcpy(&walk, result_.data(), sizeof(walk), cudaMemcpyDeviceToHost), "read what a walk found");
  } else {
    const double start_s = steady_now_s();
    walk = walk_pages(first, pages());
    seconds = steady_now_s() - start_s;
  }
  expect_after();
  if (walk.end != first || walk.sum != expected_sum_) {
    throw FailedError("wrong result: the pages touched do not hold what was written to them");
  }
  return seconds;
}

void ManagedTouch::expect_before() {
  if (peer_) {
    expect_on_gpu(peer_->there, "before a sample");
  } else {
    expect_pages(to_gpu_, "before a sample");
  }
}

void ManagedTouch::expect_after() {
  if (peer_) {
    expect_on_gpu(peer_->here, "after a sample");
  } else {
    expect_pages(!to_gpu_, "after a sample");
  }
}

void ManagedTouch::expect_on_gpu(const ResidencyProbe& probe, const char* when) const {
  if (const std::uint64_t pages_elsewhere = elsewhere(probe); pages_elsewhere > 0) {
    throw FailedError("managed pages did not move: " + std::to_string(pages_elsewhere) + " of " +
                      std::to_string(pages()) + " live elsewhere " + when);
  }
}

std::uint64_t ManagedTouch::elsewhere(const ResidencyProbe& probe) const {
  std::uint64_t pages_elsewhere = 0;
  for (std::uint64_t place = 0; place < pages(); ++place) {
    pages_elsewhere += probe.pages_elsewhere(page_at(memory_, place), base_page_bytes());
  }
  return pages_elsewhere;
}

std::uint64_t ManagedTouch::misplaced(bool on_host) {
  std::uint64_t misplaced = 0;
  for (std::uint64_t place = 0; place < pages(); ++place) {
    const auto presence = pages_present(page_at(memory_, place), base_page_bytes());
    if (!presence) {
      residency_known_ = false;
      return 0;
    }
    misplaced += on_host ? presence->absent : presence->present;
  }
  return misplaced;
}

void ManagedTouch::expect_pages(bool on_host, const char* when) {
  if (const std::uint64_t elsewhere = misplaced(on_host); elsewhere > 0) {
    throw FailedError("managed pages did not move: " + std::to_string(elsewhere) + " of " +
                      std::to_string(pages()) + " are " + (on_host ? "not on the host " : "on the host ") +
                      when);
  }
}

std::string ManagedTouch::verify() {
  if (peer_) {
    return "what was read from every page, and by how fast it answers where each lived before and after";
  }
  return residency_known_ ? "what was read from every page, and where each lived before and after each sample"
                          : "what was read from every page; the system does not tell where pages live";
}

Timing ManagedTouch::timing() const {
  if (to_gpu_) {
    return {Clock::event, true, "a kernel of one thread that reads one page after another"};
  }
  return {Clock::steady, false, "one CPU thread that reads one page after another"};
}

std::unique_ptr<Operation> make_managed_touch(const TouchSpec& spec, const Topology& topology,
                                              ManagedBudget& budget) {
  return std::make_unique<ManagedTouch>(spec, topology, budget);
}

}  // namespace grainscope::cuda
