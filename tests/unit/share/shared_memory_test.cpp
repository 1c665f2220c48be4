// Memory that parent and child share: both see it, and it has no name that could be left behind.

#include "grainscope/system/child_process.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/shared_plan.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope {
namespace {

std::string at(const SharedMemory& memory) {
  return "/proc/self/fd/" + std::to_string(memory.descriptor());
}

TEST(SharedMemories, are_seen_by_a_child_that_keeps_them_both_ways) {
  const SharedMemory memory(8192);
  std::memcpy(memory.data() + 4096, "hello", 5);
  const std::string script = "tail -c +4097 " + at(memory) +
                             " | head -c 5; echo; printf bye | dd of=" + at(memory) +
                             " conv=notrunc 2>/dev/null; echo end";
  ChildProcess child({.words = {"sh", "-c", script}, .keep = {memory.descriptor()}});
  EXPECT_EQ(child.read_line(5), "hello");
  EXPECT_EQ(child.read_line(5), "end");
  EXPECT_EQ(std::memcmp(memory.data(), "bye", 3), 0);
}

TEST(SharedMemories, are_not_there_in_other_children) {
  const SharedMemory memory(4096);
  ChildProcess child({.words = {"sh", "-c", "[ -e " + at(memory) + " ] && echo there || echo gone"}});
  EXPECT_EQ(child.read_line(5), "gone");
}

TEST(SharedMemories, that_a_parent_keeps_must_be_what_the_child_was_told) {
  EXPECT_THROW(SharedMemory(999, 4096), UsageError);
  EXPECT_THROW(SharedMemory(0, std::uint64_t{1} << 50), UsageError);
}

TEST(SharedPlans, come_back_as_they_were_written) {
  gnn::TrainingRequest request;
  request.sample = {{5, 3}, 7};
  request.batch = 20;
  request.batches = 5;
  request.labelled_percent = 50;
  request.shape = {12, 6, 4, 2};
  request.rate = 0.25;
  const gnn::TrainingPlan plan =
      gnn::plan_training(graph::make_graph(graph::parse_graph_spec("kron:9"), false), request);
  constexpr std::uint64_t kAt = 4096;
  const SharedMemory memory(kAt + gnn::shared_plan_bytes(plan));
  gnn::write_plan(plan, memory.data() + kAt);
  const gnn::TrainingPlan read = gnn::read_plan(memory.path(), kAt);
  EXPECT_EQ(read.request.sample.fanouts, request.sample.fanouts);
  EXPECT_EQ(read.request.sample.seed, 7);
  EXPECT_EQ(read.request.batch, 20);
  EXPECT_EQ(read.request.batches, 5);
  EXPECT_EQ(read.request.rate, 0.25);
  EXPECT_EQ(read.request.shape, request.shape);
  EXPECT_EQ(read.seeds, plan.seeds);
  EXPECT_EQ(read.labels, plan.labels);
  EXPECT_EQ(read.parameters, plan.parameters);
  ASSERT_EQ(read.neighbours.vertices(), plan.neighbours.vertices());
  ASSERT_EQ(read.neighbours.edges(), plan.neighbours.edges());
  const auto& [offsets, targets] = std::tie(read.neighbours.offsets, read.neighbours.targets);
  EXPECT_TRUE(std::equal(offsets.begin(), offsets.end(), plan.neighbours.offsets.begin()));
  EXPECT_TRUE(std::equal(targets.begin(), targets.end(), plan.neighbours.targets.begin()));
  // The losses follow from the plan alone: a reader trains on the same.
  EXPECT_EQ(gnn::reference_losses(read, 3, 1), gnn::reference_losses(plan, 3, 1));
}

TEST(SharedPlans, are_not_read_from_anything_else) {
  const SharedMemory memory(1 << 16);
  EXPECT_THROW(static_cast<void>(gnn::read_plan(memory.path(), 0)), UsageError);
}

}  // namespace
}  // namespace grainscope
