#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::cuda {
namespace {

// Of one call, in one sample.
double operation_s(Operation& operation) {
  Measurement measurement;
  operation.describe(measurement);
  return sample(operation) / static_cast<double>(measurement.operations);
}

class Calls : public GpuTest {
 protected:
  [[nodiscard]] std::unique_ptr<Operation> make(CallSpec spec) {
    spec.node = topology_.usable_nodes().front();
    return make_call(spec, topology_, budget_);
  }

  // What every call must do: take time, prove that it happened, say what is timed, over and over.
  void expect_costs(const CallSpec& spec) {
    SCOPED_TRACE(std::string(name(spec.what)) + " " + std::to_string(spec.bytes) + " bytes, " +
                 std::to_string(spec.graph_nodes) + " nodes");
    const auto probe = make(spec);
    for (int i = 0; i < 4; ++i) {
      const double call_s = operation_s(*probe);
      EXPECT_GT(call_s, 2e-9);
      EXPECT_LT(call_s, 1.0);
    }
    EXPECT_FALSE(probe->verify().empty());
    EXPECT_FALSE(probe->timing().timed.empty());
  }

  const Topology topology_ = Topology::read();
  ManagedBudget budget_;
};

TEST_F(Calls, of_submission_and_waiting_happen_as_often_as_they_say) {
  for (const Call what :
       {Call::launch, Call::launch_and_wait, Call::stream_synchronize, Call::device_synchronize,
        Call::event_record, Call::event_synchronize, Call::stream_wait_event}) {
    expect_costs({.what = what});
  }
}

TEST_F(Calls, with_arguments_hand_all_of_them_over) {
  for (const int bytes : {64, 1024, 4096}) {
    expect_costs({.what = Call::launch_with_arguments, .argument_bytes = bytes});
  }
}

TEST_F(Calls, by_threads_happen_on_every_thread_or_are_skipped_for_want_of_cpus) {
  for (const Call what : {Call::launch_by_threads, Call::device_synchronize_by_threads}) {
    try {
      expect_costs({.what = what, .threads = 2});
    } catch (const SkipError& skip) {
      EXPECT_NE(std::string(skip.what()).find("CPU"), std::string::npos);
    }
    EXPECT_THROW(make({.what = what, .threads = 100'000}), SkipError);
  }
}

TEST_F(Calls, of_graphs_run_every_node) {
  for (const Call what : {Call::graph_instantiate, Call::graph_launch, Call::graph_instantiate_copies,
                          Call::graph_launch_copies, Call::graph_launch_copies_3d}) {
    for (const int nodes : {1, 3, 16, 256}) {
      expect_costs({.what = what, .graph_nodes = nodes});
    }
  }
}

TEST_F(Calls, on_device_memory_give_what_can_be_used_and_take_it_back) {
  for (const Call what : {Call::malloc, Call::free, Call::malloc_async, Call::free_async}) {
    for (const std::uint64_t bytes : {std::uint64_t{16}, 4 * kKiB, kMiB, 64 * kMiB}) {
      expect_costs({.what = what, .bytes = bytes});
    }
  }
}

TEST_F(Calls, on_host_memory_give_what_can_be_used_and_take_it_back) {
  for (const Call what : {Call::host_alloc, Call::host_free, Call::host_register, Call::host_unregister}) {
    for (const std::uint64_t bytes : {4 * kKiB, kMiB, 16 * kMiB}) {
      expect_costs({.what = what, .bytes = bytes});
    }
  }
}

TEST_F(Calls, on_managed_memory_give_what_can_be_used_and_take_it_back) {
  for (const Call what : {Call::malloc_managed, Call::managed_free}) {
    for (const std::uint64_t bytes : {4 * kKiB, 64 * kKiB, 8 * kMiB}) {
      expect_costs({.what = what, .bytes = bytes});
    }
  }
  EXPECT_NEAR(static_cast<double>(budget_.available(0)), static_cast<double>(ManagedBudget().available(0)),
              1.0 * kMiB)
      << "a probe kept its share of the budget";
}

TEST_F(Calls, a_first_touch_brings_every_page_to_who_touches_it) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  for (const std::uint64_t bytes : {64 * kKiB, 2 * kMiB, 32 * kMiB}) {
    expect_costs({.what = Call::managed_first_touch, .bytes = bytes});
    expect_costs({.what = Call::managed_first_touch_by_host, .bytes = bytes});
  }
}

TEST_F(Calls, on_mapped_memory_of_every_kind_give_what_the_gpu_reads_or_say_why_not) {
  int kinds = 0;
  for (const MemoryKind kind : kMemoryKinds) {
    if (kind == MemoryKind::peer) {
      continue;
    }
    for (const Call what : {Call::take_mapped, Call::give_back_mapped, Call::fork_with_mapped}) {
      SCOPED_TRACE(std::string(name(what)) + " " + name(kind));
      try {
        expect_costs({.what = what, .bytes = 8 * kMiB, .memory = kind});
        ++kinds;
      } catch (const SkipError& skip) {
        EXPECT_FALSE(std::string(skip.what()).empty());
      } catch (const EnvironmentError& missing) {
        EXPECT_FALSE(std::string(missing.what()).empty());
      }
    }
  }
  EXPECT_GE(kinds, 6) << "pinned and registered memory there is everywhere";
  EXPECT_THROW(make({.what = Call::take_mapped, .bytes = 0}), UsageError);
}

TEST_F(Calls, transparent_huge_pages_are_registered_or_skipped_for_a_reason) {
  try {
    expect_costs({.what = Call::host_register, .bytes = 8 * kMiB, .pages = PageKind::transparent_huge});
  } catch (const SkipError& skip) {
    EXPECT_NE(std::string(skip.what()).find("transparent"), std::string::npos);
  } catch (const EnvironmentError& missing) {
    EXPECT_FALSE(std::string(missing.what()).empty());
  }
}

TEST_F(Calls, more_nodes_take_longer_to_instantiate) {
  const auto few = make({.what = Call::graph_instantiate, .graph_nodes = 1});
  const auto many = make({.what = Call::graph_instantiate, .graph_nodes = 256});
  double few_s = 0;
  double many_s = 0;
  for (int i = 0; i < 5; ++i) {
    few_s += operation_s(*few);
    many_s += operation_s(*many);
  }
  EXPECT_GT(many_s, 3 * few_s);
}

TEST_F(Calls, a_launch_with_a_wait_costs_more_than_one_without) {
  const auto launch = make({.what = Call::launch});
  const auto both = make({.what = Call::launch_and_wait});
  double launch_s = 0;
  double both_s = 0;
  for (int i = 0; i < 5; ++i) {
    launch_s += operation_s(*launch);
    both_s += operation_s(*both);
  }
  EXPECT_GT(both_s, launch_s);
}

TEST_F(Calls, more_than_the_card_has_is_skipped) {
  const std::uint64_t bytes = runtime().devices[0].total_memory_bytes;
  EXPECT_THROW(make({.what = Call::malloc, .bytes = bytes}), SkipError);
  EXPECT_THROW(make({.what = Call::malloc_async, .bytes = bytes}), SkipError);
  EXPECT_THROW(make({.what = Call::malloc_managed, .bytes = bytes}), SkipError);
}

TEST_F(Calls, what_makes_no_sense_is_refused) {
  EXPECT_THROW(make({.what = Call::graph_launch, .graph_nodes = 0}), UsageError);
  EXPECT_THROW(make({.what = Call::graph_launch_copies, .graph_nodes = 0}), UsageError);
  EXPECT_THROW(make({.what = Call::launch_with_arguments, .argument_bytes = 65}), UsageError);
  EXPECT_THROW(make({.what = Call::launch_by_threads, .threads = 1}), UsageError);
  EXPECT_THROW(make({.what = Call::malloc, .bytes = 8}), UsageError);
  EXPECT_THROW(make({.what = Call::managed_first_touch, .bytes = 100}), UsageError);
}

TEST_F(Calls, a_planted_launch_that_nobody_expected_is_caught) {
  const Stream stream;
  const LaunchCounter counter(0);
  counter.launch(stream);
  counter.launch(stream);
  EXPECT_EQ(counter.count(stream), 2U);
  EXPECT_NO_THROW(counter.expect(2, stream));
  EXPECT_THROW(counter.expect(1, stream), FailedError);
  EXPECT_THROW(counter.expect(3, stream), FailedError);
}

TEST_F(Calls, a_graph_runs_nothing_until_it_is_launched_and_then_all) {
  const Stream stream;
  const LaunchCounter counter(0);
  const Graph graph(stream, [&] {
    for (int i = 0; i < 5; ++i) {
      counter.launch(stream);
    }
  });
  EXPECT_EQ(graph.nodes(), 5U);
  const GraphExec ready(graph);
  EXPECT_EQ(counter.count(stream), 0U);
  ready.launch(stream);
  ready.launch(stream);
  EXPECT_EQ(counter.count(stream), 10U);
}

TEST_F(Calls, a_capture_that_fails_leaves_the_stream_usable) {
  const Stream stream;
  const LaunchCounter counter(0);
  EXPECT_THROW(Graph(stream,
                     [&] {
                       counter.launch(stream);
                       throw FailedError("planted");
                     }),
               FailedError);
  counter.launch(stream);
  EXPECT_EQ(counter.count(stream), 1U);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace grainscope::cuda
