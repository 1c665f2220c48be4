#include "harness/question.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "harness/options.hpp"
#include "harness/run.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

json read_json(const char* path) {
  std::ifstream file(path);
  return json::parse(file);
}

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(Question(text));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// The same file is held to grainscope-report's understanding: tests/python/test_asking_words.py.
TEST(Question, is_understood_as_the_reports_understand_it) {
  const json golden = read_json(GRAINSCOPE_QUESTIONS);
  ASSERT_GT(golden.at("understood").size(), 50U);
  for (const json& each : golden.at("understood")) {
    json expected = each;
    expected.erase("question");
    const std::string text = each.at("question");
    EXPECT_EQ(refusal_of(text), "") << text;
    EXPECT_EQ(Question(text).as_json(), expected) << text;
  }
  for (const json& each : golden.at("refused")) {
    EXPECT_EQ(refusal_of(each.at("question")), each.at("why").get<std::string>());
  }
}

// What preset `full` lists on the machines that are not at hand, without GPUs and with up to four of them.
const std::vector<Case>& full() {
  static const std::vector<Case> cases = [] {
    std::map<std::string, Case> all;
    for (const auto& [name, described] : test::stored_machines()) {
      if (described.gpus > 4) {
        continue;
      }
      test::MachineTree tree;
      const Machine machine = test::write_machine(described, tree);
      const Scope scope =
          make_scope(Preset::full, gpu_targets(machine, {}), false, node_targets(machine, {}));
      for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
        all.emplace(benchmark.id.name(), benchmark.id);
      }
    }
    std::vector<Case> found;
    for (auto& [name, id] : all) {
      found.push_back(std::move(id));
    }
    return found;
  }();
  return cases;
}

bool is_listed(const Meaning& meaning) {
  return std::any_of(full().begin(), full().end(), [&](const Case& id) { return means(meaning, id); });
}

TEST(Question, every_word_leads_to_a_case_of_full) {
  const json table = read_json(GRAINSCOPE_WORDS);
  for (const json& entry : table.at("words")) {
    for (const std::string phrase : entry.at("words")) {
      const Question question(phrase);
      const bool written = question.families() == std::vector<std::string>{"transfer/written"};
      EXPECT_TRUE(written || std::any_of(full().begin(), full().end(),
                                         [&](const Case& id) { return question.matches(id); }))
          << phrase << ": " << question.text();
    }
  }
}

TEST(Question, every_value_in_the_table_is_of_a_case_of_full) {
  const json table = read_json(GRAINSCOPE_WORDS);
  std::size_t values = 0;
  for (const json& entry : table.at("words")) {
    for (const json& written : entry.at("means")) {
      for (const std::string family : written.at("in")) {
        EXPECT_TRUE(is_listed({{family}, {}}) || family == "transfer/written") << family;
        for (const auto& [axis, all] : written.items()) {
          for (const std::string value : axis == "in" ? json::array() : all) {
            ++values;
            if (value == "nvlink") {
              continue;  // what joins the GPUs of these machines is not known
            }
            // A value need not be of each family of its meaning, but of one.
            EXPECT_TRUE(is_listed({written.at("in"), {{axis, {value}}}}))
                << axis << " " << value << " " << written;
          }
        }
      }
    }
  }
  EXPECT_GT(values, 300U);
}

// The values of an axis of a family's cases that a question means.
std::set<std::string> meant(const std::string& text, const std::string& family, const std::string& axis) {
  const Question question(text);
  std::set<std::string> found;
  for (const Case& id : full()) {
    for (const Axis& each : id.axes) {
      if (id.family == family && each.key == axis && question.matches(id)) {
        found.insert(to_string(each.value));
      }
    }
  }
  return found;
}

TEST(Question, host_memory_is_where_bytes_lie_and_the_cpu_is_who_works) {
  using Values = std::set<std::string>;
  const std::string sampling = "sampling/neighbours";
  EXPECT_EQ(meant("gather host memory", "gather", "store"),
            (Values{"managed", "mapped", "pageable", "pinned"}));
  EXPECT_EQ(meant("embedding bags in cpu memory", "gather/bag", "store"), Values{"mapped"});
  EXPECT_EQ(meant("training host memory", "pipeline/graphsage", "store"),
            (Values{"mapped", "pageable", "pinned"}));
  EXPECT_EQ(meant("sampling host memory", sampling, "placement"), (Values{"host", "mapped"}));
  EXPECT_EQ(meant("gather cpu", "gather", "mode"), (Values{"cpu_gather", "cpu_gather_dma"}));
  EXPECT_EQ(meant("gather cpu host memory", "gather", "mode"), (Values{"cpu_gather", "cpu_gather_dma"}));
  EXPECT_EQ(meant("training cpu", "pipeline/graphsage", "mode"), Values{"cpu_only"});
}

TEST(Question, the_cpu_beside_another_place_is_host_memory) {
  using Values = std::set<std::string>;
  EXPECT_EQ(meant("sampling cpu or gpu memory", "sampling/neighbours", "placement"),
            (Values{"device", "host", "mapped"}));
  EXPECT_EQ(meant("bfs cpu or gpu memory", "traversal/bfs", "placement"),
            (Values{"device", "managed", "mapped", "subway"}));
}

TEST(Question, a_node_is_the_node_of_families_without_gpus_too) {
  const Question memory("memory bandwidth node 0");
  const Question other("memory bandwidth node 1");
  std::size_t found = 0;
  for (const Case& id : full()) {
    const auto from = std::find_if(id.site.begin(), id.site.end(),
                                   [](const Site& site) { return site.key == "from_node"; });
    if (id.family == "host/memcpy" && from != id.site.end()) {
      EXPECT_EQ(memory.matches(id), from->value == 0) << id.name();
      EXPECT_EQ(other.matches(id), from->value == 1) << id.name();
      ++found;
    }
  }
  EXPECT_GT(found, 0U);
}

TEST(Question, to_the_device_is_every_gather_but_the_one_that_brings_nothing_there) {
  std::set<std::string> modes = meant("gather", "gather", "mode");
  EXPECT_EQ(modes.erase("cpu_gather"), 1U);
  EXPECT_EQ(meant("gather h2d", "gather", "mode"), modes);
  modes = meant("training", "pipeline/graphsage", "mode");
  EXPECT_EQ(modes.erase("cpu_only"), 1U);
  EXPECT_EQ(meant("training h2d", "pipeline/graphsage", "mode"), modes);
}

TEST(Question, families_of_the_table_are_those_of_the_suite) {
  const json table = read_json(GRAINSCOPE_WORDS);
  std::set<std::string> listed{"transfer/written"};
  for (const Case& id : full()) {
    listed.insert(id.family);
  }
  std::set<std::string> known;
  for (const auto& [name, sizes] : table.at("families").items()) {
    known.insert(name);
    for (const std::string axis : sizes) {
      EXPECT_TRUE(std::any_of(full().begin(), full().end(),
                              [&](const Case& id) {
                                return id.family == name &&
                                       std::any_of(id.axes.begin(), id.axes.end(),
                                                   [&](const Axis& each) { return each.key == axis; });
                              }))
          << name << " has no " << axis;
    }
  }
  EXPECT_EQ(known, listed);
}

TEST(Question, every_family_is_reached_by_ordinary_words) {
  const json table = read_json(GRAINSCOPE_WORDS);
  std::set<std::string> reached;
  for (const json& entry : table.at("words")) {
    const Question question(entry.at("words").at(0).get<std::string>());
    reached.insert(question.families().begin(), question.families().end());
  }
  for (const auto& [name, sizes] : table.at("families").items()) {
    if (!reached.contains(name)) {
      // Those of an algorithm need it beside the group.
      const std::string group = name.substr(0, name.find('/'));
      const std::string rest = name.substr(name.find('/') + 1);
      const Question question(group + " " + rest);
      EXPECT_EQ(question.families(), std::vector{name});
    }
  }
}

class Asking : public testing::Test {
 protected:
  [[nodiscard]] static std::vector<std::string> names(const std::string& words,
                                                      Preset preset = Preset::quick) {
    const Machine machine = test::machine_with_gpus(1);
    Options options;
    options.question = words;
    options.preset = preset;
    const Scope scope = scope_of(options, machine);
    Selection selection = selection_of(all_families(), options, machine, scope);
    std::vector<std::string> found;
    for (auto* part : {&selection.runnable, &selection.skipped}) {
      for (const Benchmark& benchmark : *part) {
        found.push_back(benchmark.id.name());
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  [[nodiscard]] static std::string refusal(const std::string& words, Preset preset = Preset::quick) {
    try {
      static_cast<void>(names(words, preset));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Asking, takes_sizes_that_no_preset_has) {
  const std::vector<std::string> found = names("h2d pinned 48MiB", Preset::smoke);
  ASSERT_FALSE(found.empty());
  for (const std::string& name : found) {
    EXPECT_TRUE(name.starts_with("transfer/memcpy/pinned_to_gpu/")) << name;
    EXPECT_TRUE(name.ends_with("/bytes:50331648")) << name;
  }
  EXPECT_EQ(found.size(), 2U);  // flushed and not
}

TEST_F(Asking, gives_a_size_to_the_axis_that_the_family_has) {
  for (const std::string& name : names("8 KiB pieces h2d")) {
    const bool right =
        name.find("/grain:8192/") != std::string::npos || name.find("/page:8192/") != std::string::npos;
    EXPECT_TRUE(right) << name;
  }
}

TEST_F(Asking, takes_values_of_axes_and_graphs_that_no_preset_has) {
  ASSERT_FALSE(names("h2d pinned 1MiB flush=off").empty());
  for (const std::string& name : names("h2d pinned 1MiB flush=off")) {
    EXPECT_NE(name.find("/flush:off/"), std::string::npos) << name;
  }
  ASSERT_FALSE(names("bfs kron14").empty());
  for (const std::string& name : names("bfs kron14")) {
    EXPECT_NE(name.find("/graph:kron14/"), std::string::npos) << name;
  }
}

TEST_F(Asking, what_a_preset_lacks_is_said_with_one_that_has_it) {
  EXPECT_NE(refusal("call cold reach").find("go together in no family"), std::string::npos);
  const std::string message = refusal("compressed kron", Preset::acceptance);
  EXPECT_NE(message.find("no case fits what was asked for (lean/bfs and lean/cc and lean/pr and lean/sssp, "
                         "traversal that reads fewer bytes"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("--preset full has "), std::string::npos) << message;
}

TEST_F(Asking, values_from_words_and_from_a_flag_exclude_each_other) {
  const Machine machine = test::machine_with_gpus(1);
  Options options;
  options.question = "h2d flush=on";
  options.axes = {{"flush", "off"}};
  EXPECT_THROW(static_cast<void>(scope_of(options, machine)), UsageError);
}

TEST(FlagsOfQuestion, are_the_words_up_to_the_first_flag) {
  EXPECT_EQ(flags_of_question({"h2d", "pinned", "--plan"}),
            (std::vector<std::string>{"--ask=h2d pinned", "--plan"}));
  EXPECT_THROW(static_cast<void>(flags_of_question({})), UsageError);
  EXPECT_THROW(static_cast<void>(flags_of_question({"--plan"})), UsageError);
  EXPECT_THROW(static_cast<void>(flags_of_question({"--help"})), HelpRequested);
}

TEST(FlagsOfQuestion, come_back_as_flags_of_what_is_run) {
  const Options options = parse_options(flags_of_question({"h2d", "64MiB", "--preset=smoke"}));
  EXPECT_EQ(options.question, "h2d 64MiB");
  EXPECT_EQ(options.selection_flags, (std::vector<std::string>{"--ask=h2d 64MiB", "--preset=smoke"}));
}

TEST(QuestionHelp, fits_a_screen) {
  try {
    static_cast<void>(flags_of_question({"--help"}));
    FAIL();
  } catch (const HelpRequested& help) {
    EXPECT_LE(std::count(help.text.begin(), help.text.end(), '\n'), 40);
  }
}

TEST(FamiliesAsked, are_those_with_the_letters_else_those_of_the_words) {
  const auto names = [](const std::string& words) {
    std::vector<std::string> found;
    for (const Family& family : families_asked(all_families(), words)) {
      found.push_back(family.name);
    }
    return found;
  };
  EXPECT_EQ(names("").size(), all_families().size());
  EXPECT_EQ(names("sm_share"), (std::vector<std::string>{"sm_share/gather", "sm_share/split"}));
  EXPECT_EQ(names("embedding bags"), std::vector<std::string>{"gather/bag"});
  EXPECT_EQ(names("bfs"), std::vector<std::string>{"traversal"});
  EXPECT_THROW(static_cast<void>(names("pined")), UsageError);
}

}  // namespace
}  // namespace grainscope::harness
