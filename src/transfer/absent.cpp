// What stands in for transfers where the suite is built without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/transfer/batch.hpp"
#include "grainscope/transfer/box.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

std::unique_ptr<Mover> make_mover(const Transfer& /*transfer*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Mover> make_box_mover(const BoxCopy& /*copy*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Mover> make_batch_mover(const BatchCopy& /*copy*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::transfer
