// What stands in for GPU gathers where the suite is built without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/reach/row_gather.hpp"

namespace grainscope::reach {

SpanMemory::SpanMemory(const cuda::Surroundings& surroundings, SpanRequest request)
    : surroundings_(surroundings), request_(std::move(request)) {
  throw SkipError("built without CUDA");
}

SpanMemory::~SpanMemory() = default;

void SpanMemory::grow(std::uint64_t /*bytes*/) {}

std::vector<void*> SpanMemory::device_chunks() const {
  return {};
}

std::vector<void*> SpanMemory::host_chunks() const {
  return {};
}

void SpanMemory::expect_on_host() const {}

std::unique_ptr<RowGather> make_row_gather(const SpanMemory& /*memory*/, const GatherRequest& /*request*/,
                                           const std::vector<int>& /*others*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::reach
