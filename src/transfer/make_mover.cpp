#include "grainscope/core/error.hpp"
#include "movers.hpp"

namespace grainscope::transfer {

void expect_payload(std::optional<std::uint64_t> mismatch, const char* where) {
  if (mismatch) {
    throw FailedError("wrong result: word " + std::to_string(*mismatch) + " " + where +
                      " does not hold what was sent; the transfer did not move everything");
  }
}

std::unique_ptr<Mover> make_mover(const Transfer& transfer, const Surroundings& surroundings) {
  if (transfer.bytes == 0 || transfer.bytes % sizeof(std::uint32_t) != 0) {
    throw UsageError("a transfer moves a multiple of 4 bytes, at least 4; not " +
                     std::to_string(transfer.bytes));
  }
  switch (transfer.engine) {
    case Engine::copy_engine:
      return make_copy(transfer, surroundings);
    case Engine::sm:
      return make_zero_copy(transfer, surroundings);
    case Engine::fault:
    case Engine::prefetch:
      return make_managed(transfer, surroundings);
  }
  throw UsageError("a transfer names an engine that does not exist");
}

}  // namespace grainscope::transfer
