#ifndef GRAINSCOPE_SYSTEM_RANKS_HPP
#define GRAINSCOPE_SYSTEM_RANKS_HPP

// Several processes of this program that measure together, started by somebody's launcher on one node or
// many: which of them this is, how they meet, and the lines in which rank 0 leads the others. There is no
// daemon: rank 0 listens, the others connect, and who goes is missed at once.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grainscope {

using ReadVariable = std::function<const char*(const char*)>;

// Which process of a launch this is.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;    // on its node
  std::string launcher;  // "torchrun", "mpirun", "mpiexec", "srun", or "RANK and WORLD_SIZE"
  std::string meeting;   // "HOST:PORT", or a path with a slash
  std::string job;       // tells this launch from an earlier one; empty: not told
};

// The word for `where` by which the launcher's environment says where ranks meet.
inline constexpr const char* kMeetByEnvironment = "env";

// Of the environment that torchrun, mpirun (Open MPI), mpiexec (PMI) or srun gives each process. `where`:
// HOST:PORT; a file in a folder that all see; or `env`: MASTER_ADDR and MASTER_PORT, of srun otherwise the
// step's first node and a port by the job's number. Throws UsageError where a launcher tells no rank, or
// nothing tells where to meet.
[[nodiscard]] RankPlace rank_place(const std::string& where, const ReadVariable& variable);

// The first host of Slurm's list of nodes: "node[007-009,12],gpu1" is node007.
[[nodiscard]] std::string first_host(const std::string& nodes);

// What a process says of itself when ranks meet. All must agree in `commit` and `library`.
struct RankFacts {
  int rank = 0;
  std::string host;
  std::string boot;     // of the kernel: processes with the same one share its clock
  std::string commit;   // of this program
  std::string library;  // "NCCL 2.28.9", or why there is none
  std::string gpu;      // its UUID; empty: not told
  int pid = 0;
};
// Host, boot and pid filled in.
[[nodiscard]] RankFacts own_facts(int rank);
// "rank 3 (node7, process 4711)".
[[nodiscard]] std::string text(const RankFacts& facts);

class Connection;

// The other ranks, as rank 0 has them.
class RankGroup {
 public:
  // Waits until all are there. Throws EnvironmentError, which all of them are told, where some do not come in
  // time, naming them, or where they differ in commit or library, or share a rank or a GPU.
  RankGroup(const RankPlace& place, const RankFacts& own, double limit_s);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  // Of all ranks, in order.
  [[nodiscard]] const std::vector<RankFacts>& facts() const noexcept { return facts_; }
  [[nodiscard]] double limit_s() const noexcept { return limit_s_; }

  // Says a line to some of the others. One that is gone is met when its answer is awaited.
  void tell(const std::vector<int>& ranks, const std::string& line);
  // What follows the word of each one's answer, in the order of `ranks`. Throws SkipError or FailedError with
  // the words of one that says `skip` or `failed`; RankLostError, naming it, for one that is gone, says
  // `lost`, or does not answer in time: the others are told, and every later call throws the same.
  [[nodiscard]] std::vector<std::string> answers(const std::vector<int>& ranks, const std::string& word);
  // Why nothing more can be done together: who is gone; empty while all are there. Does not wait.
  [[nodiscard]] std::string why_lost();
  // This process cannot go on: the others are told why. Throws RankLostError.
  [[noreturn]] void fail(const std::string& why);
  // The others end with this status.
  void end(int status);

 private:
  struct State;
  std::vector<RankFacts> facts_;
  double limit_s_;
  std::unique_ptr<State> state_;
};

// Any other rank: does what rank 0 says.
class RankMember {
 public:
  // Throws EnvironmentError where rank 0 is not reached in time, or with its words where it refuses.
  RankMember(const RankPlace& place, const RankFacts& own, double limit_s);
  ~RankMember();
  RankMember(const RankMember&) = delete;
  RankMember& operator=(const RankMember&) = delete;

  // The next line of rank 0. Throws RankLostError where it is gone, has said nothing for the limit, or says
  // that another is lost.
  [[nodiscard]] std::string next();
  void answer(const std::string& line);
  // As RankGroup's.
  [[nodiscard]] std::string why_lost();

 private:
  std::unique_ptr<Connection> connection_;
  double limit_s_;
  std::string lost_;
};

}  // namespace grainscope

#endif
