// How processes of one launch find their places and each other, and what becomes of those that stay when one
// goes. The ranks are real processes: forks of this one, before it has any thread.

#include "grainscope/system/ranks.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../../testing/says.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope {
namespace {

using test::says;
using Variables = std::map<std::string, std::string>;

RankPlace place_of(const Variables& environment, const std::string& where = kMeetByEnvironment) {
  return rank_place(where, [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string why_no_place(const Variables& environment, const std::string& where = kMeetByEnvironment) {
  try {
    static_cast<void>(place_of(environment, where));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RankPlaces, are_those_of_torchrun_whose_store_has_the_port) {
  const RankPlace place = place_of({{"RANK", "5"},
                                    {"WORLD_SIZE", "16"},
                                    {"LOCAL_RANK", "1"},
                                    {"MASTER_ADDR", "node7"},
                                    {"MASTER_PORT", "29500"},
                                    {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                    {"TORCHELASTIC_RUN_ID", "job"}});
  EXPECT_EQ(place.launcher, "torchrun");
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.ranks, 16);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.meeting, "node7:29501");
  EXPECT_EQ(place.job, "job");
}

TEST(RankPlaces, are_those_of_mpirun_and_mpiexec) {
  const Variables address{{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1234"}};
  Variables open_mpi = address;
  open_mpi.insert(
      {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  EXPECT_EQ(place_of(open_mpi).launcher, "mpirun");
  EXPECT_EQ(place_of(open_mpi).local_rank, 0);
  EXPECT_EQ(place_of(open_mpi).meeting, "a:1234");
  Variables pmi = address;
  pmi.insert({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}});
  EXPECT_EQ(place_of(pmi).launcher, "mpiexec");
  EXPECT_EQ(place_of(pmi).local_rank, 3) << "not told: as on one node";
}

TEST(RankPlaces, of_srun_need_no_address) {
  const Variables slurm{{"SLURM_PROCID", "1"},      {"SLURM_STEP_NUM_TASKS", "2"},
                        {"SLURM_LOCALID", "0"},     {"SLURM_STEP_NODELIST", "gpu[08-09]"},
                        {"SLURM_JOB_ID", "123456"}, {"SLURM_STEP_ID", "2"}};
  const RankPlace place = place_of(slurm);
  EXPECT_EQ(place.launcher, "srun");
  EXPECT_EQ(place.meeting, "gpu08:" + std::to_string(20000 + (123456 * 7 + 2) % 20000));
  Variables with_address = slurm;
  with_address.insert({{"MASTER_ADDR", "elsewhere"}, {"MASTER_PORT", "9"}});
  EXPECT_EQ(place_of(with_address).meeting, "elsewhere:9");
}

TEST(RankPlaces, of_srun_that_speaks_pmi_are_of_srun) {
  const Variables slurm{{"SLURM_PROCID", "9"},  {"SLURM_STEP_NUM_TASKS", "16"},    {"SLURM_LOCALID", "1"},
                        {"SLURM_JOB_ID", "12"}, {"SLURM_STEP_NODELIST", "a[1-2]"}, {"PMI_RANK", "9"},
                        {"PMI_SIZE", "16"}};
  const RankPlace place = place_of(slurm);
  EXPECT_EQ(place.launcher, "srun");
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.job, "12");
  // An mpiexec that has a process of srun's on each node: its ranks are others.
  Variables within = slurm;
  within["PMI_RANK"] = "3";
  within.insert({{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}, {"MPI_LOCALRANKID", "3"}});
  EXPECT_EQ(place_of(within).launcher, "mpiexec");
  EXPECT_EQ(place_of(within).rank, 3);
}

TEST(RankPlaces, of_the_largest_job_have_a_port) {
  for (const char* const job : {"402653185", "2214592513", "18446744073709551615"}) {
    const Variables slurm{{"SLURM_PROCID", "1"},           {"SLURM_STEP_NUM_TASKS", "2"},
                          {"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NODELIST", "a"},
                          {"SLURM_JOB_ID", job},           {"SLURM_LOCALID", "0"}};
    const std::string meeting = place_of(slurm).meeting;
    const int port = std::stoi(meeting.substr(2));
    EXPECT_GE(port, 20000) << meeting;
    EXPECT_LT(port, 40000) << meeting;
  }
}

TEST(RankPlaces, of_a_batch_script_that_srun_did_not_start_are_none) {
  EXPECT_NE(why_no_place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}), "");
}

TEST(RankPlaces, that_make_no_sense_say_why) {
  EXPECT_TRUE(says(why_no_place({}), "torchrun, mpirun, mpiexec or srun"));
  const Variables known{{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  EXPECT_TRUE(says(why_no_place(known), "set MASTER_ADDR and MASTER_PORT"));
  EXPECT_TRUE(says(why_no_place(known, "nothing"), "neither env, HOST:PORT nor a path with a slash"));
  EXPECT_TRUE(says(why_no_place(known, "host:port"), "is 'port', which is no number"));
  EXPECT_TRUE(says(why_no_place({{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "h:1"), "RANK is 2"));
  EXPECT_TRUE(says(why_no_place({{"RANK", "one"}, {"WORLD_SIZE", "2"}}, "h:1"), "RANK is 'one'"));
  EXPECT_EQ(why_no_place(known, "./ranks"), "");
}

TEST(RankPlaces, first_hosts_of_lists_are_whole_names) {
  EXPECT_EQ(first_host("node[007-009,12],gpu1"), "node007");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("alone"), "alone");
  EXPECT_EQ(first_host("rack[1-2]-gpu"), "rack1-gpu");
}

// Ranks as processes; each returns its status. They meet by a file, or by an address where the test has one.
class RankGroups : public testing::Test {
 protected:
  ~RankGroups() override {
    for (const pid_t pid : started_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }

  RankPlace place(int rank, int ranks) const {
    RankPlace place;
    place.rank = rank;
    place.ranks = ranks;
    place.meeting = (folder_ / "meeting").string();
    place.job = "this";
    return place;
  }
  static RankFacts facts(int rank) {
    RankFacts facts = own_facts(rank);
    facts.commit = "abc";
    facts.library = "NCCL 2.28.9";
    facts.gpu = "GPU-" + std::to_string(rank);
    return facts;
  }

  pid_t start(const std::function<int()>& body) {
    const pid_t pid = fork();
    if (pid == 0) {
      int status = 99;
      try {
        status = body();
      } catch (const Error& error) {
        std::ofstream(folder_ / ("said." + std::to_string(getpid()))) << error.what();
        status = 40 + static_cast<int>(error.status());
      }
      _exit(status);
    }
    started_.push_back(pid);
    return pid;
  }
  int end_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    std::erase(started_, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string said_by(pid_t pid) const {
    std::ifstream file(folder_ / ("said." + std::to_string(pid)));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Doubles numbers until it is told to end.
  int serve(int rank, int ranks, double limit_s, const std::function<void(RankFacts&)>& change = {}) const {
    RankFacts own = facts(rank);
    if (change) {
      change(own);
    }
    RankMember member(place(rank, ranks), own, limit_s);
    for (;;) {
      const std::string line = member.next();
      if (line.starts_with("end ")) {
        return std::stoi(line.substr(4));
      }
      if (line == "die") {
        _exit(7);
      }
      if (line == "hang") {
        raise(SIGSTOP);
      }
      member.answer(line == "skip"   ? "skip no memory"
                    : line == "fail" ? "failed wrong"
                                     : "done " + line + line);
    }
  }

  std::filesystem::path folder_ = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "ranks-XXXXXX").string();
    return std::filesystem::path(mkdtemp(pattern.data()));
  }();
  std::vector<pid_t> started_;
};

using Answers = std::vector<std::string>;

TEST_F(RankGroups, are_led_by_rank_0_until_it_ends_them_with_its_status) {
  const pid_t one = start([&] { return serve(1, 3, 10); });
  const pid_t two = start([&] { return serve(2, 3, 10); });
  {
    RankGroup group(place(0, 3), facts(0), 10);
    EXPECT_EQ(group.facts().at(2).gpu, "GPU-2");
    EXPECT_EQ(group.facts().at(1).pid, one);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "meeting")) << "a later launch would find it";
    group.tell({1, 2}, "a");
    EXPECT_EQ(group.answers({1, 2}, "done"), (Answers{"aa", "aa"}));
    group.tell({2}, "b");
    EXPECT_EQ(group.answers({2}, "done"), (Answers{"bb"}));
    EXPECT_EQ(group.why_lost(), "");
    group.end(3);
  }
  EXPECT_EQ(end_of(one), 3);
  EXPECT_EQ(end_of(two), 3);
}

TEST_F(RankGroups, hear_why_a_rank_cannot_and_go_on) {
  const pid_t one = start([&] { return serve(1, 2, 10); });
  RankGroup group(place(0, 2), facts(0), 10);
  group.tell({1}, "skip");
  try {
    static_cast<void>(group.answers({1}, "done"));
    FAIL() << "nothing was thrown";
  } catch (const SkipError& error) {
    EXPECT_TRUE(says(error.what(), "rank 1 (")) << error.what();
    EXPECT_TRUE(says(error.what(), "): no memory")) << error.what();
  }
  group.tell({1}, "fail");
  EXPECT_THROW(static_cast<void>(group.answers({1}, "done")), FailedError);
  group.tell({1}, "x");
  EXPECT_EQ(group.answers({1}, "done"), (Answers{"xx"}));
  group.end(0);
  EXPECT_EQ(end_of(one), 0);
}

TEST_F(RankGroups, that_lose_a_rank_name_it_everywhere) {
  const pid_t one = start([&] { return serve(1, 3, 10); });
  const pid_t two = start([&] { return serve(2, 3, 10); });
  RankGroup group(place(0, 3), facts(0), 10);
  group.tell({1}, "die");
  const double start_s = steady_now_s();
  try {
    static_cast<void>(group.answers({1}, "done"));
    FAIL() << "nothing was thrown";
  } catch (const RankLostError& error) {
    EXPECT_TRUE(says(error.what(), "rank 1 (")) << error.what();
    EXPECT_TRUE(says(error.what(), "process " + std::to_string(one) + ") is gone")) << error.what();
  }
  EXPECT_LT(steady_now_s() - start_s, 2);
  EXPECT_EQ(end_of(one), 7);
  EXPECT_EQ(end_of(two), 41);
  EXPECT_TRUE(says(said_by(two), "rank 1 (")) << said_by(two);
  EXPECT_THROW(static_cast<void>(group.answers({2}, "done")), RankLostError);
}

TEST_F(RankGroups, miss_a_rank_while_they_wait_for_something_else) {
  const pid_t one = start([&] { return serve(1, 2, 10); });
  RankGroup group(place(0, 2), facts(0), 10);
  EXPECT_EQ(group.why_lost(), "");
  kill(one, SIGKILL);
  EXPECT_EQ(end_of(one), -1);
  EXPECT_TRUE(says(group.why_lost(), "process " + std::to_string(one) + ") is gone")) << group.why_lost();
}

TEST_F(RankGroups, that_hear_nothing_of_a_rank_in_time_name_it) {
  const pid_t one = start([&] { return serve(1, 2, 10); });
  RankGroup group(place(0, 2), facts(0), 1);
  group.tell({1}, "hang");
  try {
    static_cast<void>(group.answers({1}, "done"));
    FAIL() << "nothing was thrown";
  } catch (const RankLostError& error) {
    EXPECT_TRUE(says(error.what(), ") has not answered within 1")) << error.what();
  }
  kill(one, SIGCONT);
}

// A launcher passes its signals on to every rank; who handles one goes on.
TEST_F(RankGroups, go_on_after_a_signal_that_a_rank_handles) {
  const pid_t one = start([&] {
    struct sigaction handled {};
    handled.sa_handler = [](int) {};
    sigaction(SIGUSR1, &handled, nullptr);
    return serve(1, 2, 10);
  });
  RankGroup group(place(0, 2), facts(0), 10);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(one, SIGUSR1);
  }
  group.tell({1}, "x");
  EXPECT_EQ(group.answers({1}, "done"), (Answers{"xx"}));
  group.end(0);
  EXPECT_EQ(end_of(one), 0);
}

TEST_F(RankGroups, whose_rank_0_dies_end) {
  const pid_t zero = start([&] {
    const RankGroup group(place(0, 2), facts(0), 10);
    _exit(9);
    return 0;
  });
  const pid_t one = start([&] { return serve(1, 2, 10); });
  EXPECT_EQ(end_of(zero), 9);
  EXPECT_EQ(end_of(one), 41);
  EXPECT_EQ(said_by(one), "rank 0 is gone");
}

TEST_F(RankGroups, whose_rank_0_hangs_end_too) {
  const pid_t zero = start([&] {
    const RankGroup group(place(0, 2), facts(0), 10);
    raise(SIGSTOP);
    return 0;
  });
  const pid_t one = start([&] { return serve(1, 2, 1.5); });
  EXPECT_EQ(end_of(one), 41);
  EXPECT_TRUE(says(said_by(one), "rank 0 has said nothing for 1.5")) << said_by(one);
  kill(zero, SIGKILL);
}

TEST_F(RankGroups, with_nothing_to_say_stay_longer_than_the_limit) {
  const pid_t one = start([&] { return serve(1, 2, 1); });
  RankGroup group(place(0, 2), facts(0), 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  group.tell({1}, "x");
  EXPECT_EQ(group.answers({1}, "done"), (Answers{"xx"}));
  group.end(0);
  EXPECT_EQ(end_of(one), 0);
}

std::string why_no_group(const RankPlace& place, const RankFacts& facts, double limit_s) {
  try {
    const RankGroup group(place, facts, limit_s);
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "";
}

TEST_F(RankGroups, that_are_not_whole_in_time_name_who_is_missing) {
  const pid_t two = start([&] { return serve(2, 4, 10); });
  const std::string why = why_no_group(place(0, 4), facts(0), 1);
  EXPECT_TRUE(says(why, "ranks 1, 3 of 4 did not come to ")) << why;
  EXPECT_EQ(end_of(two), 43);
  EXPECT_EQ(said_by(two), why);
}

TEST_F(RankGroups, of_two_commits_do_not_begin) {
  const pid_t one = start([&] { return serve(1, 2, 10, [](RankFacts& own) { own.commit = "other"; }); });
  const std::string why = why_no_group(place(0, 2), facts(0), 10);
  EXPECT_TRUE(says(why, "runs commit other of grainscope, and rank 0 (")) << why;
  EXPECT_EQ(end_of(one), 43);
  EXPECT_EQ(said_by(one), why);
}

TEST_F(RankGroups, of_two_libraries_do_not_begin) {
  const pid_t one = start([&] { return serve(1, 2, 10, [](RankFacts& own) { own.library = "no NCCL"; }); });
  const std::string why = why_no_group(place(0, 2), facts(0), 10);
  EXPECT_TRUE(says(why, "has no NCCL, and rank 0 (")) << why;
  EXPECT_EQ(end_of(one), 43);
}

TEST_F(RankGroups, that_share_a_gpu_do_not_begin) {
  const pid_t one = start([&] { return serve(1, 2, 10, [](RankFacts& own) { own.gpu = "GPU-0"; }); });
  EXPECT_TRUE(says(why_no_group(place(0, 2), facts(0), 10), "has the GPU of rank 0"));
  EXPECT_EQ(end_of(one), 43);
}

TEST_F(RankGroups, with_one_rank_twice_do_not_begin) {
  const pid_t one = start([&] { return serve(1, 3, 10); });
  const pid_t other = start([&] { return serve(1, 3, 10); });
  EXPECT_TRUE(says(why_no_group(place(0, 3), facts(0), 10), "says that it is rank 1 ("));
  EXPECT_EQ(end_of(one), 43);
  EXPECT_EQ(end_of(other), 43);
}

TEST_F(RankGroups, whose_rank_0_never_comes_say_so) {
  const pid_t one = start([&] { return serve(1, 2, 1); });
  EXPECT_EQ(end_of(one), 43);
  EXPECT_TRUE(says(said_by(one), "rank 1 did not reach rank 0 at ")) << said_by(one);
}

// A port that nobody has just now.
int free_port() {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  bind(made, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  socklen_t size = sizeof(address);
  getsockname(made, reinterpret_cast<sockaddr*>(&address), &size);
  close(made);
  return ntohs(address.sin_port);
}

TEST_F(RankGroups, meet_by_address_and_let_strangers_go) {
  const int port = free_port();
  const auto at_port = [&](int rank) {
    RankPlace found = place(rank, 2);
    found.meeting = "localhost:" + std::to_string(port);
    return found;
  };
  const pid_t stranger = start([&] {
    for (int i = 0; i < 100; ++i) {
      const int made = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<std::uint16_t>(port));
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
        const std::string text = "GET / HTTP/1.1\r\n\r\n";
        static_cast<void>(write(made, text.data(), text.size()));
        char byte = 0;
        return read(made, &byte, 1) > 0 ? 1 : 0;
      }
      close(made);
      usleep(20000);
    }
    return 2;
  });
  const pid_t one = start([&] {
    usleep(300000);
    RankMember member(at_port(1), facts(1), 10);
    return member.next() == "end 0" ? 0 : 1;
  });
  RankGroup group(at_port(0), facts(0), 10);
  EXPECT_EQ(end_of(stranger), 0);
  group.end(0);
  EXPECT_EQ(end_of(one), 0);
}

// Listens, and says nothing.
struct Listening {
  explicit Listening(const char* host = "127.0.0.1") : socket(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, host, &address.sin_addr);
    socklen_t size = sizeof(address);
    bind(socket, reinterpret_cast<sockaddr*>(&address), size);
    listen(socket, 1);
    getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    port = std::to_string(ntohs(address.sin_port));
  }
  ~Listening() { close(socket); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  int socket;
  std::string port;
};

TEST_F(RankGroups, at_a_port_that_is_taken_say_which) {
  const Listening taken;
  RankPlace zero = place(0, 2);
  zero.meeting = "localhost:" + taken.port;
  EXPECT_TRUE(says(why_no_group(zero, facts(0), 1), "rank 0 cannot listen at port " + taken.port));
}

TEST_F(RankGroups, do_not_take_an_earlier_launch_for_theirs) {
  const Listening earlier;
  std::ofstream(folder_ / "meeting") << R"({"host":"localhost","port":")" << earlier.port
                                     << R"(","boot":"","job":"earlier"})";
  const pid_t one = start([&] { return serve(1, 2, 5); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  RankGroup group(place(0, 2), facts(0), 5);
  group.end(0);
  EXPECT_EQ(end_of(one), 0);
}

// One who comes early waits as long as rank 0 does, and hears why it did not begin.
TEST_F(RankGroups, that_are_not_whole_say_why_to_who_came_first) {
  const pid_t one = start([&] { return serve(1, 3, 1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const std::string why = why_no_group(place(0, 3), facts(0), 1);
  EXPECT_TRUE(says(why, "rank 2 of 3 did not come to ")) << why;
  EXPECT_EQ(end_of(one), 43);
  EXPECT_EQ(said_by(one), why);
}

// A rank that left while others were missing is waited for again.
TEST_F(RankGroups, wait_again_for_who_left) {
  const pid_t early = start([&] {
    const pid_t child = fork();
    if (child == 0) {
      static_cast<void>(serve(1, 3, 10));
    }
    usleep(400000);
    kill(child, SIGKILL);
    return 0;
  });
  const pid_t one = start([&] {
    sleep(1);
    return serve(1, 3, 10);
  });
  const pid_t two = start([&] {
    usleep(1500000);
    return serve(2, 3, 10);
  });
  RankGroup group(place(0, 3), facts(0), 10);
  EXPECT_EQ(end_of(early), 0);
  group.tell({1, 2}, "a");
  EXPECT_EQ(group.answers({1, 2}, "done"), (Answers{"aa", "aa"}));
  group.end(0);
  EXPECT_EQ(end_of(one), 0);
  EXPECT_EQ(end_of(two), 0);
}

// Accepts one, reads what it says, and says this.
struct Saying : Listening {
  Saying(const char* host, std::vector<std::string> texts) : Listening(host) {
    thread = std::thread([this, all = std::move(texts)] {
      const int met = accept(socket, nullptr, nullptr);
      char hello[1024];
      static_cast<void>(read(met, hello, sizeof(hello)));
      for (const std::string& text : all) {
        static_cast<void>(write(met, text.data(), text.size()));
        usleep(50000);
      }
      close(met);
    });
  }
  ~Saying() { thread.join(); }
  std::thread thread;
};

TEST_F(RankGroups, hear_who_is_lost_behind_whatever_else_was_said) {
  const std::string welcome = "here\nwelcome\n";
  const std::pair<std::string, std::string> cases[] = {{"here\nlost node7 burns\n", "node7 burns"},
                                                       {"here\nhere\n", "rank 0 is gone"},
                                                       {"measure\nhere\nlost x\n", "x"},
                                                       {"", "rank 0 is gone"}};
  for (const auto& [text, why] : cases) {
    const Saying zero("127.0.0.1", {welcome, text});
    RankPlace at = place(1, 2);
    at.meeting = "127.0.0.1:" + zero.port;
    RankMember member(at, facts(1), 10);
    std::string found;
    for (int i = 0; i < 100 && found.empty(); ++i) {
      found = member.why_lost();
      usleep(10000);
    }
    EXPECT_EQ(found, why) << text;
  }
}

// As in a container beside that of rank 0: one kernel, and not one network.
TEST_F(RankGroups, meet_where_rank_0_is_not_this_host) {
  const Saying zero("127.0.0.2", {"here\nwelcome\n"});
  std::ofstream(folder_ / "meeting") << R"({"host":"127.0.0.2","port":")" << zero.port << R"(","boot":")"
                                     << facts(1).boot << R"(","job":"this"})";
  EXPECT_NO_THROW(RankMember(place(1, 2), facts(1), 10));
}

// A file that an earlier launch left, whose port somebody else has now.
TEST_F(RankGroups, leave_who_says_nothing_for_rank_0) {
  const Listening stranger;
  std::ofstream(folder_ / "meeting") << R"({"host":"localhost","port":")" << stranger.port
                                     << R"(","boot":"","job":"this"})";
  const pid_t one = start([&] { return serve(1, 2, 8); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  RankGroup group(place(0, 2), facts(0), 8);
  group.end(0);
  EXPECT_EQ(end_of(one), 0);
}

TEST_F(RankGroups, whose_rank_0_goes_before_all_are_there_say_so) {
  const Saying zero("127.0.0.1", {"here\n"});
  RankPlace at = place(1, 2);
  at.meeting = "127.0.0.1:" + zero.port;
  try {
    const RankMember member(at, facts(1), 0.5);
    FAIL() << "began";
  } catch (const EnvironmentError& error) {
    EXPECT_TRUE(says(error.what(), ", which has gone before all were there")) << error.what();
  }
}

TEST_F(RankGroups, that_find_somebody_else_say_so) {
  const Listening stranger;
  RankPlace at = place(1, 2);
  at.meeting = "localhost:" + stranger.port;
  try {
    const RankMember member(at, facts(1), 0.5);
    FAIL() << "met nobody";
  } catch (const EnvironmentError& error) {
    EXPECT_TRUE(says(error.what(), "rank 1 reached somebody at localhost:")) << error.what();
  }
}

}  // namespace
}  // namespace grainscope
