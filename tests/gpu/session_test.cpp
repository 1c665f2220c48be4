#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"
#include "harness/benchmark.hpp"
#include "harness/link_peaks.hpp"
#include "probes.hpp"
#include "transfer/case.hpp"

namespace grainscope::harness {
namespace {

class Sessions : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      machine_ = std::make_unique<Machine>(read_machine());
    }
  }

  [[nodiscard]] transfer::Transfer pinned_copy(std::uint64_t bytes) const {
    transfer::Transfer copy;
    copy.source =
        transfer::Endpoint::host(transfer::Placement::pinned, machine_->topology.usable_nodes().front());
    copy.destination = transfer::Endpoint::gpu(transfer::Placement::device, 0);
    copy.bytes = bytes;
    return copy;
  }

  std::unique_ptr<Machine> machine_;
  cuda::ManagedBudget managed_;
};

TEST_F(Sessions, the_copy_peak_lies_below_the_link_and_is_measured_once) {
  int found = 0;
  LinkPeaks peaks(*machine_, [&](const LinkPeak&, const std::vector<Warning>&) { ++found; });
  const int node = machine_->topology.usable_nodes().front();
  const double peak = peaks.get(LinkPath::host_to_gpu(node, 0)).peak_gb_s;
  EXPECT_GT(peak, 0);
  if (const auto limit = host_link_limit(*machine_, 0)) {
    EXPECT_LT(peak, limit->gb_s);
  }
  EXPECT_EQ(peaks.get(LinkPath::host_to_gpu(node, 0)).peak_gb_s, peak);
  EXPECT_EQ(found, 1);
}

TEST_F(Sessions, a_measured_copy_is_verified_bounded_and_possible) {
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  Session session(*machine_, {.budget_s = 0.1}, peaks, &managed_, [] { return false; });
  const Measurement measurement = measure_transfer(session, pinned_copy(16 * kMiB));
  EXPECT_EQ(why_impossible(measurement), "");
  EXPECT_EQ(measurement.bytes, 16 * kMiB);
  EXPECT_TRUE(measurement.link_peak_gb_s.has_value());
  EXPECT_FALSE(measurement.verification.empty());
}

TEST_F(Sessions, power_is_read_where_it_is_asked_for) {
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  for (const bool power : {false, true}) {
    SamplingPlan plan{.budget_s = 0.1};
    plan.power = power;
    Session session(*machine_, plan, peaks, &managed_, [] { return false; });
    const Measurement measurement = measure_transfer(session, pinned_copy(16 * kMiB));
    if (power && !machine_->nvml->energy_mj(machine_->find_gpu(0)->uuid)) {
      GTEST_SKIP() << "this board does not count its energy";
    }
    ASSERT_EQ(measurement.power_w.has_value(), power);
    ASSERT_EQ(measurement.energy_j.has_value(), power);
    if (power) {
      EXPECT_GT(*measurement.power_w, 20);
      EXPECT_LT(*measurement.power_w, 2000);
      // What lies between samples is in it, and no sample is shorter than the copy alone.
      EXPECT_GT(*measurement.energy_j, 20 * measurement.samples.summary.median);
    }
  }
}

TEST_F(Sessions, a_planted_speed_above_the_link_is_called_impossible) {
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  Session session(*machine_, {.budget_s = 0.1}, peaks, &managed_, [] { return false; });
  Measurement measurement = measure_transfer(session, pinned_copy(16 * kMiB));
  if (!measurement.limit) {
    GTEST_SKIP() << "this machine does not tell its link";
  }
  measurement.bytes *= 2;
  EXPECT_TRUE(why_impossible(measurement).starts_with("impossible"));
}

TEST_F(Sessions, an_interrupted_session_throws_and_leaves_the_gpu_usable) {
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  int calls = 0;
  Session interrupted(*machine_, {.budget_s = 1}, peaks, &managed_, [&] { return ++calls > 5; });
  EXPECT_THROW(static_cast<void>(measure_transfer(interrupted, pinned_copy(kMiB))), Interrupted);
  Session next(*machine_, {.budget_s = 0.05}, peaks, &managed_, [] { return false; });
  EXPECT_EQ(why_impossible(measure_transfer(next, pinned_copy(kMiB))), "");
}

}  // namespace
// What is done when a kernel takes the GPU from this process. These tests provoke CUDA errors on purpose:
// leave them out under compute-sanitizer with --gtest_filter=-*lost*.

namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::fake_case;
using test::fake_name;

enum class Told { nothing, failed, gpu_lost };

struct Answer {
  Told told = Told::nothing;
  std::string message;
};

Answer answer_to(const std::function<void()>& act) {
  try {
    act();
  } catch (const GpuLostError& error) {
    return {Told::gpu_lost, error.what()};
  } catch (const FailedError& error) {
    return {Told::failed, error.what()};
  }
  return {};
}

Answer answer_to(cudaError_t status) {
  return answer_to([status] { cuda::check(status, "do as the test asks"); });
}

class LostGpu : public GpuTest {
 protected:
  // A death test's process begins the test anew; what it inherits leads it to the first one's folder.
  static constexpr const char* kFolderVariable = "GRAINSCOPE_LOST_GPU_FOLDER";

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    // A process that was forked from one that knows CUDA cannot use it: the test is executed again.
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    if (std::getenv(kFolderVariable) == nullptr) {
      own_.emplace();
      setenv(kFolderVariable, own_->path().c_str(), 1);
    }
    folder_ = std::filesystem::path(std::getenv(kFolderVariable)) / "run";
  }
  void TearDown() override { unsetenv(kFolderVariable); }

  // Three cases: work that is well, work that loses the GPU, and one that leaves a file behind.
  [[nodiscard]] std::vector<Benchmark> cases() const {
    const auto well = [](Session& session) {
      const cuda::Stream stream;
      const cuda::DeviceBuffer buffer(0, kMiB);
      auto* words = static_cast<std::uint32_t*>(buffer.data());
      cuda::fill_pattern(words, kMiB / 4, 1, stream);
      if (cuda::find_mismatch(words, kMiB / 4, 1, stream)) {
        throw FailedError("the GPU was not well to begin with");
      }
      return test::honest(session);
    };
    // Owners of everything, whose destructors meet the GPU as it is then.
    const auto losing = [](Session& session) {
      const cuda::DeviceBuffer device(0, kMiB);
      const cuda::PinnedBuffer pinned(kMiB, cuda::PinnedBuffer::Kind::cached);
      cuda::ManagedBudget budget;
      const cuda::ManagedBuffer managed(budget, 0, kMiB);
      const cuda::Stream stream;
      cuda::GatedStopwatch stopwatch;
      static_cast<void>(stopwatch.time_s(stream, [&] { enqueue_illegal_store(stream); }));
      return test::honest(session);
    };
    const auto after = [this](Session& session) {
      test::write_text(marker(), "");
      return test::honest(session);
    };
    return {fake_case("well", well), fake_case("losing", losing), fake_case("after", after)};
  }

  [[nodiscard]] std::filesystem::path marker() const { return folder_.parent_path() / "after_was_run"; }

  // Ends this process as the program would end.
  [[noreturn]] void run_and_exit(const std::string& flag) const {
    std::exit(test::run_fakes(test::fake_family(cases()), {flag + folder_.string()}));
  }

  [[nodiscard]] json result() const {
    json result = test::read_result(folder_);
    EXPECT_EQ(test::result_errors(result), "");
    return result;
  }

  std::optional<test::TemporaryDirectory> own_;  // not in a death test's process, which never takes it away
  std::filesystem::path folder_;
};

TEST_F(LostGpu, an_error_that_passes_is_no_lost_gpu) {
  EXPECT_EQ(answer_to(cudaErrorInvalidValue).told, Told::failed);
  EXPECT_EQ(answer_to(cudaErrorNotSupported).told, Told::failed);
  void* data = nullptr;
  const Answer full =
      answer_to([&] { cuda::check(cudaMalloc(&data, std::size_t{1} << 44), "allocate 16 TiB"); });
  EXPECT_EQ(full.told, Told::failed);
  EXPECT_NE(full.message.find("--max-bytes"), std::string::npos) << full.message;
  const cuda::DeviceBuffer buffer(0, kMiB);
  EXPECT_NE(buffer.data(), nullptr);
}

TEST_F(LostGpu, a_call_that_must_not_be_recorded_is_no_lost_gpu) {
  const cuda::Stream stream;
  cuda::check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), "begin to record a graph");
  EXPECT_EQ(answer_to([&] { stream.synchronize(); }).told, Told::failed);
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
  static_cast<void>(cudaGetLastError());
  EXPECT_NO_THROW(stream.synchronize());
}

TEST_F(LostGpu, whether_the_gpu_is_lost_is_asked_without_waiting_for_its_work) {
  const cuda::Stream stream;
  cuda::Gate gate(5.0);
  gate.close(stream);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(answer_to(cudaErrorInvalidValue).told, Told::failed);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  gate.open();
  stream.synchronize();
}

// In a process of its own: the exit status is the number of the step that went wrong.
[[noreturn]] void lose_the_gpu_and_ask() {
  const cuda::Stream stream;
  enqueue_illegal_store(stream);
  const Answer first = answer_to([&] { stream.synchronize(); });
  std::cerr << first.message << '\n';
  if (first.told != Told::gpu_lost) {
    std::exit(1);
  }
  // The status of an innocent call says nothing of the loss: the GPU is asked.
  const Answer second = answer_to(cudaErrorInvalidValue);
  std::cerr << second.message << '\n';
  if (second.told != Told::gpu_lost) {
    std::exit(2);
  }
  if (answer_to([] { const cuda::DeviceBuffer buffer(0, kMiB); }).told != Told::gpu_lost) {
    std::exit(3);
  }
  std::exit(0);
}

TEST_F(LostGpu, a_lost_gpu_is_told_with_what_to_do) {
  EXPECT_EXIT(lose_the_gpu_and_ask(), testing::ExitedWithCode(0),
              "could not finish the work of a stream: cudaErrorIllegalAddress.*nvidia-smi.*Xid.*--resume");
}

TEST_F(LostGpu, a_run_whose_gpu_is_lost_ends_with_1_and_goes_on_in_a_new_process) {
  EXPECT_EXIT(run_and_exit("--out="), testing::ExitedWithCode(1),
              "the GPU was lost while fake/losing/.*--resume");
  const json part = result();
  EXPECT_EQ(test::names_of(part), (std::vector{fake_name("well"), fake_name("losing")}));
  EXPECT_EQ(test::row_named(part, fake_name("well"))["status"], "ok");
  EXPECT_EQ(test::row_named(part, fake_name("losing"))["status"], "failed");
  const std::string reason = test::row_named(part, fake_name("losing"))["reason"];
  EXPECT_NE(reason.find("can no longer use the GPU"), std::string::npos) << reason;
  EXPECT_EQ(part["context"]["run"]["complete"], false);
  EXPECT_FALSE(std::filesystem::exists(marker()));

  EXPECT_EXIT(run_and_exit("--resume="), testing::ExitedWithCode(1), "2 ok, 0 skipped, 1 failed");
  EXPECT_EQ(result()["context"]["run"]["complete"], true);
  EXPECT_TRUE(std::filesystem::exists(marker()));
}

}  // namespace
}  // namespace grainscope::harness
