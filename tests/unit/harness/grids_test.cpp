// Values as they are written, the table of presets, and what a run takes of it.

#include "harness/axes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/filter.hpp"
#include "harness/options.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

using Numbers = std::vector<std::uint64_t>;

const DeclaredAxis kBytes = size_axis("bytes", "bytes moved", {64, 64 * kGiB}, true, "", {}, {"most"});
const DeclaredAxis kFlush = switch_axis("flush", "whether caches are flushed", "off");
const DeclaredAxis kThreads = number_axis("threads", "threads that copy", {1, 1024}, "1", {}, {"all"});
const DeclaredAxis kBlocks = number_axis("blocks", "blocks of the grid", {1, 1024}, "full", {"full"});
const DeclaredAxis kPercent = percent_axis("percent", "share of the GPU");

Numbers numbers_of(const std::string& text, const SizeRange& sizes = {}) {
  Numbers numbers;
  for (const AxisValue& value : values_of(kBytes, text, {{"most", 32 * kGiB}}, sizes)) {
    numbers.push_back(static_cast<std::uint64_t>(std::get<std::int64_t>(value)));
  }
  return numbers;
}

std::string why_not(const DeclaredAxis& axis, const std::string& text) {
  try {
    require_values(axis, text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Values, are_lists_and_ranges_by_factors) {
  EXPECT_EQ(numbers_of("4KiB,1MiB"), (Numbers{4 * kKiB, kMiB}));
  EXPECT_EQ(numbers_of("256..2KiB"), (Numbers{256, 512, 1024, 2048}));
  EXPECT_EQ(numbers_of("256..x4..4KiB"), (Numbers{256, 1024, 4096}));
  EXPECT_EQ(numbers_of("256..1KiB,1KiB..x4..16KiB"), (Numbers{256, 512, 1024, 4096, 16384}));
}

TEST(Values, of_a_range_always_have_its_end) {
  EXPECT_EQ(numbers_of("256..x4..2KiB"), (Numbers{256, 1024, 2048}));
  EXPECT_EQ(numbers_of("3KiB..8KiB"), (Numbers{3 * kKiB, 6 * kKiB, 8 * kKiB}));
  EXPECT_EQ(numbers_of("4KiB..4KiB"), (Numbers{4 * kKiB}));
}

TEST(Values, of_a_range_may_begin_or_end_with_a_name) {
  EXPECT_EQ(why_not(kBytes, "most..64GiB"), "");
  EXPECT_EQ(why_not(kBytes, "4KiB..most"), "");
  EXPECT_EQ(numbers_of("most..64GiB"), (Numbers{32 * kGiB, 64 * kGiB}));
}

TEST(Values, are_each_there_once) {
  EXPECT_EQ(numbers_of("1KiB,512..2KiB"), (Numbers{1024, 512, 2048}));
}

TEST(Values, may_be_numbers_that_the_machine_names) {
  EXPECT_EQ(numbers_of("16GiB..most"), (Numbers{16 * kGiB, 32 * kGiB}));
  EXPECT_EQ(values_of(kThreads, "1..x4..all", {{"all", 6}}),
            (std::vector<AxisValue>{std::int64_t{1}, std::int64_t{4}, std::int64_t{6}}));
  EXPECT_THROW(static_cast<void>(values_of(kThreads, "1..some", {{"all", 6}})), UsageError);
}

TEST(Values, are_cut_to_the_users_sizes_and_a_range_at_the_end_goes_on_to_them) {
  EXPECT_EQ(numbers_of("256..4KiB", {1000, 3000}), (Numbers{1024, 2048}));
  EXPECT_EQ(numbers_of("1KiB..4KiB", {{}, 16 * kKiB}), (Numbers{1024, 2048, 4096, 8192, 16384}));
  EXPECT_EQ(numbers_of("1KiB..4KiB,64KiB", {{}, 1 * kMiB}), (Numbers{1024, 2048, 4096, 64 * kKiB}));
  EXPECT_EQ(numbers_of("1KiB,4KiB", {{}, 1 * kMiB}), (Numbers{1024, 4096}));
  EXPECT_TRUE(numbers_of("1KiB..4KiB", {8 * kKiB, 4 * kKiB}).empty());
}

TEST(Values, end_also_where_the_user_asks_for_the_largest_number_there_is) {
  const Numbers sizes = numbers_of("256..4KiB", {{}, std::numeric_limits<std::uint64_t>::max()});
  EXPECT_EQ(sizes.back(), kBytes.numbers->most);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
}

TEST(Values, that_an_axis_cannot_take_are_refused_with_what_it_takes) {
  const std::vector<std::tuple<DeclaredAxis, std::string, std::string>> refused{
      {kBytes, "0", "64 B to 64 GiB"},
      {kBytes, "-1", "whole number"},
      {kBytes, "1PiB", "unit is unknown"},
      {kBytes, "99999999999999999999", "too large"},
      {kBytes, "128GiB", "64 B to 64 GiB"},
      {kBytes, "", "64 B to 64 GiB"},
      {kBytes, "4KiB..", "whole number"},
      {kBytes, "..4KiB", "whole number"},
      {kBytes, "4KiB..x1..8KiB", "from 2 on"},
      {kBytes, "4KiB..y4..8KiB", "from 2 on"},
      {kBytes, "4KiB..x99999999999999999999..8KiB", "from 2 on"},
      {kBytes, "8KiB..4KiB", "ends before it begins"},
      {kFlush, "onn", "did you mean on?"},
      {kFlush, "1", "on or off"},
      {kThreads, "all threads", "1 to 1024 or all"},
      {kThreads, "2KiB", "1 to 1024"},
      {kBlocks, "ful", "did you mean full?"},
      {kPercent, "0", "above 0"},
      {kPercent, "101", "up to 100"},
      {kPercent, "nan", "above 0"},
  };
  for (const auto& [axis, text, what] : refused) {
    const std::string why = why_not(axis, text);
    EXPECT_NE(why.find(what), std::string::npos) << axis.key << "=" << text << ": " << why;
  }
}

TEST(Values, that_an_axis_takes_are_not_refused) {
  EXPECT_EQ(why_not(kBytes, "64,4KiB..x8..most"), "");
  EXPECT_EQ(why_not(kFlush, "on,off"), "");
  EXPECT_EQ(why_not(kThreads, "1..all"), "");
  EXPECT_EQ(why_not(kBlocks, "full,8"), "");
  EXPECT_EQ(why_not(kPercent, "2.5,100"), "");
}

TEST(Table, is_read_line_by_line_and_what_holds_of_all_families_stands_where_a_line_says_nothing) {
  const auto lines = read_presets(
      "let small = 4KiB,8KiB\n"
      "*\n"
      "  quick full  gpu=first  node=each\n"
      "a/b  # a comment\n"
      "  quick full  bytes=$small,1MiB  gpu=each\n"
      "\n"
      "  full        bytes=1GiB\n");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].family, "a/b");
  EXPECT_EQ(lines[0].presets, std::vector{Preset::quick});
  const std::vector<std::pair<std::string, std::string>> first{
      {"bytes", "4KiB,8KiB,1MiB"}, {"gpu", "each"}, {"node", "each"}};
  EXPECT_EQ(lines[0].axes, first);
  EXPECT_EQ(lines[2].axes.back(), (std::pair<std::string, std::string>("node", "each")));
}

TEST(Table, that_cannot_be_read_says_which_line) {
  for (const char* text : {"  quick bytes=1\n", "a\n  quik bytes=1\n", "a\n  bytes=1\n", "a\n  quick bytes\n",
                           "a\n  quick bytes=\n", "a\n  quick =1\n", "a\n  quick bytes=$none\n",
                           "a\n  quick bytes=1 bytes=2\n", "let x\n"}) {
    EXPECT_THROW(static_cast<void>(read_presets(text)), std::logic_error) << text;
  }
}

// What the table says of all families: of those that choose among places.
const std::set<std::string> kOfAllFamilies{"gpu", "node", "orders", "pairs"};

TEST(Table, names_families_that_there_are_and_axes_that_they_declare) {
  std::map<std::string, const Family*> families;
  const std::vector<Family> all = all_families();
  for (const Family& family : all) {
    families[family.name] = &family;
  }
  for (const PresetLine& line : preset_lines()) {
    ASSERT_TRUE(families.contains(line.family)) << line.family;
    const auto& axes = families[line.family]->axes;
    for (const auto& [key, values] : line.axes) {
      const auto axis = std::find_if(axes.begin(), axes.end(),
                                     [&key = key](const DeclaredAxis& each) { return each.key == key; });
      if (axis == axes.end()) {
        EXPECT_TRUE(kOfAllFamilies.contains(key)) << line.family << " " << key << "=" << values;
      } else if (values != "given") {
        EXPECT_NO_THROW(require_values(*axis, values)) << line.family << " " << key << "=" << values;
      }
    }
    for (const DeclaredAxis& axis : axes) {
      const bool named = std::any_of(line.axes.begin(), line.axes.end(),
                                     [&](const auto& each) { return each.first == axis.key; });
      EXPECT_TRUE(named || !axis.otherwise.empty() || !is_given(axis))
          << line.family << " has no value for " << axis.key;
    }
  }
}

TEST(Families, declare_axes_with_a_meaning_and_a_default_that_they_take) {
  for (const Family& family : all_families()) {
    std::set<std::string> keys;
    for (const DeclaredAxis& axis : family.axes) {
      EXPECT_TRUE(keys.insert(axis.key).second) << family.name << " declares " << axis.key << " twice";
      EXPECT_FALSE(axis.means.empty()) << family.name << " " << axis.key;
      if (!axis.otherwise.empty()) {
        EXPECT_EQ(why_not(axis, axis.otherwise), "") << family.name;
      }
    }
  }
}

class AxesOf : public testing::Test {
 protected:
  std::vector<std::string> names(const std::string& family,
                                 std::vector<std::pair<std::string, std::string>> axes,
                                 Preset preset = Preset::quick) {
    left_out_.clear();
    Scope scope =
        make_scope(preset, gpu_targets(machine_, {}), false, {machine_.topology.nodes().front().id});
    scope.axes = std::move(axes);
    std::vector<std::string> names;
    for (const Benchmark& benchmark : list_all(all_families(), machine_, scope, &left_out_)) {
      if (benchmark.id.family == family) {
        names.push_back(benchmark.id.name());
      }
    }
    return names;
  }
  std::string refusal(std::vector<std::pair<std::string, std::string>> axes) {
    try {
      static_cast<void>(names("", std::move(axes)));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  // Whether of any two values one gives no case that the other does not: some may be too small for some.
  [[nodiscard]] bool tells_nothing(const Family& family, const DeclaredAxis& axis) const {
    std::size_t compared = 0;
    for (const Preset preset : {Preset::smoke, Preset::quick, Preset::paper}) {
      std::vector<std::set<std::string>> ways;
      for (const std::string& value : some_values(axis)) {
        Scope scope =
            make_scope(preset, gpu_targets(machine_, {}), false, {machine_.topology.nodes().front().id});
        scope.axes = {{axis.key, value}};
        std::set<std::string> names;
        for (const Benchmark& benchmark : list_all({family}, machine_, scope)) {
          names.insert(benchmark.id.name());
        }
        for (const std::set<std::string>& other : ways) {
          if (!std::includes(names.begin(), names.end(), other.begin(), other.end()) &&
              !std::includes(other.begin(), other.end(), names.begin(), names.end())) {
            return false;
          }
          compared += names.empty() || other.empty() ? 0 : 1;
        }
        ways.push_back(std::move(names));
      }
    }
    return compared > 0;
  }
  static std::vector<std::string> some_values(const DeclaredAxis& axis) {
    std::vector<std::string> values = axis.words;
    for (const std::uint64_t number : axis.only) {
      values.push_back(std::to_string(number));
    }
    for (const std::uint64_t number : {1, 2, 3, 4, 5, 8, 16, 48, 64, 1024, 65536, 1 << 20, 1 << 24}) {
      values.push_back(std::to_string(number));
    }
    for (const char* text : {"kron:20", "power", "5x5", "10x25", "degree", "uniform", "zipf:0.99", "0.5"}) {
      values.emplace_back(text);
    }
    std::erase_if(values, [&](const std::string& value) { return !why_not(axis, value).empty(); });
    return values;
  }

  [[nodiscard]] bool is_left_out(const std::string& reason) const {
    return std::any_of(left_out_.begin(), left_out_.end(),
                       [&](const std::string& why) { return why.find(reason) != std::string::npos; });
  }

  Machine machine_ = test::machine_with_gpus(2);
  std::set<std::string> left_out_;
};

TEST_F(AxesOf, the_user_stand_in_place_of_the_presets) {
  const auto found = names(
      "transfer/kernel_copy",
      {{"bytes", "12KiB"}, {"path", "pinned_to_gpu,gpu_to_pinned"}, {"load", "vector"}, {"blocks", "usual"}});
  EXPECT_EQ(found.size(), 2U);
  for (const std::string& name : found) {
    EXPECT_NE(name.find("bytes:12288"), std::string::npos) << name;
  }
}

TEST_F(AxesOf, a_value_that_no_preset_takes_is_built_in) {
  const auto found = names("transfer/zero_copy", {{"access", "strided"},
                                                  {"width", "16"},
                                                  {"blocks", "7"},
                                                  {"threads", "96"},
                                                  {"allocation", "registered"},
                                                  {"direction", "write"},
                                                  {"bytes", "1MiB"},
                                                  {"offset", "0"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found.front().find("blocks:7/threads:96"), std::string::npos) << found.front();
}

TEST_F(AxesOf, combinations_that_cannot_be_are_left_out_with_the_reason) {
  EXPECT_TRUE(names("transfer/zero_copy", {{"offset", "4"}, {"width", "16"}}).empty());
  EXPECT_TRUE(is_left_out("begins at a multiple"));
}

TEST_F(AxesOf, a_transfer_that_cannot_be_is_left_out_by_the_librarys_reason) {
  EXPECT_TRUE(names("transfer/kernel_copy", {{"bytes", "5"}}).empty());
  ASSERT_FALSE(left_out_.empty());
}

TEST_F(AxesOf, calls_are_taken_by_those_that_have_them) {
  const auto found = names("call", {{"what", "graph_launch,launch_by_threads,malloc,event_record"},
                                    {"nodes", "5"},
                                    {"threads", "3"},
                                    {"bytes", "none,2MiB"}});
  EXPECT_EQ(found.size(), 4U);
  for (const char* own : {"call/graph_launch/.*/nodes:5$", "call/launch_by_threads/.*/threads:3$",
                          "call/malloc/.*/bytes:2097152$", "call/event_record/numa:[0-9]+/gpu:0$"}) {
    EXPECT_EQ(
        std::count_if(found.begin(), found.end(), [&](const auto& each) { return Filter(own).keeps(each); }),
        1)
        << own;
  }
  EXPECT_TRUE(is_left_out("the call malloc is of memory: bytes is a size"));
}

TEST_F(AxesOf, first_touches_are_of_whole_pages) {
  const auto found = names("call", {{"what", "managed_first_touch"}, {"bytes", "192KiB,1000"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found.front().find("bytes:196608"), std::string::npos) << found.front();
  EXPECT_TRUE(is_left_out("whole pages"));
}

TEST_F(AxesOf, a_chase_are_powers_of_two) {
  const auto found =
      names("latency/chase", {{"to", "own_memory"}, {"order", "shuffled"}, {"bytes", "3MiB,512"}});
  EXPECT_EQ(found, std::vector<std::string>{"latency/chase/own_memory/gpu:0/order:shuffled/bytes:512"});
  EXPECT_TRUE(is_left_out("a cycle of pointers goes through a power of two of bytes, not 3145728"));
}

TEST_F(AxesOf, contention_divide_the_bytes_among_the_streams) {
  EXPECT_EQ(
      names("contention", {{"what", "streams"}, {"streams", "5"}, {"path", "host_to_gpu"}, {"bytes", "1MiB"}})
          .size(),
      1U);
  EXPECT_TRUE(names("contention", {{"what", "streams"}, {"streams", "64"}, {"bytes", "128"}}).empty());
  EXPECT_TRUE(is_left_out("moves a multiple of 4 bytes"));
}

TEST_F(AxesOf, a_family_that_can_take_no_value_lists_nothing_and_others_what_they_can) {
  EXPECT_TRUE(names("transfer/local", {{"method", "prefetch"}}).empty());
  EXPECT_FALSE(names("transfer/managed", {{"method", "prefetch"}}).empty());
  EXPECT_FALSE(names("transfer/local", {{"method", "prefetch,copy_engine"}}).empty());
}

TEST_F(AxesOf, names_and_values_that_nobody_has_are_refused_with_the_nearest) {
  EXPECT_NE(refusal({{"byts", "4KiB"}}).find("did you mean bytes?"), std::string::npos);
  EXPECT_NE(refusal({{"method", "prefetsch"}}).find("did you mean prefetch?"), std::string::npos);
  EXPECT_NE(refusal({{"flush", "maybe"}}).find("on or off"), std::string::npos);
}

TEST_F(AxesOf, weights_answers_and_packing_are_of_the_algorithms_that_have_them) {
  const auto lean = [&](const std::string& family, std::vector<std::pair<std::string, std::string>> axes) {
    axes.insert(axes.end(), {{"graph", "kron:20"}, {"tier", "none"}, {"hot", "0"}, {"hot_budget", "none"}});
    return names(family, std::move(axes));
  };
  const auto mapped = lean("lean/cc", {{"answers", "mapped"}, {"lists", "plain"}, {"segments", "read"}});
  ASSERT_EQ(mapped.size(), 1U);
  EXPECT_TRUE(mapped.front().ends_with("/answers:mapped")) << mapped.front();
  EXPECT_TRUE(lean("lean/cc", {{"answers", "parents"}}).empty());
  EXPECT_TRUE(is_left_out("parents are a bfs's"));
  EXPECT_FALSE(lean("lean/bfs", {{"answers", "parents"}}).empty());
  EXPECT_TRUE(lean("lean/bfs", {{"weights", "1-255"}}).empty());
  EXPECT_TRUE(is_left_out("only sssp reads weights"));
  const auto apart =
      lean("lean/sssp", {{"algorithm", "sssp"}, {"weights", "1-255"}, {"packed", "off"}, {"lists", "plain"}});
  ASSERT_EQ(apart.size(), 1U);
  EXPECT_TRUE(apart.front().ends_with("/weights:1-255/packed:off")) << apart.front();
  EXPECT_TRUE(lean("lean/sssp", {{"algorithm", "sssp"}, {"packed", "off"}, {"lists", "compressed"}}).empty());
  EXPECT_NE(refusal({{"weights", "9"}}).find("is no range of weights"), std::string::npos);
  EXPECT_NE(refusal({{"weights", "0-4"}}).find("is no range of weights"), std::string::npos);
  EXPECT_NE(refusal({{"weights", "5-4"}}).find("is no range of weights"), std::string::npos);
}

TEST_F(AxesOf, no_name_tells_are_given_one_value) {
  for (const auto& [key, values] : {std::pair{"batches", "24,48"}, std::pair{"sources_at_most", "4..16"},
                                    std::pair{"edges_at_most", "1048576,2097152"}}) {
    EXPECT_EQ(refusal({{key, values}}),
              "--axis " + std::string(key) + "=" + values + ": no name of a case tells " + key +
                  ", so results could not be told apart: give one value, and each other in a run of its own");
  }
  EXPECT_EQ(refusal({{"batches", "48"}, {"sources_at_most", "4"}, {"edges_at_most", "2097152"}}), "");
}

TEST_F(AxesOf, a_value_is_given_once_however_it_is_written) {
  EXPECT_EQ(refusal({{"bytes", "4KiB,1MiB,4096"}}),
            "--axis bytes=4KiB,1MiB,4096: 4096 is 4KiB again: name each value once");
  EXPECT_EQ(refusal({{"flush", "on,off"}}), "");
  EXPECT_EQ(refusal({{"bytes", "4KiB..64KiB,8KiB"}}), "");  // a range and one of it
}

// Two values of an axis that give the same names, case by case: one of them would be lost in silence.
TEST_F(AxesOf, a_name_tells_unless_they_are_declared_otherwise) {
  std::set<std::string> untold;
  std::set<std::string> declared;
  for (const Family& family : all_families()) {
    for (const DeclaredAxis& axis : family.axes) {
      if (axis.kind == DeclaredAxis::Kind::untold) {
        declared.insert(family.name + " " + axis.key);
      }
      // Rows of an allocation cut off boxes that have more, so that no two values give the same ones.
      if (axis.key == "plane_rows") {
        untold.insert(family.name + " " + axis.key);
      }
      if (axis.kind != DeclaredAxis::Kind::chosen && axis.kind != DeclaredAxis::Kind::untold) {
        continue;
      }
      if (tells_nothing(family, axis)) {
        untold.insert(family.name + " " + axis.key);
      }
    }
  }
  EXPECT_EQ(untold, declared);
}

TEST_F(AxesOf, places_choose_among_those_of_the_machine) {
  const auto count = [&](const std::string& family, const std::string& key, const std::string& value) {
    return names(family, {{key, value}}, Preset::full).size();
  };
  EXPECT_EQ(2 * count("transfer/local", "gpu", "first"), count("transfer/local", "gpu", "each"));
  EXPECT_LT(count("transfer/peer", "orders", "one"), count("transfer/peer", "orders", "both"));
  EXPECT_LT(count("transfer/collective", "root", "first"), count("transfer/collective", "root", "each"));
  EXPECT_EQ(refusal({{"gpu", "first,each"}}),
            "--axis gpu=first,each: gpu takes one value in a run: give one value, and each other in a run of "
            "its own");
  EXPECT_NE(refusal({{"gpu", "1"}}).find("--gpu names some"), std::string::npos) << refusal({{"gpu", "1"}});
}

TEST_F(AxesOf, some_follow_from_others_and_nobody_gives_them_a_value) {
  EXPECT_EQ(refusal({{"strategy", "pulled"}}),
            "--axis strategy: in lean it follows from other axes (by which the algorithm reads fewer edges), "
            "and nobody can give it a value; --explain lean says which");
  EXPECT_TRUE(names("grain/pieces", {{"bytes", "1GiB"}}).size() > 0) << "it is others' to give";
}

TEST(AxisFlags, that_say_nothing_or_something_twice_are_refused) {
  for (const char* text : {"--axis=bytes", "--axis==4KiB", "--axis=bytes=4KiB,4KiB",
                           "--axis=bytes=4KiB,,8KiB", "--axis=bytes=,"}) {
    EXPECT_THROW(static_cast<void>(parse_options({text})), UsageError) << text;
  }
  EXPECT_THROW(static_cast<void>(parse_options({"--axis", "bytes=4KiB", "--axis", "bytes=8KiB"})),
               UsageError);
  const Options options = parse_options({"--axis", "bytes=4KiB", "--axis=flush=on"});
  EXPECT_EQ(options.axes.size(), 2U);
  EXPECT_EQ(options.selection_flags.size(), 2U);
  EXPECT_EQ(parse_options(options.selection_flags).axes, options.axes);
}

}  // namespace
}  // namespace grainscope::harness
