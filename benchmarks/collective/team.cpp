#include "collective/team.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "build_info.hpp"
#include "grainscope/collective/library.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "harness/run.hpp"
#include "worker_process.hpp"

namespace grainscope::harness {
namespace {

using collective::Communicators;
using collective::Id;
using collective::Library;
using collective::Part;
using collective::Work;

// From the moment at which all ranks are told when to open their gates until then.
constexpr double kToOpen_s = 2e-3;
// What waits for a rank that opens later than this takes longer by that: once more.
constexpr double kLate_s = 1e-5;
constexpr int kMostTries = 32;

constexpr const char* kJoin = "join";
constexpr const char* kBegin = "begin";
constexpr const char* kStart = "start";
constexpr const char* kLoop = "loop";
constexpr const char* kClose = "close";
constexpr const char* kOpen = "open";
constexpr const char* kVerify = "verify";
constexpr const char* kFinish = "finish";
constexpr const char* kLeave = "leave";
constexpr const char* kEnd = "end";
constexpr const char* kDone = "done";  // every answer's first word

double second_number(const std::string& text) {
  char* rest = nullptr;
  static_cast<void>(std::strtod(text.c_str(), &rest));
  return std::strtod(rest, nullptr);
}

std::string hexadecimal(const Id& id) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char each : id) {
    const auto byte = static_cast<unsigned char>(each);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

Id id_of(const std::string& text) {
  Id id{};
  for (std::size_t i = 0; i < id.size() && 2 * i + 1 < text.size(); ++i) {
    unsigned byte = 0;
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, byte, 16);
    id[i] = static_cast<char>(byte);
  }
  return id;
}

template <class Named, std::size_t kCount>
Named named(std::istream& words, const Named (&all)[kCount]) {
  std::string word;
  words >> word;
  const auto* const found =
      std::find_if(std::begin(all), std::end(all), [&](Named each) { return name(each) == word; });
  if (found == std::end(all)) {
    throw FailedError("rank 0 asks for `" + word + "`, which is unknown here");
  }
  return *found;
}

std::string words_of(const Work& work, bool gated) {
  std::ostringstream words;
  words << name(work.kind) << ' ' << name(work.element) << ' ' << work.bytes << ' ' << work.in_place << ' '
        << work.registered << ' ' << gated;
  return words.str();
}

std::pair<Work, bool> work_of(std::istream& words) {
  Work work;
  bool gated = false;
  work.kind = named(words, collective::kKinds);
  work.element = named(words, collective::kElements);
  words >> work.bytes >> work.in_place >> work.registered >> gated;
  return {work, gated};
}

RankFacts facts_of(const Launch& ranks, const Machine& machine) {
  RankFacts facts = own_facts(ranks.place.rank);
  facts.commit = build::kCommit;
  try {
    facts.library = "NCCL " + Library::get().version();
  } catch (const SkipError&) {
    facts.library = "no NCCL";
  }
  const GpuReport* const gpu = machine.find_gpu(ranks.gpu);
  facts.gpu = gpu != nullptr ? gpu->uuid : "";
  return facts;
}

// What NCCL still does for a rank that is gone may never end.
[[noreturn]] void end_at_once(int status) {
  std::cout.flush();
  collective::remove_log();
  _exit(status);
}

// What a rank that is led has made, and how it answers.
class Follower {
 public:
  Follower(RankMember& leader, int gpu, double limit_s) : leader_(leader), gpu_(gpu), limit_s_(limit_s) {}

  // Until rank 0 ends it; the exit status.
  int run() {
    for (;;) {
      std::istringstream words(leader_.next());
      std::string word;
      words >> word;
      if (word == kEnd) {
        int status = 0;
        words >> status;
        forget();
        return status;
      }
      answer(word, words);
    }
  }

 private:
  void answer(const std::string& word, std::istream& words) {
    // Of what only prepares, one that cannot is an answer; in the middle of an operation others wait for it.
    const bool prepares = word == kBegin || word == kFinish || word == kLeave;
    try {
      leader_.answer(std::string(kDone) + " " + done(word, words));
    } catch (const SkipError& skip) {
      leader_.answer(std::string("skip ") + skip.what());
    } catch (const RankLostError& lost) {
      leader_.answer(std::string("lost ") + lost.what());
      throw;
    } catch (const std::exception& error) {
      leader_.answer(std::string(prepares ? "failed " : "lost ") + error.what());
      if (!prepares) {
        throw RankLostError(error.what());
      }
    }
  }

  std::string done(const std::string& word, std::istream& words) {
    if (word == kJoin) {
      std::string id;
      int rank = 0;
      int ranks = 0;
      words >> id >> rank >> ranks;
      forget();
      communicators_ = std::make_unique<Communicators>(
          gpu_, rank, ranks, id_of(id),
          collective::Patience{limit_s_, [&leader = leader_] { return leader.why_lost(); }});
    } else if (word == kBegin) {
      const auto [work, gated] = work_of(words);
      part_ = std::make_unique<Part>(communicators(), work, gated);
    } else if (word == kStart) {
      part().start();
    } else if (word == kLoop) {
      int launches = 1;
      words >> launches;
      return exact_text(part().loop_s(launches));
    } else if (word == kClose) {
      part().close();
    } else if (word == kOpen) {
      double at_s = 0;
      words >> at_s;
      const Part::Call call = part().open(at_s);
      return exact_text(call.seconds) + " " + exact_text(call.late_s);
    } else if (word == kVerify) {
      return part().why_wrong();
    } else if (word == kFinish) {
      part_.reset();
    } else if (word == kLeave) {
      forget();
    } else {
      throw FailedError("rank 0 says `" + word + "`, which is unknown here");
    }
    return "";
  }

  Communicators& communicators() {
    if (communicators_ == nullptr) {
      throw FailedError("rank 0 begins an operation before this rank has joined");
    }
    return *communicators_;
  }
  Part& part() {
    if (part_ == nullptr) {
      throw FailedError("rank 0 goes on with an operation that this rank has not begun");
    }
    return *part_;
  }
  void forget() {
    part_.reset();
    communicators_.reset();
  }

  RankMember& leader_;
  int gpu_;
  double limit_s_;
  std::unique_ptr<Communicators> communicators_;
  std::unique_ptr<Part> part_;
};

}  // namespace

std::shared_ptr<Launch> ranks_of(const Options& options, const Machine& machine) {
  if (options.ranks.empty()) {
    return nullptr;
  }
  auto ranks = std::make_shared<Launch>();
  ranks->place = rank_place(options.ranks, [](const char* name) { return std::getenv(name); });
  if (ranks->place.ranks == 1) {
    return nullptr;
  }
  std::vector<int> gpus = options.gpus;
  if (gpus.empty()) {
    for (const cuda::DeviceProperties& device : machine.runtime.devices) {
      gpus.push_back(device.ordinal);
    }
  }
  const auto local = static_cast<std::size_t>(ranks->place.local_rank);
  if (gpus.size() == 1) {
    ranks->gpu = gpus.front();  // the launcher shows each process its own
  } else if (local < gpus.size()) {
    ranks->gpu = gpus[local];
  } else if (!gpus.empty() && options.action == Action::run) {
    throw EnvironmentError("rank " + std::to_string(ranks->place.rank) + " is process " +
                           std::to_string(local) + " of its node, counted from 0, which has " +
                           std::to_string(gpus.size()) + " GPUs: start no more processes than GPUs");
  }
  return ranks;
}

int lead_ranks(Launch& ranks, const Options& options, const Machine& machine,
               const std::function<int()>& run) {
  ranks.group = std::make_unique<RankGroup>(ranks.place, facts_of(ranks, machine), options.rank_timeout_s);
  try {
    const int status = run();
    if (!ranks.group->why_lost().empty()) {
      end_at_once(status);
    }
    ranks.group->end(status);
    return status;
  } catch (const Error& error) {
    ranks.group->end(static_cast<int>(error.status()));
    throw;
  }
}

int follow_ranks(const Launch& ranks, const Options& options, const Machine& machine) {
  const GpuReport* const gpu = machine.find_gpu(ranks.gpu);
  std::optional<GpuLock> lock;
  if (gpu != nullptr && !gpu->uuid.empty()) {
    lock.emplace(std::vector<std::string>{gpu->uuid}, options.wait_for_gpu,
                 [] { return signal_received() != 0; });
  }
  RankMember leader(ranks.place, facts_of(ranks, machine), options.rank_timeout_s);
  // Outlives the handler, which ends the process: what it holds may wait for a rank that is gone.
  Follower follower(leader, ranks.gpu, options.rank_timeout_s);
  try {
    return follower.run();
  } catch (const RankLostError& lost) {
    std::cerr << "grainscope: rank " << ranks.place.rank << " ends: " << lost.what() << std::endl;
    end_at_once(static_cast<int>(ExitStatus::failed));
  }
}

Team::Team(const std::vector<int>& gpus) : communicators_(std::make_unique<Communicators>(gpus)) {}

Team::Team(std::shared_ptr<Launch> ranks, std::vector<int> members) : ranks_(std::move(ranks)) {
  others_.assign(members.begin() + 1, members.end());
  RankGroup& group = *ranks_->group;
  const Id id = collective::make_id();
  const auto count = static_cast<int>(members.size());
  for (int i = 1; i < count; ++i) {
    group.tell({members[static_cast<std::size_t>(i)]}, std::string(kJoin) + " " + hexadecimal(id) + " " +
                                                           std::to_string(i) + " " + std::to_string(count));
  }
  try {
    communicators_ = std::make_unique<Communicators>(
        ranks_->gpu, 0, count, id,
        collective::Patience{group.limit_s(), [&group] { return group.why_lost(); }});
  } catch (const std::exception& error) {
    group.fail(error.what());
  }
  static_cast<void>(group.answers(others_, kDone));
}

Team::~Team() {
  if (ranks_ != nullptr && !ranks_->group->why_lost().empty()) {
    communicators_->abort();
  }
  part_.reset();
  if (ranks_ != nullptr && ranks_->group->why_lost().empty()) {
    try {
      ranks_->group->tell(others_, kLeave);
      communicators_.reset();
      static_cast<void>(ranks_->group->answers(others_, kDone));
    } catch (const std::exception& error) {
      std::cerr << "grainscope: " << error.what() << '\n';
    }
  }
}

int Team::size() const noexcept {
  return communicators_->ranks();
}

int Team::hosts() const {
  if (ranks_ == nullptr) {
    return 1;
  }
  std::set<std::string> boots{ranks_->group->facts().front().boot};
  for (const int rank : others_) {
    boots.insert(ranks_->group->facts()[static_cast<std::size_t>(rank)].boot);
  }
  return static_cast<int>(boots.size());
}

std::string Team::why_no_gates() const {
  return hosts() == 1 ? "" : "gates of several machines open at no common moment: timed is loop";
}

LibraryFacts Team::library() const {
  const Library& library = Library::get();
  return {"NCCL",
          library.version(),
          library.path(),
          collective::connections(),
          collective::steering_variables(environ),
          hosts()};
}

std::vector<std::string> Team::together(const std::string& line, const std::string& word,
                                        const std::function<void()>& own) {
  if (ranks_ == nullptr) {
    own();
    return {};
  }
  RankGroup& group = *ranks_->group;
  group.tell(others_, line);
  try {
    own();
  } catch (const std::exception& error) {
    communicators_->abort();
    group.fail(error.what());
  }
  return answers(word);
}

std::vector<std::string> Team::answers(const std::string& word) {
  try {
    return ranks_->group->answers(others_, word);
  } catch (const RankLostError&) {
    communicators_->abort();
    throw;
  }
}

void Team::begin(const Work& work, bool gated) {
  late_ = 0;
  if (ranks_ == nullptr && communicators_->aborted()) {
    // What failed in an earlier case is that case's.
    const std::vector<int> gpus = communicators_->gpus();
    communicators_.reset();
    communicators_ = std::make_unique<Communicators>(gpus);
  }
  if (ranks_ != nullptr) {
    ranks_->group->tell(others_, std::string(kBegin) + " " + words_of(work, gated));
  }
  std::exception_ptr own;
  try {
    part_ = std::make_unique<Part>(*communicators_, work, gated);
  } catch (...) {
    own = std::current_exception();  // once the others have said what became of them
  }
  if (ranks_ != nullptr) {
    static_cast<void>(answers(kDone));
  }
  if (own) {
    if (ranks_ != nullptr && communicators_->aborted()) {
      ranks_->group->fail("rank 0 cannot go on with the communicators that it has");
    }
    std::rethrow_exception(own);
  }
  static_cast<void>(together(kStart, kDone, [&] { part_->start(); }));
}

void Team::finish() noexcept {
  part_.reset();
  if (ranks_ == nullptr) {
    return;
  }
  try {
    if (ranks_->group->why_lost().empty()) {
      ranks_->group->tell(others_, kFinish);
      static_cast<void>(ranks_->group->answers(others_, kDone));
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next that needs it names who is gone
  }
}

double Team::slowest(double own_s, const std::vector<std::string>& others) {
  double slowest_s = own_s;
  fastest_s_ = own_s;
  for (const std::string& text : others) {
    const double seconds = std::strtod(text.c_str(), nullptr);
    slowest_s = std::max(slowest_s, seconds);
    fastest_s_ = std::min(fastest_s_, seconds);
  }
  return slowest_s;
}

double Team::loop_s(int launches) {
  double own_s = 0;
  const auto others = together(std::string(kLoop) + " " + std::to_string(launches), kDone,
                               [&] { own_s = part_->loop_s(launches); });
  return slowest(own_s, others);
}

double Team::call_s() {
  if (ranks_ == nullptr) {
    part_->close();
    return slowest(part_->open().seconds, {});
  }
  double slowest_s = 0;
  late_ += begin_together("the ranks", kLate_s, kMostTries, [&](int tries) {
    static_cast<void>(together(kClose, kDone, [&] { part_->close(); }));
    const double at_s = steady_now_s() + kToOpen_s * (1 + tries);
    Part::Call own;
    const auto others =
        together(std::string(kOpen) + " " + exact_text(at_s), kDone, [&] { own = part_->open(at_s); });
    slowest_s = slowest(own.seconds, others);
    double late_s = own.late_s;
    for (const std::string& other : others) {
      late_s = std::max(late_s, second_number(other));
    }
    return late_s;
  });
  return slowest_s;
}

void Team::verify() {
  std::string why;
  const auto others = together(kVerify, kDone, [&] { why = part_->why_wrong(); });
  for (const std::string& other : others) {
    why = why.empty() ? other : why;
  }
  if (!why.empty()) {
    throw FailedError("wrong result: " + why);
  }
}

}  // namespace grainscope::harness
