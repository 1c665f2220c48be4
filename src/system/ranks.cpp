#include "grainscope/system/ranks.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/sysfs.hpp"

namespace grainscope {
namespace {

using nlohmann::json;

// Lines that the two ends say beside what their owners do.
constexpr const char* kWelcome = "welcome";
constexpr const char* kRefused = "refused ";
constexpr const char* kHere = "here";  // rank 0 is there, and only has nothing to say
constexpr const char* kLost = "lost ";
constexpr const char* kSkip = "skip ";
constexpr const char* kFailed = "failed ";

std::string value_of(const ReadVariable& variable, const char* name) {
  const char* const text = variable(name);
  return text != nullptr ? text : "";
}

template <class Number = int>
Number number_of(const std::string& text, const char* name, Number least) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least) {
    throw UsageError(std::string(name) + " is '" + text + "', which is no number of at least " +
                     std::to_string(least));
  }
  return number;
}

// The variables in which a launcher tells a process its place.
struct Launcher {
  const char* name;
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* job;
};
// torchrun and srun under which something else starts processes leave their variables to these: the nearest
// launcher comes first.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "PMIX_NAMESPACE"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_ID"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_JOB_ID"},
};

constexpr std::uint64_t kFirstPort = 20000;
constexpr std::uint64_t kPorts = 20000;

// srun with Slurm's plugin for PMI2 tells ranks as an mpiexec does, too, but no local ones and no job.
bool is_srun_by_pmi(const Launcher& launcher, const ReadVariable& variable) {
  return std::string_view(launcher.name) == "mpiexec" &&
         value_of(variable, "SLURM_PROCID") == value_of(variable, launcher.rank) &&
         value_of(variable, "SLURM_STEP_NUM_TASKS") == value_of(variable, launcher.ranks);
}

std::string port_of_environment(const ReadVariable& variable) {
  const std::string port = value_of(variable, "MASTER_PORT");
  if (port.empty()) {
    return "";
  }
  // torchrun's own store listens at MASTER_PORT.
  const bool taken = value_of(variable, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  return std::to_string(number_of(port, "MASTER_PORT", 1) + int{taken});
}

std::string meeting_by_environment(const Launcher& launcher, const ReadVariable& variable) {
  std::string host = value_of(variable, "MASTER_ADDR");
  std::string port = port_of_environment(variable);
  if (std::string_view(launcher.name) == "srun") {
    if (host.empty()) {
      host = first_host(value_of(variable, "SLURM_STEP_NODELIST"));
    }
    if (port.empty()) {
      // Federated clusters number jobs beyond 31 bits.
      const auto job = number_of<std::uint64_t>(value_of(variable, "SLURM_JOB_ID"), "SLURM_JOB_ID", 0);
      const std::string step = value_of(variable, "SLURM_STEP_ID");
      const auto of_job = step.empty() ? 0 : number_of<std::uint64_t>(step, "SLURM_STEP_ID", 0);
      port = std::to_string(kFirstPort + (job % kPorts * 7 + of_job % kPorts) % kPorts);
    }
  }
  if (host.empty() || port.empty()) {
    throw UsageError(
        "nothing says where the ranks meet: set MASTER_ADDR and MASTER_PORT for all of them, or give "
        "--ranks HOST:PORT, or --ranks FILE in a folder that all of them see");
  }
  return host + ":" + port;
}

bool is_file(const std::string& meeting) {
  return meeting.find('/') != std::string::npos;
}

std::pair<std::string, std::string> host_and_port(const std::string& meeting) {
  const auto colon = meeting.rfind(':');
  std::string host = meeting.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {host, meeting.substr(colon + 1)};
}

}  // namespace

std::string first_host(const std::string& nodes) {
  const auto end = nodes.find_first_of("[,");
  std::string host = nodes.substr(0, end);
  if (end != std::string::npos && nodes[end] == '[') {
    host += nodes.substr(end + 1, nodes.find_first_of("-,]", end) - end - 1);
    const auto close = nodes.find(']', end);
    if (close != std::string::npos) {
      host += nodes.substr(close + 1, nodes.find(',', close) - close - 1);
    }
  }
  return host;
}

RankPlace rank_place(const std::string& where, const ReadVariable& variable) {
  const auto* const launcher =
      std::find_if(std::begin(kLaunchers), std::end(kLaunchers), [&](const Launcher& each) {
        return !value_of(variable, each.rank).empty() && !value_of(variable, each.ranks).empty() &&
               !is_srun_by_pmi(each, variable);
      });
  if (launcher == std::end(kLaunchers)) {
    throw UsageError(
        "--ranks is for processes that torchrun, mpirun, mpiexec or srun has started: none of RANK, "
        "OMPI_COMM_WORLD_RANK, PMI_RANK and SLURM_PROCID is set with its number of ranks");
  }
  RankPlace place;
  place.launcher = launcher->name;
  place.rank = number_of(value_of(variable, launcher->rank), launcher->rank, 0);
  place.ranks = number_of(value_of(variable, launcher->ranks), launcher->ranks, 1);
  if (place.rank >= place.ranks) {
    throw UsageError(std::string(launcher->rank) + " is " + std::to_string(place.rank) + ", and there are " +
                     std::to_string(place.ranks) + " ranks");
  }
  const std::string local = value_of(variable, launcher->local_rank);
  place.local_rank = local.empty() ? place.rank : number_of(local, launcher->local_rank, 0);
  place.job = value_of(variable, launcher->job);
  place.meeting = where == kMeetByEnvironment ? meeting_by_environment(*launcher, variable) : where;
  if (!is_file(place.meeting)) {
    const auto [host, port] = host_and_port(place.meeting);
    if (place.meeting.find(':') == std::string::npos || host.empty()) {
      throw UsageError("--ranks " + where + " is neither env, HOST:PORT nor a path with a slash");
    }
    static_cast<void>(number_of(port, "the port of --ranks", 1));
  }
  return place;
}

RankFacts own_facts(int rank) {
  RankFacts facts;
  facts.rank = rank;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    facts.host = host.data();
  }
  facts.boot = sysfs::boot_id();
  facts.pid = getpid();
  return facts;
}

std::string text(const RankFacts& facts) {
  return "rank " + std::to_string(facts.rank) + " (" + facts.host + ", process " + std::to_string(facts.pid) +
         ")";
}

namespace {

std::string hello_of(const RankFacts& facts) {
  return json{{"grainscope", "rank"}, {"rank", facts.rank},     {"host", facts.host},
              {"boot", facts.boot},   {"commit", facts.commit}, {"library", facts.library},
              {"gpu", facts.gpu},     {"pid", facts.pid}}
      .dump(-1, ' ', true, json::error_handler_t::replace);
}

// Nothing where it is no hello of this program: then somebody else has connected.
std::optional<RankFacts> facts_of(const std::string& hello) {
  const json said = json::parse(hello, nullptr, false);
  if (!said.is_object()) {
    return std::nullopt;
  }
  try {
    if (said.value("grainscope", "") != "rank") {
      return std::nullopt;
    }
    return RankFacts{said.at("rank"),    said.at("host"), said.at("boot"), said.at("commit"),
                     said.at("library"), said.at("gpu"),  said.at("pid")};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

class Socket {
 public:
  explicit Socket(int descriptor = -1) noexcept : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

void set_option(const Socket& socket, int level, int option, int value) {
  static_cast<void>(setsockopt(socket.get(), level, option, &value, sizeof(value)));
}

bool is_readable(const Socket& socket, double timeout_s) {
  const double end_s = steady_now_s() + timeout_s;
  for (;;) {
    pollfd wanted{socket.get(), POLLIN, 0};
    const int found = poll(&wanted, 1, static_cast<int>(std::max(0.0, timeout_s) * 1e3));
    if (found >= 0 || errno != EINTR) {
      return found > 0;
    }
    timeout_s = end_s - steady_now_s();  // a signal that somebody else handles
  }
}

struct Addresses {
  addrinfo* all = nullptr;
  Addresses(const char* host, const std::string& port, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    if (getaddrinfo(host, port.c_str(), &hints, &all) != 0) {
      all = nullptr;
    }
  }
  ~Addresses() {
    if (all != nullptr) {
      freeaddrinfo(all);
    }
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
};

// On every address of this machine, of IPv6 and of IPv4; port 0 is any.
Socket listen_on(int port) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    Socket made(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (made.get() < 0) {
      error = errno;
      continue;
    }
    set_option(made, SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_storage any{};
    socklen_t size = 0;
    if (family == AF_INET6) {
      set_option(made, IPPROTO_IPV6, IPV6_V6ONLY, 0);
      auto* const address = reinterpret_cast<sockaddr_in6*>(&any);
      address->sin6_family = AF_INET6;
      address->sin6_addr = in6addr_any;
      address->sin6_port = htons(static_cast<std::uint16_t>(port));
      size = sizeof(sockaddr_in6);
    } else {
      auto* const address = reinterpret_cast<sockaddr_in*>(&any);
      address->sin_family = AF_INET;
      address->sin_addr.s_addr = htonl(INADDR_ANY);
      address->sin_port = htons(static_cast<std::uint16_t>(port));
      size = sizeof(sockaddr_in);
    }
    if (bind(made.get(), reinterpret_cast<sockaddr*>(&any), size) == 0 && listen(made.get(), 1024) == 0) {
      return made;
    }
    error = errno;
  }
  throw EnvironmentError("rank 0 cannot listen at port " + std::to_string(port) + " (" +
                         std::strerror(error) + "): give another by MASTER_PORT or --ranks HOST:PORT");
}

int port_of(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

// No socket where nobody answers at once.
Socket connect_to(const std::string& host, const std::string& port) {
  const Addresses found(host.c_str(), port, 0);
  for (const addrinfo* each = found.all; each != nullptr; each = each->ai_next) {
    Socket made(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (made.get() < 0) {
      continue;
    }
    const timeval patience{2, 0};
    static_cast<void>(setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)));
    if (connect(made.get(), each->ai_addr, each->ai_addrlen) == 0) {
      return made;
    }
  }
  return Socket();
}

}  // namespace

// Lines both ways. Sending is for several threads.
class Connection {
 public:
  explicit Connection(Socket socket) : socket_(std::move(socket)) {
    set_option(socket_, IPPROTO_TCP, TCP_NODELAY, 1);
    // A host that is gone without a word is missed within some 25 s.
    set_option(socket_, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket_, IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set_option(socket_, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set_option(socket_, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_option(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, 25000);
  }

  bool send(const std::string& line) {
    const std::lock_guard lock(mutex_);
    std::string whole = line;
    std::replace(whole.begin(), whole.end(), '\n', ' ');
    whole += '\n';
    std::size_t at = 0;
    while (at < whole.size()) {
      const ssize_t sent = ::send(socket_.get(), whole.data() + at, whole.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) {
        if (sent < 0 && errno == EINTR) {
          continue;
        }
        return false;
      }
      at += static_cast<std::size_t>(sent);
    }
    return true;
  }

  // Nothing where none is there within that time, or the end: see ended().
  std::optional<std::string> read(double timeout_s) {
    const double until_s = steady_now_s() + timeout_s;
    for (;;) {
      if (const auto end = text_.find('\n'); end != std::string::npos) {
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
      }
      if (ended_ || !is_readable(socket_, until_s - steady_now_s())) {
        return std::nullopt;
      }
      take();
    }
  }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] const Socket& socket() const noexcept { return socket_; }

  // Takes in all that has come, without waiting. Then why the other side cannot go on: what it says is lost,
  // behind whatever else it said, or that it is gone and said nothing more; empty: it can. Lines stay, but
  // those that say no more than that it is there.
  std::string why_lost(const std::string& gone) {
    while (!ended_ && is_readable(socket_, 0)) {
      take();
    }
    std::string lost;
    std::string kept;
    std::size_t at = 0;
    for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', at)) {
      const std::string line = text_.substr(at, end - at);
      at = end + 1;
      if (line.starts_with(kLost) && lost.empty()) {
        lost = line.substr(std::strlen(kLost));
      }
      if (line != kHere) {
        kept += line + '\n';
      }
    }
    const bool says_more = !kept.empty();
    text_ = kept + text_.substr(at);
    return !lost.empty() || !ended_ || says_more ? lost : gone;
  }

 private:
  void take() {
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      text_.append(bytes.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      ended_ = true;
    }
  }

  Socket socket_;
  std::string text_;
  bool ended_ = false;
  std::mutex mutex_;
};

namespace {

// The file in which ranks find rank 0: where it listens, on which machine, and for which launch.
struct Meeting {
  std::string host, port, boot, job;
};

void write_meeting(const std::string& path, const Meeting& meeting) {
  const std::string draft = path + "." + std::to_string(getpid());
  {
    std::ofstream file(draft);
    file << json{{"host", meeting.host}, {"port", meeting.port}, {"boot", meeting.boot}, {"job", meeting.job}}
         << '\n';
    if (!file.flush()) {
      throw EnvironmentError("rank 0 cannot write " + draft + ": may this user write there?");
    }
  }
  std::error_code error;
  std::filesystem::rename(draft, path, error);
  if (error) {
    throw EnvironmentError("rank 0 cannot write " + path + " (" + error.message() + ")");
  }
}

std::optional<Meeting> read_meeting(const std::string& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const json said = json::parse(text, nullptr, false);
  if (!said.is_object()) {
    return std::nullopt;
  }
  return Meeting{said.value("host", ""), said.value("port", ""), said.value("boot", ""),
                 said.value("job", "")};
}

std::string list_text(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 16;
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(kShown, ranks.size()); ++i) {
    text += (i == 0 ? " " : ", ") + std::to_string(ranks[i]);
  }
  return ranks.size() > kShown ? text + " and " + std::to_string(ranks.size() - kShown) + " more" : text;
}

// Why these cannot measure together; empty: they can.
std::string why_differ(const std::vector<RankFacts>& all) {
  const RankFacts& first = all.front();
  std::map<std::pair<std::string, std::string>, int> gpus;
  for (const RankFacts& each : all) {
    if (each.commit != first.commit) {
      return text(each) + " runs commit " + each.commit + " of grainscope, and " + text(first) + " runs " +
             first.commit + ": start the same program everywhere";
    }
    if (each.library != first.library) {
      return text(each) + " has " + each.library + ", and " + text(first) + " has " + first.library +
             ": the same NCCL has to be everywhere; GRAINSCOPE_NCCL names its file";
    }
    if (each.gpu.empty()) {
      continue;
    }
    const auto [known, fresh] = gpus.try_emplace({each.boot, each.gpu}, each.rank);
    if (!fresh) {
      return text(each) + " has the GPU of rank " + std::to_string(known->second) +
             ": start no more processes on a node than it has GPUs";
    }
  }
  return "";
}

}  // namespace

namespace {

// No socket where nobody is found. Ranks with one kernel may still have networks of their own, as containers
// have: at `localhost` there may be nobody, or somebody else.
Socket connect_to_rank_0(const RankPlace& place, const RankFacts& own, bool from_afar) {
  if (!is_file(place.meeting)) {
    const auto [host, port] = host_and_port(place.meeting);
    return connect_to(host, port);
  }
  const auto meeting = read_meeting(place.meeting);
  if (!meeting || meeting->job != place.job) {
    return Socket();
  }
  std::vector<std::string> hosts{meeting->host};
  if (meeting->boot == own.boot) {
    hosts.insert(from_afar ? hosts.end() : hosts.begin(), "localhost");
  }
  for (const std::string& host : hosts) {
    if (Socket socket = connect_to(host, meeting->port); socket.get() >= 0) {
      return socket;
    }
  }
  return Socket();
}

}  // namespace

struct RankGroup::State {
  std::vector<std::unique_ptr<Connection>> others;  // by rank; none of rank 0
  std::string lost;
  std::mutex mutex;
  std::condition_variable wake;
  bool ends = false;
  std::thread heart;

  void say_all(const std::string& line) {
    for (const auto& other : others) {
      if (other != nullptr) {
        static_cast<void>(other->send(line));
      }
    }
  }
  void beat(double every_s) {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, std::chrono::duration<double>(every_s), [this] { return ends; })) {
      say_all(kHere);
    }
  }
  void stop_beating() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    wake.notify_all();
    if (heart.joinable()) {
      heart.join();
    }
  }
};

RankGroup::RankGroup(const RankPlace& place, const RankFacts& own, double limit_s)
    : facts_(static_cast<std::size_t>(place.ranks)), limit_s_(limit_s), state_(std::make_unique<State>()) {
  state_->others.resize(facts_.size());
  facts_[0] = own;
  const bool by_file = is_file(place.meeting);
  const Socket listening = listen_on(by_file ? 0 : std::stoi(host_and_port(place.meeting).second));
  if (by_file) {
    write_meeting(place.meeting, {own.host, std::to_string(port_of(listening)), own.boot, place.job});
  }
  std::vector<std::unique_ptr<Connection>> strangers;  // have said nothing yet
  std::size_t missing = facts_.size() - 1;
  const auto leave_if_gone = [&](std::unique_ptr<Connection>& seat) {
    if (seat != nullptr && !seat->why_lost("gone").empty()) {
      seat.reset();
      ++missing;
    }
  };
  std::string why;
  const double until_s = steady_now_s() + limit_s;
  double said_s = steady_now_s();
  while (missing > 0 && why.empty() && steady_now_s() < until_s) {
    // Who waits for others knows that rank 0 does, too, and who has left is waited for again.
    std::for_each(state_->others.begin(), state_->others.end(), leave_if_gone);
    if (steady_now_s() - said_s > limit_s / 4) {
      state_->say_all(kHere);
      said_s = steady_now_s();
    }
    std::vector<pollfd> wanted{{listening.get(), POLLIN, 0}};
    for (const auto& each : strangers) {
      wanted.push_back({each->socket().get(), POLLIN, 0});
    }
    constexpr int kPause_ms = 100;
    if (poll(wanted.data(), wanted.size(), kPause_ms) <= 0) {
      continue;
    }
    for (auto& each : strangers) {
      const auto hello = each->read(0);
      if (!hello) {
        continue;
      }
      const auto facts = facts_of(*hello);
      if (!facts || facts->rank <= 0 || facts->rank >= place.ranks) {
        each.reset();
        continue;
      }
      auto& seat = state_->others[static_cast<std::size_t>(facts->rank)];
      leave_if_gone(seat);
      if (seat != nullptr) {
        why = text(*facts) + " says that it is " +
              text(facts_[static_cast<std::size_t>(facts->rank)]).append(", too: is another launch at ") +
              place.meeting + "?";
        static_cast<void>(each->send(kRefused + why));
        break;
      }
      facts_[static_cast<std::size_t>(facts->rank)] = *facts;
      seat = std::move(each);
      static_cast<void>(seat->send(kHere));
      --missing;
    }
    std::erase_if(strangers, [](const auto& each) { return each == nullptr || each->ended(); });
    if ((wanted.front().revents & POLLIN) != 0) {
      Socket accepted(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (accepted.get() >= 0) {
        strangers.push_back(std::make_unique<Connection>(std::move(accepted)));
      } else if (errno == EMFILE || errno == ENFILE) {
        why = "rank 0 may not open a connection to each rank: raise it with `ulimit -n`";
      }
    }
  }
  if (by_file) {
    std::error_code error;
    std::filesystem::remove(place.meeting, error);
  }
  if (why.empty() && missing > 0) {
    std::vector<int> absent;
    for (int rank = 1; rank < place.ranks; ++rank) {
      if (state_->others[static_cast<std::size_t>(rank)] == nullptr) {
        absent.push_back(rank);
      }
    }
    why = list_text(absent) + " of " + std::to_string(place.ranks) + " did not come to " + place.meeting +
          " within " + format_seconds(limit_s) + ": --rank-timeout sets how long to wait";
  }
  if (why.empty()) {
    why = why_differ(facts_);
  }
  if (!why.empty()) {
    state_->say_all(kRefused + why);
    throw EnvironmentError(why);
  }
  state_->say_all(kWelcome);
  state_->heart = std::thread([state = state_.get(), limit_s] { state->beat(limit_s / 4); });
}

RankGroup::~RankGroup() {
  state_->stop_beating();
}

void RankGroup::fail(const std::string& why) {
  if (state_->lost.empty()) {
    state_->lost = why;
    state_->say_all(kLost + why);
  }
  throw RankLostError(state_->lost);
}

void RankGroup::tell(const std::vector<int>& ranks, const std::string& line) {
  for (const int rank : ranks) {
    static_cast<void>(state_->others[static_cast<std::size_t>(rank)]->send(line));
  }
}

std::vector<std::string> RankGroup::answers(const std::vector<int>& ranks, const std::string& word) {
  if (!state_->lost.empty()) {
    throw RankLostError(state_->lost);
  }
  const double until_s = steady_now_s() + limit_s_;
  std::vector<std::string> all;
  std::string skipped;
  std::string failed;
  for (const int rank : ranks) {
    const RankFacts& facts = facts_[static_cast<std::size_t>(rank)];
    Connection& connection = *state_->others[static_cast<std::size_t>(rank)];
    std::optional<std::string> line;
    while (!(line = connection.read(0.05))) {
      if (connection.ended()) {
        fail(text(facts) + " is gone");
      }
      if (const std::string why = why_lost(); !why.empty()) {
        fail(why);
      }
      if (steady_now_s() > until_s) {
        fail(text(facts) + " has not answered within " + format_seconds(limit_s_));
      }
    }
    if (line->starts_with(kLost)) {
      fail(text(facts) + ": " + line->substr(std::strlen(kLost)));
    }
    if (line->starts_with(kSkip)) {
      skipped = skipped.empty() ? text(facts) + ": " + line->substr(std::strlen(kSkip)) : skipped;
    } else if (line->starts_with(kFailed)) {
      failed = failed.empty() ? text(facts) + ": " + line->substr(std::strlen(kFailed)) : failed;
    } else if (!line->starts_with(word)) {
      fail(text(facts) + " said `" + *line + "`");
    }
    all.push_back(line->substr(std::min(line->size(), word.size() + 1)));
  }
  if (!failed.empty()) {
    throw FailedError(failed);
  }
  if (!skipped.empty()) {
    throw SkipError(skipped);
  }
  return all;
}

std::string RankGroup::why_lost() {
  for (std::size_t rank = 1; state_->lost.empty() && rank < facts_.size(); ++rank) {
    const std::string gone = " is gone";
    const std::string why = state_->others[rank]->why_lost(gone);
    if (!why.empty()) {
      return text(facts_[rank]) + (why == gone ? why : ": " + why);
    }
  }
  return state_->lost;
}

void RankGroup::end(int status) {
  state_->say_all("end " + std::to_string(status));
}

RankMember::RankMember(const RankPlace& place, const RankFacts& own, double limit_s) : limit_s_(limit_s) {
  const double until_s = steady_now_s() + limit_s;
  const std::string who = "rank " + std::to_string(own.rank);
  bool connected = false;
  bool met = false;
  for (unsigned tried = 0;; ++tried) {
    if (Socket socket = connect_to_rank_0(place, own, tried % 2 != 0); socket.get() >= 0) {
      connected = true;
      connection_ = std::make_unique<Connection>(std::move(socket));
      static_cast<void>(connection_->send(hello_of(own)));
      // Once rank 0 has been met, what ends the waiting is its silence: its limit began at another time.
      // Until then it says at once that it is there, and who is silent may be somebody else.
      double patience_s = std::min(limit_s / 4, until_s - steady_now_s());
      bool here = false;
      std::optional<std::string> line;
      while ((line = connection_->read(patience_s)) && *line == kHere) {
        here = met = true;
        patience_s = limit_s;
      }
      if (line && line->starts_with(kRefused)) {
        throw EnvironmentError(line->substr(std::strlen(kRefused)));
      }
      if (line && *line == kWelcome) {
        return;
      }
      if (here && !line && !connection_->ended()) {
        throw EnvironmentError("rank 0 at " + place.meeting + " has said nothing to " + who + " for " +
                               format_seconds(limit_s));
      }
    }
    if (steady_now_s() >= until_s) {
      throw EnvironmentError(
          met         ? who + " met rank 0 at " + place.meeting + ", which has gone before all were there"
          : connected ? who + " reached somebody at " + place.meeting + " within " + format_seconds(limit_s) +
                            ", but not rank 0: is its port another program's, or is it of an earlier launch?"
                      : who + " did not reach rank 0 at " + place.meeting + " within " +
                            format_seconds(limit_s) + ": was it started, and may this node connect there?");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

RankMember::~RankMember() = default;

std::string RankMember::next() {
  for (;;) {
    const auto line = connection_->read(limit_s_);
    if (!line) {
      lost_ =
          connection_->ended() ? "rank 0 is gone" : "rank 0 has said nothing for " + format_seconds(limit_s_);
      throw RankLostError(lost_);
    }
    if (line->starts_with(kLost)) {
      lost_ = line->substr(std::strlen(kLost));
      throw RankLostError(lost_);
    }
    if (*line != kHere) {
      return *line;
    }
  }
}

void RankMember::answer(const std::string& line) {
  static_cast<void>(connection_->send(line));
}

std::string RankMember::why_lost() {
  if (lost_.empty()) {
    lost_ = connection_->why_lost("rank 0 is gone");
  }
  return lost_;
}

}  // namespace grainscope
