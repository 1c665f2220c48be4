// What stands in for transfers where the suite is built without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/transfer/mover.hpp"
#include "grainscope/transfer/shape.hpp"

namespace grainscope::transfer {

struct Mover::State {
  std::vector<Span> spans;
};

Mover::Mover(std::vector<MoverLane> /*lanes*/, const Surroundings& /*surroundings*/,
             bool /*submission_only*/) {
  throw SkipError("built without CUDA");
}
Mover::~Mover() = default;
void Mover::prepare() {}
double Mover::run() {
  return 0;
}
double Mover::run_alone(std::size_t /*lane*/) {
  return 0;
}
void Mover::run_counted() {}

bool Mover::reads_managed() const {
  return false;
}
const std::vector<Span>& Mover::spans() const {
  return state_->spans;
}
std::string Mover::verify() {
  return {};
}
Timing Mover::timing() const {
  return {};
}
std::optional<double> Mover::around_s(double /*run_s*/) const {
  return std::nullopt;
}
bool Mover::on_callers_thread() const {
  return false;
}
void Mover::describe(Measurement& /*measurement*/) {}

std::unique_ptr<Lane> make_lane(const Transfer& /*transfer*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}
std::unique_ptr<Lane> make_computing_lane(int /*gpu*/, int /*node*/, double /*seconds*/,
                                          const Surroundings& /*surroundings*/, bool /*beside_bulk*/) {
  throw SkipError("built without CUDA");
}
std::unique_ptr<Mover> make_mover(const Transfer& /*transfer*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Mover> make_box_mover(const BoxCopy& /*copy*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Mover> make_host_copy_mover(const HostCopy& /*copy*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Mover> make_page_mover(const PageCopy& /*copy*/, const Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::transfer
