// What the shape families list for machines with GPUs, which a test need not have.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"
#include "shape/shape.hpp"
#include "transfer/case.hpp"

namespace grainscope::harness {
namespace {

using test::text_of;

std::vector<Benchmark> shape_cases(const Machine& machine, Preset preset) {
  return test::listed({shape_copy(), shape_pages()}, machine, preset, false);
}

// GPUs that have bulk copies.
Machine machine_with_bulk_copies(int gpus) {
  Machine machine = test::machine_with_gpus(gpus);
  for (GpuReport& gpu : machine.environment.gpus) {
    gpu.cuda->compute_major = cuda::kFirstMajorOfBulk;
  }
  return machine;
}

TEST(Shapes, a_quick_look_at_one_gpu_stays_small) {
  std::size_t runnable = 0;
  for (const Benchmark& benchmark : shape_cases(test::machine_with_gpus(1), Preset::quick)) {
    runnable += benchmark.skip.empty() ? 1 : 0;
    EXPECT_LE(benchmark.needs.host_bytes, 256 * kMiB) << benchmark.id.name();
    EXPECT_LE(benchmark.needs.device_bytes, 512 * kMiB) << benchmark.id.name();
  }
  EXPECT_GT(runnable, 60U);
  EXPECT_LE(runnable, 140U);
}

TEST(Shapes, every_preset_has_every_path_and_method) {
  for (const Preset preset : {Preset::smoke, Preset::quick, Preset::full, Preset::paper}) {
    std::map<std::string, std::set<std::string>> methods;
    for (const Benchmark& benchmark : shape_cases(machine_with_bulk_copies(4), preset)) {
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
      methods[benchmark.id.family + " " + text_of(benchmark, "path")].insert(text_of(benchmark, "method"));
    }
    for (const char* path : {"host_to_gpu", "gpu_to_host", "local", "gpu_to_peer"}) {
      EXPECT_EQ(methods[std::string("shape/copy ") + path].size(), 6U) << path << " " << name(preset);
    }
    const bool quick = preset == Preset::quick;
    for (const char* path : {"host_to_gpu", "gpu_to_host"}) {
      EXPECT_EQ(methods[std::string("shape/pages ") + path].size(), quick ? 4U : 9U)
          << path << " " << name(preset);
    }
    EXPECT_EQ(methods["shape/pages local"].empty(), quick);
    EXPECT_EQ(methods["shape/pages gpu_to_peer"].contains("staged"), !quick);
  }
}

// The same pages by several methods, which is what a table of the fastest is made of.
TEST(Pages, of_a_quick_run_are_few_and_have_each_size_and_count_by_several_methods_both_ways) {
  std::map<std::string, std::set<std::string>> methods;
  std::size_t cases = 0;
  for (const Benchmark& benchmark : shape_cases(test::machine_with_gpus(1), Preset::quick)) {
    if (benchmark.id.family == "shape/pages") {
      ++cases;
      const auto number = [&](const char* key) {
        return std::to_string(std::get<std::int64_t>(benchmark.id.axis(key)));
      };
      methods[text_of(benchmark, "path") + " " + number("page") + " " + number("pages")].insert(
          text_of(benchmark, "method"));
    }
  }
  EXPECT_LE(cases, 40U);
  EXPECT_EQ(methods.size(), 2 * (2 * 2 + 1U));
  for (const auto& [point, ways] : methods) {
    EXPECT_GE(ways.size(), 2U) << point;
    EXPECT_TRUE(ways.contains("kernel") && ways.contains("batch")) << point;
  }
}

TEST(Shapes, boxes_are_sent_by_every_method_and_fetched_by_kernels_and_small_cubes_are_submitted) {
  std::set<std::string> fetched;
  std::set<std::string> submitted;
  for (const Benchmark& benchmark : shape_cases(test::machine_with_gpus(2), Preset::quick)) {
    const std::string path = text_of(benchmark, "path");
    if (benchmark.id.name().starts_with("shape/copy/submission/")) {
      submitted.insert(path);
    } else if (path == "peer_to_gpu") {
      fetched.insert(text_of(benchmark, "method"));
      EXPECT_EQ(benchmark.id.name().find("/gpu:0/peer:1/") != std::string::npos, true);
    }
  }
  EXPECT_EQ(fetched, (std::set<std::string>{"kernel_strided", "kernel_chunked"}));
  EXPECT_EQ(submitted, (std::set<std::string>{"host_to_gpu", "gpu_to_host", "local", "gpu_to_peer"}));
}

// Every path of a full run on two GPUs, each once.
std::vector<ShapePath> full_paths(const Machine& machine) {
  const Scope scope =
      make_scope(Preset::full, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  const Family family = shape_copy();
  const Grids grids(family.axes, family.name, scope);
  std::vector<ShapePath> paths;
  std::set<std::string> names;
  each_path(machine, scope, grids, [&](const ShapePath& path, const Values&) {
    if (names.insert(path.name + " " + std::to_string(path.route.gpu())).second) {
      paths.push_back(path);
    }
  });
  return paths;
}

TEST(Shapes, are_measured_against_the_link_of_their_path_by_the_gpu_that_copies) {
  const Machine machine = test::machine_with_gpus(2);
  const int node = machine.topology.nodes().front().id;
  std::set<std::string> names;
  for (const ShapePath& path : full_paths(machine)) {
    SCOPED_TRACE(path.name);
    names.insert(path.name);
    const transfer::Transfer moved = path.as_transfer(kMiB);
    const int gpu = path.gpu.ordinal;
    EXPECT_EQ(moved.bytes, kMiB);
    EXPECT_EQ(moved.gpu(), gpu);
    EXPECT_EQ(path.route.gpu(), gpu);
    EXPECT_EQ(moved.node(), path.route.node());
    EXPECT_EQ(moved.within_gpu(), path.name == "local");
    if (path.name == "host_to_gpu") {
      EXPECT_EQ(LinkPath::of(moved), LinkPath::host_to_gpu(node, gpu));
    } else if (path.name == "gpu_to_host") {
      EXPECT_EQ(LinkPath::of(moved), LinkPath::gpu_to_host(gpu, node));
    } else if (path.name == "gpu_to_peer") {
      EXPECT_EQ(LinkPath::of(moved), LinkPath::between(gpu, 1 - gpu));
      EXPECT_TRUE(moved.peer_access);
    }
  }
  EXPECT_EQ(names.size(), 5U);
}

TEST(Shapes, that_are_fetched_are_measured_against_the_way_back_by_the_same_gpu) {
  const Machine machine = test::machine_with_gpus(2);
  std::size_t fetched = 0;
  for (const ShapePath& path : full_paths(machine)) {
    if (path.name != "peer_to_gpu") {
      continue;
    }
    ++fetched;
    const int gpu = path.gpu.ordinal;
    const transfer::Transfer moved = path.as_transfer(kMiB);
    EXPECT_EQ(path.route.gpu(), gpu);
    EXPECT_EQ(path.route.peer(), 1 - gpu);
    EXPECT_EQ(path.route.node(), machine.topology.nodes().front().id);
    EXPECT_EQ(moved.gpu(), gpu);
    EXPECT_EQ(moved.peer(), 1 - gpu);
    EXPECT_EQ(LinkPath::of(moved), LinkPath::between(1 - gpu, gpu));
  }
  EXPECT_EQ(fetched, 2U);
}

TEST(Shapes, bytes_are_those_of_the_shape) {
  for (const Benchmark& benchmark : shape_cases(test::machine_with_gpus(1), Preset::full)) {
    const auto number = [&](const char* key) { return std::get<std::int64_t>(benchmark.id.axis(key)); };
    if (benchmark.id.family == "shape/copy") {
      EXPECT_EQ(number("bytes"), number("width") * number("rows") * number("planes"));
      EXPECT_GE(number("pitch"), number("width"));
    } else {
      EXPECT_EQ(number("bytes"), number("page") * number("pages"));
    }
  }
}

TEST(Shapes, thousands_of_copies_a_row_are_not_listed) {
  for (const Benchmark& benchmark : shape_cases(test::machine_with_gpus(1), Preset::paper)) {
    if (benchmark.id.family == "shape/copy" && text_of(benchmark, "method") == "row_copies") {
      EXPECT_LE(std::get<std::int64_t>(benchmark.id.axis("rows")) *
                    std::get<std::int64_t>(benchmark.id.axis("planes")),
                4096);
    }
  }
}

TEST(Shapes, the_users_range_of_sizes_holds) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::full, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  scope.min_bytes = kMiB;
  scope.max_bytes = 4 * kMiB;
  const auto all = list_all({shape_copy(), shape_pages()}, machine, scope);
  EXPECT_FALSE(all.empty());
  for (const Benchmark& benchmark : all) {
    const auto bytes = static_cast<std::uint64_t>(std::get<std::int64_t>(benchmark.id.axis("bytes")));
    EXPECT_GE(bytes, kMiB);
    EXPECT_LE(bytes, 4 * kMiB);
  }
}

// What --axis lists of a family, and why the rest is left out.
std::pair<std::set<std::string>, std::set<std::string>> listed_with(
    const Family& family, const std::vector<std::pair<std::string, std::string>>& axes) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::quick, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  scope.axes = axes;
  std::pair<std::set<std::string>, std::set<std::string>> names_and_reasons;
  for (const Benchmark& benchmark : list_all({family}, machine, scope, &names_and_reasons.second)) {
    names_and_reasons.first.insert(benchmark.id.name());
  }
  return names_and_reasons;
}
std::pair<std::set<std::string>, std::set<std::string>> boxes_with(
    const std::vector<std::pair<std::string, std::string>>& axes) {
  return listed_with(shape_copy(), axes);
}

TEST(Shapes, the_user_chooses_have_the_rows_that_their_bytes_make_or_the_bytes_of_their_rows) {
  const auto by_bytes =
      boxes_with({{"path", "local"}, {"method", "pack"}, {"width", "1KiB"}, {"bytes", "64KiB"}}).first;
  EXPECT_EQ(by_bytes, std::set<std::string>{"shape/copy/local/pack/gpu:0/width:1024/rows:64/planes:1/"
                                            "pitch:2048/bytes:65536"});
  const auto by_rows = boxes_with({{"path", "local"},
                                   {"method", "copy_3d"},
                                   {"timed", "copy"},
                                   {"width", "24"},
                                   {"rows", "5"},
                                   {"planes", "7"},
                                   {"pitch", "32"},
                                   {"bytes", "product"}})
                           .first;
  EXPECT_EQ(by_rows, std::set<std::string>{"shape/copy/local/copy_3d/gpu:0/width:24/rows:5/planes:7/"
                                           "pitch:32/bytes:840"});
}

TEST(Shapes, that_cannot_be_are_left_out_with_the_reason) {
  const auto reasons = [](const std::vector<std::pair<std::string, std::string>>& axes) {
    const auto [names, left_out] = boxes_with(axes);
    EXPECT_TRUE(names.empty()) << *names.begin();
    std::string all;
    for (const std::string& why : left_out) {
      all += why + "\n";
    }
    return all;
  };
  EXPECT_NE(reasons({{"rows", "8"}, {"bytes", "4KiB"}}).find("rows is rest"), std::string::npos);
  EXPECT_NE(reasons({{"rows", "rest"}, {"bytes", "product"}}).find("its rows or its bytes"),
            std::string::npos);
  EXPECT_NE(reasons({{"width", "24"}, {"rows", "rest"}, {"bytes", "4KiB"}}).find("no whole number of rows"),
            std::string::npos);
  EXPECT_NE(reasons({{"width", "64"}, {"pitch", "32"}}).find("overlaps itself"), std::string::npos);
  EXPECT_NE(reasons({{"method", "pack"}, {"path", "peer_to_gpu"}}).find("only a kernel"), std::string::npos);
  EXPECT_NE(reasons({{"timed", "submission"}, {"method", "pack"}}).find("copy_3d"), std::string::npos);
  EXPECT_NE(reasons({{"width", "1"}, {"rows", "rest"}, {"planes", "1"}, {"bytes", "64MiB"}}).find("32 GiB"),
            std::string::npos);
}

TEST(Pages, the_user_chooses_say_how_they_lie_in_which_pool_and_by_how_many_blocks) {
  const auto names = listed_with(shape_pages(), {{"path", "host_to_gpu"},
                                                 {"method", "kernel"},
                                                 {"page", "28KiB"},
                                                 {"pages", "100"},
                                                 {"order", "runs"},
                                                 {"pool", "1GiB"},
                                                 {"blocks", "3"}})
                         .first;
  EXPECT_EQ(names.size(), 1U);
  EXPECT_NE(names.begin()->find("shape/pages/host_to_gpu/kernel/"), std::string::npos);
  EXPECT_NE(names.begin()->find("/page:28672/pages:100/order:runs/pool:1073741824/blocks:3/bytes:2867200"),
            std::string::npos)
      << *names.begin();
  const auto copies =
      listed_with(shape_pages(), {{"path", "local"}, {"method", "graph"}, {"page", "24"}, {"pages", "3"}})
          .first;
  EXPECT_EQ(copies, std::set<std::string>{
                        "shape/pages/local/graph/gpu:0/page:24/pages:3/order:drawn/pool:usual/bytes:72"});
}

TEST(Pages, that_cannot_be_are_left_out_with_the_reason) {
  const auto reason = [](const std::vector<std::pair<std::string, std::string>>& axes) {
    const auto [names, left_out] = listed_with(shape_pages(), axes);
    EXPECT_TRUE(names.empty()) << *names.begin();
    return left_out.size() == 1 ? *left_out.begin() : std::to_string(left_out.size()) + " reasons";
  };
  const std::pair<std::string, std::string> page{"page", "4KiB"};
  const std::pair<std::string, std::string> pages{"pages", "64"};
  const std::pair<std::string, std::string> path{"path", "host_to_gpu"};
  EXPECT_NE(reason({page, pages, path, {"method", "batch"}, {"blocks", "4"}}).find("no blocks"),
            std::string::npos);
  EXPECT_NE(reason({page, pages, path, {"method", "kernel"}, {"neighbours", "2"}}).find("method is relay"),
            std::string::npos);
  EXPECT_NE(reason({page, pages, path, {"method", "kernel"}, {"share", "30"}}).find("method is relay"),
            std::string::npos);
  EXPECT_NE(reason({page, pages, {"path", "local"}, {"method", "relay"}}).find("links to the host"),
            std::string::npos);
  EXPECT_NE(reason({page, {"pages", "1"}, path, {"method", "relay"}}).find("too few"), std::string::npos);
  EXPECT_NE(reason({page, pages, path, {"method", "batch"}, {"pool", "128KiB"}}).find("no room"),
            std::string::npos);
  EXPECT_NE(reason({page, pages, path, {"method", "batch"}, {"pool", "1MiB"}, {"order", "packed"}})
                .find("fill their pool"),
            std::string::npos);
  EXPECT_NE(reason({page, pages, path, {"method", "staged"}}).find("order packed"), std::string::npos);
  EXPECT_NE(reason({page, pages, {"path", "local"}, {"method", "cpu_gather"}}).find("on the host"),
            std::string::npos);
  EXPECT_NE(reason({{"page", "24"}, pages, path, {"method", "bulk"}}).find("multiples of 16"),
            std::string::npos);
  EXPECT_NE(reason({page, pages, {"path", "local"}, {"method", "kernel"}, {"memory", "managed_host"}})
                .find("no page is on the host"),
            std::string::npos);
  EXPECT_NE(
      reason({page, pages, path, {"method", "kernel"}, {"memory", "hugetlb"}}).find("host_alloc, registered"),
      std::string::npos);
}

TEST(Pages, lie_in_host_memory_of_the_kind_that_is_asked_for) {
  const auto names = listed_with(shape_pages(), {{"path", "host_to_gpu,gpu_to_host"},
                                                 {"method", "kernel"},
                                                 {"page", "4KiB"},
                                                 {"pages", "64"},
                                                 {"memory", "host_alloc,managed_host"}})
                         .first;
  EXPECT_EQ(names.size(), 4U);
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const std::string& each) {
                            return each.find("memory:managed_host") != std::string::npos;
                          }),
            2);
}

TEST(Pages, need_room_for_both_pools_and_what_is_staged) {
  const auto needs = [](const std::vector<std::pair<std::string, std::string>>& axes) {
    const Machine machine = test::machine_with_gpus(1);
    Scope scope =
        make_scope(Preset::quick, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
    scope.axes = {{"page", "4KiB"}, {"pages", "256"}};
    scope.axes.insert(scope.axes.end(), axes.begin(), axes.end());
    const auto all = list_all({shape_pages()}, machine, scope);
    EXPECT_FALSE(all.empty());
    return all.front().needs;
  };
  constexpr std::uint64_t kGuards = 512;
  const Needs usual = needs({{"path", "host_to_gpu"}, {"method", "batch"}});
  EXPECT_EQ(usual.host_bytes, 2 * kMiB + kGuards);
  EXPECT_EQ(usual.device_bytes, 2 * kMiB + kGuards);
  const Needs back = needs({{"path", "gpu_to_host"}, {"method", "batch"}, {"pool", "64MiB"}});
  EXPECT_EQ(back.host_bytes, 64 * kMiB + kGuards);
  EXPECT_EQ(back.device_bytes, 2 * kMiB + kGuards);
  const Needs gathered = needs({{"path", "host_to_gpu"}, {"method", "cpu_gather"}});
  EXPECT_EQ(gathered.host_bytes, 3 * kMiB + kGuards);
  EXPECT_EQ(gathered.device_bytes, 3 * kMiB + kGuards);
  const Needs packed = needs({{"path", "host_to_gpu"}, {"method", "staged"}, {"order", "packed"}});
  EXPECT_EQ(packed.host_bytes, kMiB + kGuards);
  EXPECT_EQ(packed.device_bytes, 3 * kMiB + kGuards);
  const Needs local = needs({{"path", "local"}, {"method", "kernel"}});
  EXPECT_EQ(local.host_bytes, 0U);
  EXPECT_EQ(local.device_bytes, 2 * (2 * kMiB + kGuards));
}

TEST(Pages, by_bulk_copies_say_where_the_gpu_has_none) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.gpus[0].cuda->compute_major = 8;
  std::size_t bulk = 0;
  for (const Benchmark& benchmark : shape_cases(machine, Preset::full)) {
    if (text_of(benchmark, "path").find("peer") == std::string::npos) {
      const bool by_bulk = text_of(benchmark, "method") == "bulk";
      bulk += by_bulk ? 1 : 0;
      EXPECT_EQ(benchmark.skip.find("no bulk copies") != std::string::npos, by_bulk) << benchmark.id.name();
    }
  }
  EXPECT_GT(bulk, 0U);
}

// Those of relayed pages alone.
std::vector<Benchmark> relayed(const Machine& machine, Preset preset) {
  std::vector<Benchmark> found;
  for (const Benchmark& benchmark : shape_cases(machine, preset)) {
    if (text_of(benchmark, "method") == "relay") {
      found.push_back(benchmark);
    }
  }
  return found;
}

TEST(RelayedPages, are_between_the_host_and_a_gpu_and_name_the_neighbour) {
  for (const Preset preset : {Preset::smoke, Preset::quick, Preset::full}) {
    const std::vector<Benchmark> found = relayed(test::machine_with_gpus(2), preset);
    ASSERT_FALSE(found.empty()) << name(preset);
    for (const Benchmark& benchmark : found) {
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
      EXPECT_EQ(benchmark.gpus(), (std::set<int>{0, 1}));
      EXPECT_NE(benchmark.id.name().find("/gpu:0/peer:1/"), std::string::npos) << benchmark.id.name();
      EXPECT_NE(benchmark.id.name().find("/blocks:usual/neighbours:1/share:found/"), std::string::npos)
          << benchmark.id.name();
      if (preset != Preset::smoke) {
        EXPECT_GE(std::get<std::int64_t>(benchmark.id.axis("bytes")), 64 * std::int64_t{kMiB});
      }
    }
  }
  EXPECT_EQ(relayed(test::machine_with_gpus(2), Preset::quick).size(), 2U);
}

TEST(RelayedPages, may_reach_what_all_their_links_carry_together) {
  Machine machine = test::machine_with_gpus(3);
  for (int gpu = 0; gpu < 3; ++gpu) {
    machine.environment.gpus[static_cast<std::size_t>(gpu)].nvml->link_generation_max = 5 - gpu;
    machine.environment.gpus[static_cast<std::size_t>(gpu)].nvml->link_width_max = 16;
  }
  const ShapePath path = full_paths(machine).front();
  ASSERT_TRUE(path.route.has_host());
  transfer::Transfer moved = path.as_transfer(kMiB);
  const auto limit_gb_s = [&](std::uint64_t gpus) {
    moved.relay.gpus = gpus;
    const auto limit = limit_of(machine, moved);
    return limit ? limit->gb_s : 0;
  };
  const auto link_gb_s = [&](int gpu) {
    const auto limit = host_link_limit(machine, gpu);
    return limit ? limit->gb_s : 0;
  };
  EXPECT_GT(link_gb_s(2), 1);
  EXPECT_GT(link_gb_s(1), link_gb_s(2));
  EXPECT_EQ(limit_gb_s(0), link_gb_s(path.gpu.ordinal));
  EXPECT_EQ(limit_gb_s(2), link_gb_s(0) + link_gb_s(1));
  EXPECT_EQ(limit_gb_s(6), link_gb_s(0) + link_gb_s(1) + link_gb_s(2));
}

TEST(RelayedPages, say_why_not_without_enough_gpus_or_without_access) {
  const auto all_say = [](const Machine& machine, Preset preset, const std::string& why) {
    const std::vector<Benchmark> found = relayed(machine, preset);
    EXPECT_FALSE(found.empty());
    for (const Benchmark& benchmark : found) {
      EXPECT_NE(benchmark.skip.find(why), std::string::npos) << benchmark.id.name() << " " << benchmark.skip;
    }
  };
  all_say(test::machine_with_gpus(1), Preset::paper, "needs two GPUs; this machine has one");
  for (const int from : {0, 1}) {
    Machine one_way = test::machine_with_gpus(2);
    for (cuda::PeerLink& peer : one_way.runtime.peers) {
      peer.access = peer.from != from;
    }
    all_say(one_way, Preset::full, "GPU " + std::to_string(from) + " cannot reach");
  }
  Machine few = test::machine_with_gpus(3);
  std::size_t too_few = 0;
  for (const Benchmark& benchmark : relayed(few, Preset::paper)) {
    const bool three = benchmark.id.name().find("/neighbours:3/") != std::string::npos;
    too_few += three ? 1 : 0;
    EXPECT_EQ(benchmark.skip, three ? "needs 4 GPUs; this machine has 3" : "") << benchmark.id.name();
    EXPECT_EQ(benchmark.gpus().size(),
              benchmark.id.name().find("/neighbours:1/") == std::string::npos ? (three ? 4U : 3U) : 2U);
  }
  EXPECT_EQ(too_few, 2U);
  Machine no_managed = test::machine_with_gpus(2);
  no_managed.environment.gpus[1].cuda->concurrent_managed_access = false;
  for (const Benchmark& benchmark : relayed(no_managed, Preset::full)) {
    const bool managed = benchmark.id.name().find("memory:managed_host") != std::string::npos;
    EXPECT_EQ(benchmark.skip.find("managed memory in place") != std::string::npos, managed)
        << benchmark.id.name() << " " << benchmark.skip;
  }
}

TEST(Shapes, with_one_gpu_copies_between_gpus_say_that_two_are_needed) {
  std::size_t peers = 0;
  for (const Benchmark& benchmark : shape_cases(test::machine_with_gpus(1), Preset::quick)) {
    if (text_of(benchmark, "path") == "gpu_to_peer") {
      ++peers;
      EXPECT_NE(benchmark.skip.find("two GPUs"), std::string::npos) << benchmark.skip;
    }
  }
  EXPECT_GT(peers, 0U);
}

TEST(Shapes, gpus_that_cannot_reach_each_other_are_skipped) {
  Machine machine = test::machine_with_gpus(2);
  for (cuda::PeerLink& peer : machine.runtime.peers) {
    peer.access = false;
  }
  for (const Benchmark& benchmark : shape_cases(machine, Preset::smoke)) {
    if (text_of(benchmark, "path") == "gpu_to_peer") {
      EXPECT_NE(benchmark.skip.find("cannot reach"), std::string::npos) << benchmark.id.name();
    }
  }
}

TEST(Shapes, gpus_joined_by_a_switch_or_directly_are_on_nvlink_and_others_on_pcie) {
  for (const auto& [type, remote, expected] :
       {std::tuple{"switch", "0000:ff:00.0", "nvlink"}, std::tuple{"gpu", "0000:02:00.0", "nvlink"},
        std::tuple{"gpu", "0000:03:00.0", "pcie"}}) {
    Machine machine = test::machine_with_gpus(2);
    machine.environment.gpus[0].nvml->nvlinks->push_back({0, true, "4.0", {}, type, remote});
    if (std::string(type) == "switch") {
      machine.environment.gpus[1].nvml->nvlinks->push_back({0, true, "4.0", {}, type, remote});
    }
    for (const Benchmark& benchmark : shape_cases(machine, Preset::smoke)) {
      if (text_of(benchmark, "path") == "gpu_to_peer") {
        EXPECT_EQ(text_of(benchmark, "link"), expected);
      }
    }
  }
}

TEST(Shapes, batches_need_a_toolkit_and_a_driver_that_have_the_call) {
  for (const bool old_toolkit : {true, false}) {
    Machine machine = machine_with_bulk_copies(1);
    (old_toolkit ? machine.runtime.toolkit_version : machine.runtime.driver_version) = 12040;
    std::size_t batches = 0;
    for (const Benchmark& benchmark : shape_cases(machine, Preset::smoke)) {
      const std::string method = text_of(benchmark, "method");
      const bool alone = text_of(benchmark, "path").find("peer") == std::string::npos && method != "relay";
      if (method.starts_with("batch") && alone) {
        ++batches;
        EXPECT_NE(benchmark.skip.find("needs CUDA 12.8"), std::string::npos) << benchmark.skip;
        EXPECT_NE(benchmark.skip.find("12.4"), std::string::npos) << benchmark.skip;
      } else if (alone) {
        EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
      }
    }
    EXPECT_GE(batches, 3U);
  }
}

TEST(Shapes, kernels_that_reach_the_host_need_mapped_memory_and_others_do_not) {
  Machine machine = machine_with_bulk_copies(1);
  machine.environment.gpus[0].cuda->can_map_host_memory = false;
  for (const Benchmark& benchmark : shape_cases(machine, Preset::smoke)) {
    const std::string path = text_of(benchmark, "path");
    const bool host = path == "host_to_gpu" || path == "gpu_to_host";
    const bool kernel =
        text_of(benchmark, "method").starts_with("kernel") || text_of(benchmark, "method") == "bulk";
    if (path.find("peer") == std::string::npos) {
      EXPECT_EQ(benchmark.skip.find("cannot map") != std::string::npos, host && kernel)
          << benchmark.id.name();
    }
  }
}

}  // namespace
}  // namespace grainscope::harness
