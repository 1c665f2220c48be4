// How long a call takes where others use the machine too.
#pragma once

#include <algorithm>
#include <limits>

namespace grainscope::test {

// Seconds of the fastest call of `run`, by `now_s`: of the first that takes no more than `enough_s`, else of
// twenty. What others take away makes a call slow now and then, and a guest's processor time counts what its
// host takes away; what is slow itself is slow each time.
template <class Clock, class Run>
[[nodiscard]] double fastest_s(Clock&& now_s, double enough_s, Run&& run) {
  double fastest = std::numeric_limits<double>::infinity();
  for (int call = 0; call < 20 && fastest > enough_s; ++call) {
    const double begun = now_s();
    run();
    fastest = std::min(fastest, now_s() - begun);
  }
  return fastest;
}

}  // namespace grainscope::test
