#include "grainscope/cuda/gate.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <thread>
#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {
namespace {

using namespace std::chrono_literals;

class Gates : public GpuTest {};

TEST_F(Gates, holds_the_stream_until_it_is_opened) {
  const Stream stream;
  Gate gate;
  gate.close(stream);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  gate.open();
  stream.synchronize();
  EXPECT_NO_THROW(gate.check_opened_in_time());
}

TEST_F(Gates, leaves_by_its_clock_and_says_so) {
  const Stream stream;
  Gate gate(0.02);
  gate.close(stream);
  stream.synchronize();
  EXPECT_THROW(gate.check_opened_in_time(), FailedError);
}

TEST_F(Gates, can_be_closed_again_after_a_time_out) {
  const Stream stream;
  Gate gate(0.02);
  gate.close(stream);
  stream.synchronize();
  gate.close(stream);
  gate.open();
  stream.synchronize();
  EXPECT_NO_THROW(gate.check_opened_in_time());
}

TEST_F(Gates, stopwatch_does_not_count_what_the_host_does_while_it_submits) {
  const Stream stream;
  const DeviceBuffer buffer(0, kMiB);
  GatedStopwatch stopwatch;
  const double seconds = stopwatch.time_s(stream, [&] {
    check(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream.get()), "clear a buffer");
    std::this_thread::sleep_for(30ms);
  });
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 5e-3);
}

TEST_F(Gates, stopwatch_opens_its_gate_when_submitting_throws) {
  const Stream stream;
  GatedStopwatch stopwatch;
  EXPECT_THROW(static_cast<void>(stopwatch.time_s(stream, [] { throw FailedError("planted"); })),
               FailedError);
  // A gate left closed would hold this for its whole time-out.
  const auto start = std::chrono::steady_clock::now();
  stream.synchronize();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

TEST_F(Gates, hold_several_streams_and_open_at_a_moment_of_the_steady_clock) {
  Gate gate;
  const Stream streams[2];
  const Event starts[2];
  const Event stops[2];
  const DeviceBuffer buffer(0, kMiB);
  std::vector<GatedWork> works;
  for (int i = 0; i < 2; ++i) {
    const auto clear = [&, i] {
      check(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), streams[i].get()), "clear a buffer");
    };
    works.push_back({&streams[i], clear, &starts[i], &stops[i], 0});
  }
  GatedRun run(gate, works);
  for (const Stream& stream : streams) {
    EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  }
  const double start_s = steady_now_s() + 0.01;
  const GatedRun::Times times = run.open(start_s);
  EXPECT_GE(times.begun_s, start_s);
  EXPECT_GE(times.opened_s, times.begun_s);
  EXPECT_GT(times.ended_s, times.opened_s);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(stops[i].done());
    EXPECT_GT(elapsed_s(starts[i], stops[i]), 0);
  }
}

TEST_F(Gates, open_where_a_run_goes_away_closed) {
  const Stream stream;
  Gate gate;
  const auto start = std::chrono::steady_clock::now();
  {
    const GatedRun run(gate, {{&stream, [] {}}});
  }
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

}  // namespace
}  // namespace grainscope::cuda
