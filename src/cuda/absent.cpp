// What stands in for the GPU where the suite is built without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/cuda/sm_partition.hpp"

namespace grainscope::cuda {

RuntimeReport read_runtime() {
  RuntimeReport report;
  report.why_none =
      "built without CUDA: install the CUDA Toolkit and configure again with -DGRAINSCOPE_CUDA=ON";
  return report;
}

std::uint64_t free_memory(int /*gpu*/) {
  throw SkipError("built without CUDA");
}

std::shared_ptr<void> hold_memory(int /*gpu*/, std::uint64_t /*bytes*/) {
  throw SkipError("built without CUDA");
}

ProfileRange::ProfileRange(const char* /*name*/) {}

ProfileRange::~ProfileRange() = default;

bool is_counted() {
  return false;
}

class MappedMemory::Held {};

MappedMemory::MappedMemory(const MappedRequest& /*request*/, std::uint64_t /*bytes*/,
                           const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

MappedMemory::~MappedMemory() = default;

MappedMemory::MappedMemory(MappedMemory&& other) noexcept = default;

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept = default;

void* MappedMemory::device_data() const {
  return nullptr;
}

void* MappedMemory::host_data() const {
  return nullptr;
}

std::uint64_t MappedMemory::bytes() const {
  return 0;
}

void MappedMemory::expect_on_host() const {}

struct PinnedReserve::State {};

PinnedReserve::PinnedReserve() = default;

PinnedReserve::~PinnedReserve() = default;

void PinnedReserve::clear() {}

std::unique_ptr<Operation> make_chase(const ChaseSpec& /*spec*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Operation> make_flag(const FlagSpec& /*spec*/, const Topology& /*topology*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Operation> make_managed_touch(const TouchSpec& /*spec*/, const Topology& /*topology*/,
                                              ManagedBudget& /*budget*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Operation> make_call(const CallSpec& /*spec*/, const Topology& /*topology*/,
                                     ManagedBudget& /*budget*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<SmPartition> make_partition(int /*gpu*/, ShareBy /*by*/, int /*sms*/) {
  throw SkipError("built without CUDA");
}

SmSplit split_multiprocessors(int /*gpu*/, ShareBy /*by*/, int /*sms*/) {
  throw SkipError("built without CUDA");
}

int count_multiprocessors(int /*gpu*/, const SmPartition& /*partition*/, int /*blocks*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::cuda
