// What stands in for collective operations where the suite is built without CUDA.

#include "grainscope/collective/part.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::collective {
namespace {

[[noreturn]] void refuse() {
  throw SkipError("built without CUDA");
}

}  // namespace

Id make_id() {
  refuse();
}

struct Communicators::State {
  std::vector<int> gpus;
};

Communicators::Communicators(const std::vector<int>& /*gpus*/, const Patience& /*patience*/) {
  refuse();
}

Communicators::Communicators(int /*gpu*/, int /*rank*/, int /*ranks*/, const Id& /*id*/,
                             const Patience& /*patience*/) {
  refuse();
}

Communicators::~Communicators() = default;

int Communicators::ranks() const noexcept {
  return 0;
}

const std::vector<int>& Communicators::gpus() const noexcept {
  return state_->gpus;
}

void Communicators::abort() noexcept {}

bool Communicators::aborted() const noexcept {
  return true;
}

struct Part::State {};

Part::Part(Communicators& /*communicators*/, const Work& /*work*/, bool /*gated*/) {
  refuse();
}

Part::~Part() = default;

void Part::start() {
  refuse();
}

double Part::loop_s(int /*launches*/) {
  refuse();
}

void Part::close() {
  refuse();
}

Part::Call Part::open(double /*at_s*/) {
  refuse();
}

std::string Part::why_wrong() {
  refuse();
}

}  // namespace grainscope::collective
