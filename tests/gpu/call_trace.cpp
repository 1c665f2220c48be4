// What a program asks of the CUDA runtime, in order: two builds whose timed regions are the same write the
// same file. A library that the driver loads into the program (CUDA_INJECTION64_PATH), not a test by itself:
//
//   for build in OLD NEW; do
//     export CUDA_INJECTION64_PATH=$build/tests/gpu/libcall_trace.so GRAINSCOPE_CALL_TRACE=/tmp/$build.calls
//     $build/benchmarks/grainscope --benchmark_filter='^CASE$' --out=/tmp/$build.run
//   done
//   diff /tmp/OLD.calls /tmp/NEW.calls
//   python tests/python/timed_calls.py /tmp/OLD.calls /tmp/NEW.calls   # the timed regions alone
//
// Each thread's calls by name, a kernel by its own; driver calls only where the runtime does not make them.
// `x 128` counts equal calls in a row; a block that comes again and again, as samples do, stands once,
// between `repeat` and `end`: how many samples a session takes depends on the clock. The file grows: remove
// it before.

#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Call {
  std::string name;
  int times = 1;
  friend bool operator==(const Call&, const Call&) = default;
};
using Calls = std::vector<Call>;

// Threads in the order of their first calls.
struct Trace {
  std::mutex mutex;
  std::map<std::thread::id, std::size_t> numbers;
  std::vector<Calls> threads;
};
Trace& trace() {
  static auto* const all = new Trace;  // outlives whatever still calls at the end
  return *all;
}

std::string readable(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : symbol;
}

void note(const CUpti_CallbackData& data) {
  const std::string name =
      std::string(data.functionName) + (data.symbolName != nullptr ? " " + readable(data.symbolName) : "");
  Trace& all = trace();
  const std::lock_guard lock(all.mutex);
  const auto [thread, is_new] = all.numbers.emplace(std::this_thread::get_id(), all.threads.size());
  if (is_new) {
    all.threads.emplace_back();
  }
  Calls& calls = all.threads[thread->second];
  if (!calls.empty() && calls.back().name == name) {
    ++calls.back().times;
  } else {
    calls.push_back({name});
  }
}

void CUPTIAPI on_call(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId /*id*/,
                      const void* about) {
  thread_local int within_runtime = 0;
  const auto& data = *static_cast<const CUpti_CallbackData*>(about);
  const bool enters = data.callbackSite == CUPTI_API_ENTER;
  if (enters && within_runtime == 0) {
    note(data);
  }
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    within_runtime += enters ? 1 : -1;
  }
}

// How often the `length` calls from `at` on come in a row.
std::size_t repeats(const Calls& calls, std::size_t at, std::size_t length) {
  std::size_t times = 1;
  while (at + (times + 1) * length <= calls.size() &&
         std::equal(calls.begin() + static_cast<std::ptrdiff_t>(at),
                    calls.begin() + static_cast<std::ptrdiff_t>(at + length),
                    calls.begin() + static_cast<std::ptrdiff_t>(at + times * length))) {
    ++times;
  }
  return times;
}

void write() {
  constexpr std::size_t kLongest = 512;
  Trace& all = trace();
  const std::lock_guard lock(all.mutex);
  const char* const path = std::getenv("GRAINSCOPE_CALL_TRACE");
  std::ofstream file(path != nullptr ? path : "call_trace.txt", std::ios::app);
  for (const Calls& calls : all.threads) {
    file << "thread\n";
    for (std::size_t at = 0; at < calls.size();) {
      std::size_t length = 2;
      while (length <= kLongest && repeats(calls, at, length) == 1) {
        ++length;
      }
      const bool again = length <= kLongest;
      length = again ? length : 1;
      file << (again ? "repeat\n" : "");
      for (std::size_t i = at; i < at + length; ++i) {
        file << (again ? "  " : "") << calls[i].name
             << (calls[i].times > 1 ? " x " + std::to_string(calls[i].times) : "") << '\n';
      }
      file << (again ? "end\n" : "");
      at += length * repeats(calls, at, length);
    }
  }
}

}  // namespace

// Called by the driver, once, before the program's first call. 1: go on.
extern "C" int InitializeInjection() {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, on_call, nullptr) == CUPTI_SUCCESS) {
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    std::atexit(write);
  }
  return 1;
}
