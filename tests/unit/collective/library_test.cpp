// How NCCL is found, which version it is, what an older one lacks, and what its log tells.

#include "grainscope/collective/library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "nccl_api.hpp"

namespace grainscope::collective {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string why_not(const std::string& file) {
  try {
    const Library library({file});
  } catch (const SkipError& error) {
    return error.what();
  }
  return "";
}

TEST(NcclLibraries, tell_their_version_and_the_file_that_was_loaded) {
  const Library library({"libno-such-nccl.so.2", GRAINSCOPE_FAKE_NCCL, GRAINSCOPE_FAKE_NCCL_2_18});
  EXPECT_EQ(library.version(), "2.28.9");
  EXPECT_EQ(library.path(), std::filesystem::canonical(GRAINSCOPE_FAKE_NCCL).string());
  EXPECT_NO_THROW(library.require_registration());
  EXPECT_NE(library.api().all_to_all, nullptr);
}

TEST(NcclLibraries, that_are_not_there_say_what_to_do) {
  const std::string why = why_not("libno-such-nccl.so.2");
  EXPECT_TRUE(contains(why, "there is no NCCL (libno-such-nccl.so.2: ")) << why;
  EXPECT_TRUE(contains(why, "install NCCL 2.7 or newer")) << why;
  EXPECT_TRUE(contains(why, "name its file in GRAINSCOPE_NCCL")) << why;
}

TEST(NcclLibraries, that_are_older_than_a_call_needs_say_which) {
  EXPECT_TRUE(contains(why_not(GRAINSCOPE_FAKE_NCCL_2_6), " has no ncclSend: install NCCL 2.7 or newer"));
  const Library library({GRAINSCOPE_FAKE_NCCL_2_18});
  EXPECT_EQ(library.version(), "2.18.5");
  EXPECT_EQ(library.api().all_to_all, nullptr);
  try {
    library.require_registration();
    FAIL() << "nothing was thrown";
  } catch (const SkipError& error) {
    EXPECT_TRUE(contains(error.what(), "NCCL 2.18.5 (")) << error.what();
    EXPECT_TRUE(contains(error.what(), "registers no buffers: that needs 2.19")) << error.what();
  }
}

TEST(NcclLibraries, that_fail_are_quoted) {
  const Library library({GRAINSCOPE_FAKE_NCCL});
  EXPECT_NO_THROW(library.check(0, "do nothing"));
  try {
    library.check(library.api().get_unique_id(nullptr), "make an id");
    FAIL() << "nothing was thrown";
  } catch (const FailedError& error) {
    EXPECT_STREQ(error.what(),
                 "could not make an id by NCCL 2.28.9: unhandled system error; no socket to be had");
  }
}

TEST(NcclLibraries, have_versions_of_both_ways_of_counting) {
  EXPECT_EQ(nccl::version_text(2708), "2.7.8");
  EXPECT_EQ(nccl::version_text(21903), "2.19.3");
  EXPECT_EQ(nccl::version_text(nccl::version_code(2, 28, 9)), "2.28.9");
  EXPECT_EQ(nccl::version_text(nccl::version_code(2, 8, 3)), "2.8.3");
}

std::vector<std::string> files(const std::map<std::string, std::string>& environment) {
  return library_files([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(NcclLibraries, are_looked_for_where_the_loader_looks_and_then_in_python) {
  const test::TemporaryDirectory prefix;
  const auto folder = prefix / "lib" / "python3.12" / "site-packages" / "nvidia" / "nccl" / "lib";
  std::filesystem::create_directories(folder);
  test::write_text(folder / "libnccl.so.2", "");
  const auto found = files({{"VIRTUAL_ENV", prefix.path().string()}});
  EXPECT_EQ(found.front(), "libnccl.so.2");
  EXPECT_NE(std::find(found.begin(), found.end(), (folder / "libnccl.so.2").string()), found.end());
}

TEST(NcclLibraries, that_the_user_names_are_the_only_ones) {
  EXPECT_EQ(files({{"GRAINSCOPE_NCCL", "/mine/libnccl.so.2"}, {"VIRTUAL_ENV", "/venv"}}),
            std::vector<std::string>{"/mine/libnccl.so.2"});
}

TEST(NcclLogs, tell_by_which_ways_ranks_are_joined) {
  const std::string log =
      "host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "host:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "host:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/direct pointer\n"
      "host:1:2 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct\n"
      "host:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0\n"
      "host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/3/GDRDMA\n"
      "host:1:2 [0] NCCL INFO Bootstrap : Using eth0 via something\n"
      "host:1:2 [0] NCCL INFO Connected NVLS tree\n";
  EXPECT_EQ(connections_in(log), (std::vector<std::string>{"NET/IB/GDRDMA", "NET/Socket", "NVLS", "P2P/CUMEM",
                                                           "P2P/direct", "SHM/direct"}));
  EXPECT_TRUE(connections_in("").empty());
  EXPECT_TRUE(connections_in("a line that ends via ").empty());
}

TEST(NcclVariables, are_told_but_for_those_that_may_name_somebody) {
  const char* const environment[] = {"PATH=/bin", "NCCL_NVLS_ENABLE=0", "NCCL_SOCKET_IFNAME=^lo,docker",
                                     "NCCL_TOPO_FILE=/home/somebody/topo.xml", nullptr};
  EXPECT_EQ(steering_variables(environment),
            (std::map<std::string, std::string>{
                {"NCCL_NVLS_ENABLE", "0"}, {"NCCL_SOCKET_IFNAME", "^lo,docker"}, {"NCCL_TOPO_FILE", "set"}}));
}

}  // namespace
}  // namespace grainscope::collective
