#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/gnn/share_work.hpp"

namespace grainscope::gnn {

struct SharedRun::Parts {
  explicit Parts(std::vector<ShareWork*> sides)
      : works(std::move(sides)), guard(works.front()->gpu()), spans(works.size()), seconds(works.size()) {}

  // Two events around a side's work.
  struct Span {
    cuda::Event start;
    cuda::Event stop;
  };

  void hold() {
    std::vector<cuda::GatedWork> gated;
    for (std::size_t i = 0; i < works.size(); ++i) {
      const auto enqueue = [this, i] {
        spans[i].start.record(works[i]->stream());
        works[i]->enqueue();
      };
      gated.push_back({&works[i]->stream(), enqueue, nullptr, &spans[i].stop});
    }
    held.emplace(gate, std::move(gated));
  }

  std::vector<ShareWork*> works;
  cuda::DeviceGuard guard;
  cuda::Gate gate;
  std::vector<Span> spans;
  std::vector<double> seconds;
  std::optional<cuda::GatedRun> held;  // between hold() and run_at()
};

SharedRun::SharedRun(std::vector<ShareWork*> works) {
  if (works.empty()) {
    throw UsageError("a shared run has at least one side");
  }
  parts_ = std::make_unique<Parts>(std::move(works));
}

SharedRun::~SharedRun() = default;

void SharedRun::prepare() {
  for (ShareWork* work : parts_->works) {
    work->prepare();
    work->stream().synchronize();
  }
}

double SharedRun::run() {
  parts_->hold();
  return run_at(0).seconds;
}

void SharedRun::get_ready() {
  prepare();
  parts_->hold();
}

ShareTimes SharedRun::run_at(double start_s) {
  const cuda::GatedRun::Times opened = parts_->held->open(start_s);
  parts_->held.reset();
  ShareTimes times{0, opened.begun_s, opened.opened_s, opened.ended_s};
  for (std::size_t i = 0; i < parts_->works.size(); ++i) {
    for (std::size_t j = 0; j < parts_->works.size(); ++j) {
      const double from_i_to_j = cuda::elapsed_s(parts_->spans[i].start, parts_->spans[j].stop);
      times.seconds = std::max(times.seconds, from_i_to_j);
      parts_->seconds[i] = i == j ? from_i_to_j : parts_->seconds[i];
    }
  }
  for (ShareWork* work : parts_->works) {
    work->check();
    if (parts_->works.size() > 1) {
      work->stream().synchronize();
    }
  }
  return times;
}

std::string SharedRun::verify() {
  std::string checked;
  for (ShareWork* work : parts_->works) {
    checked += (checked.empty() ? "" : "; ") + work->verify();
  }
  return checked;
}

Timing SharedRun::timing() const {
  return {Clock::event, true,
          parts_->works.size() == 1 ? "its work between two events"
                                    : "from the first side's beginning to the last one's end, by events"};
}

const std::vector<double>& SharedRun::seconds() const {
  return parts_->seconds;
}

}  // namespace grainscope::gnn
