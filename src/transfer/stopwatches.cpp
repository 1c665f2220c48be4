#include "stopwatches.hpp"

#include "grainscope/core/sampler.hpp"

namespace grainscope::transfer {

double IdleStopwatch::time_s(const cuda::Stream& stream, const std::function<void()>& enqueue) const {
  stream.synchronize();
  start_.record(stream);
  enqueue();
  stop_.record(stream);
  stop_.synchronize();
  return cuda::elapsed_s(start_, stop_);
}

double HostStopwatch::time_s(const cuda::Stream& stream, const std::function<void()>& enqueue) const {
  stream.synchronize();
  const double start_s = steady_now_s();
  enqueue();
  done_.record(stream);
  done_.synchronize();
  return steady_now_s() - start_s;
}

}  // namespace grainscope::transfer
