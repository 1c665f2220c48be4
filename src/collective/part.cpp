// Communicators of NCCL and what is timed on them. Waiting is nccl-tests' own: streams are polled, and the
// thread yields between polls. Beside that a watchdog looks after calls of NCCL that do not return.

#include "grainscope/collective/part.hpp"

#include <cuda_runtime_api.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "grainscope/collective/library.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "nccl_api.hpp"
#include "values.hpp"

namespace grainscope::collective {
namespace {

// Calls `late` once, from a thread of its own, where something takes longer than a limit. Being armed costs
// an atomic store: the thread wakes by itself, seldom.
class Watchdog {
 public:
  Watchdog(double limit_s, std::function<void()> late)
      : limit_s_(limit_s), late_(std::move(late)), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void arm() noexcept { deadline_s_ = steady_now_s() + limit_s_; }
  void disarm() noexcept { deadline_s_ = kNever; }
  [[nodiscard]] bool was_late() const noexcept { return was_late_; }

 private:
  static constexpr double kNever = 1e300;

  void watch() {
    std::unique_lock lock(mutex_);
    while (!ends_ && !was_late_) {
      wake_.wait_for(lock, std::chrono::duration<double>(limit_s_ / 4));
      if (!ends_ && steady_now_s() > deadline_s_) {
        was_late_ = true;
        late_();
      }
    }
  }

  const double limit_s_;
  std::function<void()> late_;
  std::atomic<double> deadline_s_{kNever};
  std::atomic<bool> was_late_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace

Id make_id() {
  nccl::UniqueId id{};
  const Library& library = Library::get();
  library.check(library.api().get_unique_id(&id), "make an id");
  Id bytes{};
  std::memcpy(bytes.data(), id.bytes, bytes.size());
  return bytes;
}

struct Communicators::State {
  struct Member {
    int rank;
    int gpu;
    nccl::Comm comm;
    std::unique_ptr<cuda::Stream> stream;
  };

  State(Patience given, int count, bool alone)
      : library(Library::get()),
        api(library.api()),
        patience(std::move(given)),
        ranks(count),
        is_alone(alone) {}
  ~State() {
    watchdog.reset();
    for (const Member& member : members) {
      if (!aborted) {
        static_cast<void>(api.comm_destroy(member.comm));
      }
    }
    part_again();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void add(int rank, int gpu, nccl::Comm comm) {
    const cuda::DeviceGuard guard(gpu);
    gpus.push_back(gpu);
    members.push_back({rank, gpu, comm, std::make_unique<cuda::Stream>()});
  }
  void begin_watch() {
    watchdog = std::make_unique<Watchdog>(patience.limit_s, [this] { abort(); });
  }

  // NCCL lets GPUs of a process reach each other's memory, and leaves it so; others measure without. Which
  // pairs could not before it did.
  void note_apart(const std::vector<int>& own) {
    for (const int gpu : own) {
      const cuda::DeviceGuard guard(gpu);
      for (const int peer : own) {
        if (gpu != peer && cudaDeviceEnablePeerAccess(peer, 0) == cudaSuccess) {
          cuda::check(cudaDeviceDisablePeerAccess(peer), "disable access to a peer");
          apart.emplace_back(gpu, peer);
        }
        static_cast<void>(cudaGetLastError());  // that it is enabled, or cannot be
      }
    }
  }
  void part_again() const noexcept {
    int before = 0;
    static_cast<void>(cudaGetDevice(&before));
    for (const auto& [gpu, peer] : apart) {
      if (cudaSetDevice(gpu) == cudaSuccess) {
        static_cast<void>(cudaDeviceDisablePeerAccess(peer));
        static_cast<void>(cudaGetLastError());
      }
    }
    static_cast<void>(cudaSetDevice(before));
  }

  // Ends what the GPUs do for NCCL; they would wait for a rank that is gone for ever.
  void abort() noexcept {
    if (aborted.exchange(true)) {
      return;
    }
    for (const Member& member : members) {
      static_cast<void>(api.comm_abort(member.comm));
    }
  }

  [[noreturn]] void lose(const std::string& why) {
    abort();
    if (is_alone) {
      throw FailedError(why);
    }
    throw RankLostError(why);
  }

  // A call of NCCL that may wait for other ranks: it returns within the limit, since the watchdog aborts.
  template <class Call>
  void call(const std::string& tried, const Call& made) {
    if (aborted) {
      lose("the communicators were aborted before");
    }
    watchdog->arm();
    const int result = made();
    watchdog->disarm();
    if (watchdog->was_late()) {
      lose("NCCL did not " + tried + " within " + format_seconds(patience.limit_s));
    }
    if (result != nccl::kSuccess) {
      try {
        library.check(result, tried);
      } catch (const FailedError& error) {
        lose(error.what());
      }
    }
  }

  void require_well() {
    for (const Member& member : members) {
      int result = nccl::kSuccess;
      static_cast<void>(api.comm_async_error(member.comm, &result));
      if (result != nccl::kSuccess && result != nccl::kInProgress) {
        lose("rank " + std::to_string(member.rank) + " cannot go on: " + api.error_string(result));
      }
    }
  }

  // Waits for all streams, as nccl-tests does.
  void complete() {
    constexpr double kBetweenLooks_s = 0.05;
    const double start_s = steady_now_s();
    double next_look_s = start_s + kBetweenLooks_s;
    std::size_t left = members.size();
    done.assign(left, 0);
    while (left > 0) {
      bool idle = true;
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (done[i] != 0) {
          continue;
        }
        const cudaError_t status = cudaStreamQuery(members[i].stream->get());
        if (status == cudaSuccess) {
          done[i] = 1;
          --left;
          idle = false;
        } else if (status != cudaErrorNotReady) {
          abort();
          cuda::check(status, "carry out a collective operation");
        }
      }
      if (left > 0 && steady_now_s() > next_look_s) {
        next_look_s = steady_now_s() + kBetweenLooks_s;
        require_well();
        const std::string why = patience.why_stop ? patience.why_stop() : "";
        if (!why.empty()) {
          lose(why);
        }
        if (steady_now_s() - start_s > patience.limit_s) {
          lose("an operation did not end within " + format_seconds(patience.limit_s));
        }
      }
      if (idle) {
        sched_yield();
      }
    }
    // "Not ready" is no error, but the next check of a launch would find it.
    static_cast<void>(cudaGetLastError());
  }

  const Library& library;
  const nccl::Api& api;
  Patience patience;
  int ranks;
  bool is_alone;  // no rank is in another process
  std::vector<int> gpus;
  std::vector<std::pair<int, int>> apart;  // (gpu, peer): access to be disabled again
  std::vector<Member> members;
  std::vector<char> done;  // of members, while they are waited for: allocated at the first operation
  std::atomic<bool> aborted{false};
  std::unique_ptr<Watchdog> watchdog;
};

Communicators::Communicators(const std::vector<int>& gpus, const Patience& patience)
    : state_(std::make_unique<State>(patience, static_cast<int>(gpus.size()), true)) {
  state_->note_apart(gpus);
  std::vector<nccl::Comm> comms(gpus.size());
  const cuda::DeviceGuard guard(gpus.front());
  state_->library.check(state_->api.comm_init_all(comms.data(), static_cast<int>(gpus.size()), gpus.data()),
                        "join " + std::to_string(gpus.size()) + " GPUs");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    state_->add(static_cast<int>(i), gpus[i], comms[i]);
  }
  state_->begin_watch();
}

Communicators::Communicators(int gpu, int rank, int ranks, const Id& id, const Patience& patience)
    : state_(std::make_unique<State>(patience, ranks, false)) {
  struct Made {
    int result = nccl::kSuccess;
    nccl::Comm comm = nullptr;
  };
  // In a thread that is left behind where it never returns: nothing aborts what is not yet made.
  auto promise = std::make_shared<std::promise<Made>>();
  std::future<Made> future = promise->get_future();
  nccl::UniqueId own{};
  std::memcpy(own.bytes, id.data(), id.size());
  std::thread([promise, own, gpu, rank, ranks, &api = state_->api] {
    Made made;
    static_cast<void>(cudaSetDevice(gpu));
    made.result = api.comm_init_rank(&made.comm, ranks, own, rank);
    promise->set_value(made);
  }).detach();
  const double start_s = steady_now_s();
  while (future.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    const std::string why = state_->patience.why_stop ? state_->patience.why_stop() : "";
    if (!why.empty()) {
      throw RankLostError(why);
    }
    if (steady_now_s() - start_s > state_->patience.limit_s) {
      throw RankLostError("NCCL did not join " + std::to_string(ranks) + " ranks within " +
                          format_seconds(state_->patience.limit_s));
    }
  }
  const Made made = future.get();
  state_->library.check(made.result, "join " + std::to_string(ranks) + " ranks");
  state_->add(rank, gpu, made.comm);
  state_->begin_watch();
}

Communicators::~Communicators() = default;

int Communicators::ranks() const noexcept {
  return state_->ranks;
}

const std::vector<int>& Communicators::gpus() const noexcept {
  return state_->gpus;
}

void Communicators::abort() noexcept {
  state_->abort();
}

bool Communicators::aborted() const noexcept {
  return state_->aborted;
}

struct Part::State {
  using Member = Communicators::State::Member;

  // Memory of NCCL's making, as nccl-tests has it, where the library makes any.
  class Memory {
   public:
    Memory(Communicators::State& all, const Member& member, std::uint64_t bytes)
        : api_(&all.api), gpu_(member.gpu) {
      const cuda::DeviceGuard guard(gpu_);
      if (const std::uint64_t free = cuda::memory_info(gpu_).free_bytes; free < bytes) {
        throw SkipError("needs " + format_bytes(bytes) + " on GPU " + std::to_string(gpu_) + ", which has " +
                        format_bytes(free) + " free");
      }
      if (api_->mem_alloc == nullptr) {
        ordinary_.emplace(gpu_, bytes);
        data_ = ordinary_->data();
        return;
      }
      all.library.check(api_->mem_alloc(&data_, bytes), "allocate " + format_bytes(bytes));
    }
    ~Memory() {
      if (data_ != nullptr && !ordinary_) {
        int before = 0;
        static_cast<void>(cudaGetDevice(&before));
        static_cast<void>(cudaSetDevice(gpu_));
        static_cast<void>(api_->mem_free(data_));
        static_cast<void>(cudaSetDevice(before));
      }
    }
    Memory(Memory&& other) noexcept
        : api_(other.api_),
          gpu_(other.gpu_),
          ordinary_(std::move(other.ordinary_)),
          data_(std::exchange(other.data_, nullptr)) {}
    Memory& operator=(Memory&&) = delete;
    [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

   private:
    const nccl::Api* api_;
    int gpu_;
    std::optional<cuda::DeviceBuffer> ordinary_;
    void* data_ = nullptr;
  };

  // NCCL knows a buffer while this lives.
  class Registered {
   public:
    Registered(Communicators::State& all, const Member& member, void* data, std::uint64_t bytes)
        : all_(&all), comm_(member.comm) {
      all.call("register a buffer", [&] { return all.api.comm_register(comm_, data, bytes, &handle_); });
    }
    ~Registered() {
      if (handle_ != nullptr && !all_->aborted) {
        static_cast<void>(all_->api.comm_deregister(comm_, handle_));
      }
    }
    Registered(Registered&& other) noexcept
        : all_(other.all_), comm_(other.comm_), handle_(std::exchange(other.handle_, nullptr)) {}
    Registered& operator=(Registered&&) = delete;

   private:
    Communicators::State* all_;
    nccl::Comm comm_;
    void* handle_ = nullptr;
  };

  // What one rank has.
  struct Buffers {
    std::byte* input = nullptr;
    std::byte* output = nullptr;
  };

  State(Communicators::State& communicators, const Work& done, bool with_gate)
      : all(communicators),
        work(done),
        part(part_bytes(work, all.ranks)),
        type(work.element == Element::uint32 ? nccl::kUint32 : nccl::kFloat32),
        starting(std::string("start ") + name(work.kind)) {
    if (work.registered) {
      all.library.require_registration();
    }
    for (const Member& member : all.members) {
      add_buffers(member);
    }
    line.emplace(all.members.front().gpu, kElementBytes);
    fill();
    if (with_gate) {
      for (const Member& member : all.members) {
        const cuda::DeviceGuard guard(member.gpu);
        if (gate) {
          cuda::Gate::load();
        } else {
          gate.emplace();
        }
        starts.push_back(std::make_unique<cuda::Event>());
        stops.push_back(std::make_unique<cuda::Event>());
      }
    }
  }

  void add_buffers(const Member& member) {
    const std::uint64_t in = input_bytes(work, all.ranks);
    const std::uint64_t out = output_bytes(work, all.ranks);
    const auto own = static_cast<std::uint64_t>(member.rank) * part;
    Buffers own_buffers;
    if (work.in_place) {
      std::byte* const data = allocate(member, std::max(in, out));
      own_buffers = {data + (work.kind == Kind::all_gather ? own : 0),
                     data + (work.kind == Kind::reduce_scatter ? own : 0)};
    } else {
      own_buffers = {allocate(member, in), allocate(member, out)};
    }
    buffers.push_back(own_buffers);
  }

  std::byte* allocate(const Member& member, std::uint64_t bytes) {
    memory.emplace_back(all, member, bytes);
    std::byte* const data = memory.back().data();
    if (work.registered) {
      const cuda::DeviceGuard guard(member.gpu);
      registrations.emplace_back(all, member, data, bytes);
    }
    return data;
  }

  // Outputs hold other values than what must come; in place the inputs lie among them.
  void fill() {
    constexpr int kOther = 0xa5;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Member& member = all.members[i];
      const cuda::DeviceGuard guard(member.gpu);
      cuda::check(
          cudaMemsetAsync(buffers[i].output, kOther, output_bytes(work, all.ranks), member.stream->get()),
          "overwrite an output");
      // Of a broadcast in place the input of another than the root is where its output comes.
      if (!work.in_place || work.kind != Kind::broadcast || member.rank == kRoot) {
        fill_values(buffers[i].input, input_bytes(work, all.ranks) / kElementBytes, work.element, member.rank,
                    0, *member.stream);
      }
    }
    all.complete();
  }

  // One operation of all ranks of this process, enqueued.
  void launch() {
    const bool grouped = all.members.size() > 1;
    all.call(starting, [&] {
      int result = grouped ? all.api.group_start() : static_cast<int>(nccl::kSuccess);
      for (std::size_t i = 0; i < buffers.size() && result == nccl::kSuccess; ++i) {
        result = enqueue(all.members[i], buffers[i]);
      }
      const int ended = grouped ? all.api.group_end() : static_cast<int>(nccl::kSuccess);
      return result != nccl::kSuccess ? result : ended;
    });
  }

  int enqueue(const Member& member, const Buffers& own) const {
    const nccl::Api& api = all.api;
    const std::uint64_t count = part / kElementBytes;
    const nccl::Stream stream = member.stream->get();
    switch (work.kind) {
      case Kind::all_reduce:
        return api.all_reduce(own.input, own.output, count, type, nccl::kSum, member.comm, stream);
      case Kind::all_gather:
        return api.all_gather(own.input, own.output, count, type, member.comm, stream);
      case Kind::reduce_scatter:
        return api.reduce_scatter(own.input, own.output, count, type, nccl::kSum, member.comm, stream);
      case Kind::broadcast:
        return api.broadcast(own.input, own.output, count, type, kRoot, member.comm, stream);
      case Kind::all_to_all:
        return exchange_all(member, own, count, stream);
      case Kind::send_receive:
        return exchange_next(member, own, count, stream);
    }
    return nccl::kSuccess;
  }

  int exchange_all(const Member& member, const Buffers& own, std::uint64_t count, nccl::Stream stream) const {
    const nccl::Api& api = all.api;
    if (api.all_to_all != nullptr) {
      return api.all_to_all(own.input, own.output, count, type, member.comm, stream);
    }
    int result = api.group_start();
    for (int peer = 0; peer < all.ranks && result == nccl::kSuccess; ++peer) {
      const std::uint64_t at = static_cast<std::uint64_t>(peer) * part;
      result = api.send(own.input + at, count, type, peer, member.comm, stream);
      result = result == nccl::kSuccess ? api.receive(own.output + at, count, type, peer, member.comm, stream)
                                        : result;
    }
    const int ended = api.group_end();
    return result != nccl::kSuccess ? result : ended;
  }

  // To the next rank, from the one before.
  int exchange_next(const Member& member, const Buffers& own, std::uint64_t count,
                    nccl::Stream stream) const {
    const nccl::Api& api = all.api;
    int result = api.group_start();
    result = result == nccl::kSuccess
                 ? api.send(own.input, count, type, (member.rank + 1) % all.ranks, member.comm, stream)
                 : result;
    result = result == nccl::kSuccess
                 ? api.receive(own.output, count, type, (member.rank + all.ranks - 1) % all.ranks,
                               member.comm, stream)
                 : result;
    const int ended = api.group_end();
    return result != nccl::kSuccess ? result : ended;
  }

  // Processes begin together: each waits for a sum of a word from all.
  void line_up() {
    if (all.is_alone) {
      return;
    }
    const Member& own = all.members.front();
    all.call("line ranks up", [&] {
      return all.api.all_reduce(line->data(), line->data(), 1, nccl::kUint32, nccl::kSum, own.comm,
                                own.stream->get());
    });
    all.complete();
  }

  static constexpr int kRoot = 0;

  Communicators::State& all;
  Work work;
  std::uint64_t part;
  int type;
  std::string starting;  // what a message says was tried: nothing is allocated while the loop is timed
  std::vector<Memory> memory;
  std::vector<Registered> registrations;  // gone before the memory is
  std::vector<Buffers> buffers;           // of each rank of this process
  std::optional<cuda::DeviceBuffer> line;
  std::optional<cuda::Gate> gate;
  std::vector<std::unique_ptr<cuda::Event>> starts, stops;
  std::optional<cuda::GatedRun> gated;
};

Part::Part(Communicators& communicators, const Work& work, bool gated)
    : state_(std::make_unique<State>(*communicators.state_, work, gated)) {}

Part::~Part() = default;

void Part::start() {
  // Behind a gate NCCL would wait for what it makes at the first operation of a kind and size.
  state_->launch();
  state_->all.complete();
}

double Part::loop_s(int launches) {
  start();  // as in nccl-tests: links and GPUs have not been idle when the loop begins
  state_->line_up();
  const double start_s = steady_now_s();
  for (int i = 0; i < launches; ++i) {
    state_->launch();
  }
  state_->all.complete();
  return (steady_now_s() - start_s) / launches;
}

void Part::close() {
  const auto& members = state_->all.members;
  std::vector<cuda::GatedWork> works;
  for (std::size_t i = 0; i < members.size(); ++i) {
    // Behind the gates of all GPUs stands one call for all of them.
    works.push_back({members[i].stream.get(),
                     [this, i] {
                       if (i == 0) {
                         state_->launch();
                       }
                     },
                     state_->starts[i].get(), state_->stops[i].get(), members[i].gpu});
  }
  state_->gated.emplace(*state_->gate, std::move(works));
}

Part::Call Part::open(double at_s) {
  const cuda::GatedRun::Times times = state_->gated->open(at_s, [this] { state_->all.complete(); });
  state_->gated.reset();
  Call call;
  call.late_s = times.opened_s - at_s;
  for (std::size_t i = 0; i < state_->starts.size(); ++i) {
    call.seconds = std::max(call.seconds, cuda::elapsed_s(*state_->starts[i], *state_->stops[i]));
  }
  return call;
}

std::string Part::why_wrong() {
  State& own = *state_;
  own.fill();
  own.line_up();  // nobody's output is overwritten after another has begun
  own.launch();
  own.all.complete();
  for (std::size_t i = 0; i < own.buffers.size(); ++i) {
    const auto& member = own.all.members[i];
    const cuda::DeviceGuard guard(member.gpu);
    const std::uint64_t count = output_bytes(own.work, own.all.ranks) / kElementBytes;
    const auto wrong = find_wrong(own.buffers[i].output, count, own.work.element,
                                  expected_of(own.work, own.all.ranks, member.rank), *member.stream);
    if (wrong) {
      return "element " + std::to_string(*wrong) + " of " + std::to_string(count) + " of rank " +
             std::to_string(member.rank) + "'s output is not what " + name(own.work.kind) +
             " of the inputs gives";
    }
  }
  return "";
}

}  // namespace grainscope::collective
