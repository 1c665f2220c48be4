#include <algorithm>

#include "grainscope/core/sampler.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/gnn/share_work.hpp"

namespace grainscope::gnn {

struct ShareClock::Parts {
  explicit Parts(int gpu) : guard(gpu) {}
  // Whatever goes wrong while the gate is closed, the GPU must not be left to spin, nor on memory that is
  // gone.
  ~Parts() {
    gate.open();
    if (held_back != nullptr) {
      static_cast<void>(cudaStreamSynchronize(held_back->get()));
    }
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // Two events around a side's work.
  struct Span {
    cuda::Event start;
    cuda::Event stop;
  };

  cuda::DeviceGuard guard;
  cuda::Gate gate;
  Span one;
  Span other;
  const cuda::Stream* held_back = nullptr;  // between get_ready and run_at

  // The same for one scope.
  class Opening {
   public:
    explicit Opening(cuda::Gate& gate) : gate_(gate) {}
    ~Opening() { gate_.open(); }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    cuda::Gate& gate_;
  };

  static void enqueue(const Span& span, ShareWork& work) {
    span.start.record(work.stream());
    work.enqueue();
    span.stop.record(work.stream());
  }
};

namespace {

void prepare(ShareWork& work) {
  work.prepare();
  work.stream().synchronize();
}

}  // namespace

ShareClock::ShareClock(int gpu) : parts_(std::make_unique<Parts>(gpu)) {}
ShareClock::~ShareClock() = default;

void ShareClock::get_ready(ShareWork& work) {
  prepare(work);
  parts_->held_back = &work.stream();
  parts_->gate.close(work.stream());
  Parts::enqueue(parts_->one, work);
}

double ShareClock::alone(ShareWork& work) {
  get_ready(work);
  return run_at(work, 0).seconds;
}

ShareTimes ShareClock::run_at(ShareWork& work, double start_s) {
  ShareTimes times;
  while (steady_now_s() < start_s) {
  }
  times.begun_s = steady_now_s();
  parts_->gate.open();
  times.opened_s = steady_now_s();
  parts_->one.stop.synchronize();
  times.ended_s = steady_now_s();
  parts_->held_back = nullptr;
  parts_->gate.check_opened_in_time();
  times.seconds = cuda::elapsed_s(parts_->one.start, parts_->one.stop);
  work.check();
  return times;
}

ShareClock::Together ShareClock::together(ShareWork& first, ShareWork& second) {
  prepare(first);
  prepare(second);
  {
    const Parts::Opening opening(parts_->gate);
    parts_->gate.close(first.stream());
    parts_->gate.close(second.stream());
    Parts::enqueue(parts_->one, first);
    Parts::enqueue(parts_->other, second);
  }
  parts_->one.stop.synchronize();
  parts_->other.stop.synchronize();
  parts_->gate.check_opened_in_time();
  Together times;
  times.first = cuda::elapsed_s(parts_->one.start, parts_->one.stop);
  times.second = cuda::elapsed_s(parts_->other.start, parts_->other.stop);
  times.seconds = std::max({times.first, times.second, cuda::elapsed_s(parts_->one.start, parts_->other.stop),
                            cuda::elapsed_s(parts_->other.start, parts_->one.stop)});
  // One after the other, so that a check does not run beside the next side's.
  first.check();
  first.stream().synchronize();
  second.check();
  second.stream().synchronize();
  return times;
}

}  // namespace grainscope::gnn
