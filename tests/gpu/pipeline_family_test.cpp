// pipeline/graphsage on a GPU: its cases run, agree with each other, and say what crossed the link.

#include <set>
#include <string>

#include "family_fixture.hpp"
#include "gnn/case.hpp"

namespace grainscope::harness {
namespace {

class PipelineFamily : public FamilyTest {};

TEST_F(PipelineFamily, cases_run_and_tell_stages_losses_and_link_bytes) {
  std::set<std::string> ran;
  for (const Benchmark& benchmark :
       listed(pipeline_graphsage(std::make_shared<GnnGraphCache>()), Preset::smoke)) {
    SCOPED_TRACE(benchmark.id.name());
    const auto measurement = run(benchmark);
    if (!measurement) {
      continue;
    }
    const std::string mode = to_string(benchmark.id.axis("mode"));
    const std::string store = to_string(benchmark.id.axis("store"));
    ran.insert(mode + " " + store);
    EXPECT_EQ(why_impossible(*measurement), "");
    const auto& counters = measurement->counters;
    EXPECT_LT(counters.at("loss_last"), counters.at("loss_first"));
    EXPECT_GT(counters.at("sample_s") * counters.at("gather_s") * counters.at("train_s"), 0);
    EXPECT_GT(measurement->bytes, 0);
    if (mode == "cpu_only") {
      continue;
    }
    EXPECT_GT(counters.at("gpu_bytes"), 0);
    if (counters.contains("overlap")) {  // twelve steps need not be enough to know it
      EXPECT_LE(counters.at("overlap"), 1.25);
    }
    EXPECT_EQ(*measurement->link_bytes_least, store == "device" ? 0 : measurement->bytes);
    EXPECT_EQ(counters.at("hit_rate"), store == "device" ? 1 : 0);
  }
  EXPECT_TRUE(ran.contains("cpu_only pageable"));
  EXPECT_TRUE(ran.contains("masked device"));
}

}  // namespace
}  // namespace grainscope::harness
