// What it costs to make a graph ready and to launch it, by how many kernels or copies are in it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/cuda/verification.hpp"

namespace grainscope::cuda {
namespace {

// What the nodes of a graph do whose calls are timed: the least that leaves a trace.
class GraphWork {
 public:
  virtual ~GraphWork() = default;
  GraphWork(const GraphWork&) = delete;
  GraphWork& operator=(const GraphWork&) = delete;

  // Puts all nodes into `stream`, one after another.
  virtual void enqueue(const Stream& stream) = 0;
  // Clears the traces of the sample before, in stream order.
  virtual void prepare(const Stream& stream) { static_cast<void>(stream); }
  // Throws FailedError unless the graph has run `launches` times since construction, all nodes of it, the
  // last time after prepare(). Waits for `stream`.
  virtual void expect(std::uint64_t launches, const Stream& stream) = 0;
  // "kernels of one thread".
  [[nodiscard]] virtual std::string nodes() const = 0;
  // What expect() has checked, in a sentence.
  [[nodiscard]] virtual std::string checked() const = 0;

 protected:
  GraphWork() = default;
};

class KernelWork final : public GraphWork {
 public:
  explicit KernelWork(const CallSpec& spec) : nodes_(spec.graph_nodes), counter_(spec.gpu) {}

  void enqueue(const Stream& stream) override {
    for (int i = 0; i < nodes_; ++i) {
      counter_.launch(stream);
    }
  }
  void expect(std::uint64_t launches, const Stream& stream) override {
    counter_.expect(launches * static_cast<std::uint64_t>(nodes_), stream);
  }
  [[nodiscard]] std::string nodes() const override { return "kernels of one thread"; }
  [[nodiscard]] std::string checked() const override {
    return "a counter on the GPU shows as many kernels as graphs ran, times their nodes";
  }

 private:
  int nodes_;
  LaunchCounter counter_;
};

// A cube of 8 x 8 x 8 bytes with room between its rows, or 128 bytes in one piece; every node copies the
// same to a place of its own.
class CopyWork final : public GraphWork {
 public:
  explicit CopyWork(const CallSpec& spec)
      : is_3d_(spec.what == Call::graph_launch_copies_3d),
        nodes_(static_cast<std::uint64_t>(spec.graph_nodes)),
        source_(spec.gpu, kPlaceBytes),
        places_(spec.gpu, nodes_ * kPlaceBytes) {
    const Stream stream;
    fill_pattern(static_cast<std::uint32_t*>(source_.data()), kPlaceBytes / 4, kSeed, stream);
    stream.synchronize();
  }

  void enqueue(const Stream& stream) override {
    for (std::uint64_t node = 0; node < nodes_; ++node) {
      std::byte* place = static_cast<std::byte*>(places_.data()) + node * kPlaceBytes;
      if (is_3d_) {
        copy_cube(place, stream);
      } else {
        check(cudaMemcpyAsync(place, source_.data(), kPieceBytes, cudaMemcpyDeviceToDevice, stream.get()),
              "copy within a GPU");
      }
    }
  }

  void prepare(const Stream& stream) override {
    check(cudaMemsetAsync(places_.data(), 0, places_.bytes(), stream.get()), "clear what copies go to");
    stream.synchronize();
  }

  void expect(std::uint64_t /*launches*/, const Stream& stream) override {
    stream.synchronize();
    std::vector<std::uint32_t> words(places_.bytes() / 4);
    check(cudaMemcpy(words.data(), places_.data(), places_.bytes(), cudaMemcpyDeviceToHost),
          "read what copies left");
    for (std::uint64_t i = 0; i < words.size(); ++i) {
      const std::uint64_t word = i % (kPlaceBytes / 4);
      const std::uint32_t right = is_copied(word * 4) ? pattern_word(word, kSeed) : 0;
      if (words[i] != right) {
        throw FailedError("wrong result: copy " + std::to_string(i / (kPlaceBytes / 4)) +
                          " of a graph did not bring what it should, or brought more");
      }
    }
  }

  [[nodiscard]] std::string nodes() const override {
    return is_3d_ ? "copies of cubes of 8 x 8 x 8 bytes within the GPU"
                  : "copies of 128 bytes within the GPU";
  }
  [[nodiscard]] std::string checked() const override {
    return "every node's copy arrived, and nothing beside it, in memory that was cleared before the sample";
  }

 private:
  static constexpr std::uint64_t kEdge = 8;
  static constexpr std::uint64_t kPitch = 64;
  static constexpr std::uint64_t kPlaceBytes = kPitch * kEdge * kEdge;
  static constexpr std::uint64_t kPieceBytes = 128;
  static constexpr std::uint32_t kSeed = 17;

  [[nodiscard]] bool is_copied(std::uint64_t byte) const {
    return is_3d_ ? byte % kPitch < kEdge : byte < kPieceBytes;
  }

  void copy_cube(std::byte* to, const Stream& stream) const {
    cudaMemcpy3DParms parameters{};
    parameters.srcPtr = {source_.data(), kPitch, kPitch, kEdge};
    parameters.dstPtr = {to, kPitch, kPitch, kEdge};
    parameters.extent = {kEdge, kEdge, kEdge};
    parameters.kind = cudaMemcpyDeviceToDevice;
    check(cudaMemcpy3DAsync(&parameters, stream.get()), "copy a cube within a GPU");
  }

  bool is_3d_;
  std::uint64_t nodes_;
  DeviceBuffer source_;
  DeviceBuffer places_;
};

// Kernels, or copies within the GPU's memory: the call says which. The GPU is current.
std::unique_ptr<GraphWork> make_graph_work(const CallSpec& spec) {
  if (spec.what == Call::graph_instantiate || spec.what == Call::graph_launch) {
    return std::make_unique<KernelWork>(spec);
  }
  return std::make_unique<CopyWork>(spec);
}

class GraphProbe final : public CallProbe {
 public:
  explicit GraphProbe(const CallSpec& spec)
      : launches_graph_(spec.what != Call::graph_instantiate && spec.what != Call::graph_instantiate_copies),
        // Enough for some tens of microseconds, and few enough nodes for a stream to hold them all.
        calls_(std::clamp(64 / spec.graph_nodes, 1, launches_graph_ ? 16 : 8)),
        guard_(spec.gpu),
        work_(make_graph_work(spec)),
        graph_(stream_, [this] { work_->enqueue(stream_); }),
        ready_(graph_) {
    if (graph_.nodes() != static_cast<std::size_t>(spec.graph_nodes)) {
      throw FailedError("a graph of " + std::to_string(spec.graph_nodes) + " was captured with " +
                        std::to_string(graph_.nodes()) + " nodes");
    }
    check(cudaGraphUpload(ready_.get(), stream_.get()), "upload a graph");
    stream_.synchronize();
  }

  double run() override {
    work_->prepare(stream_);
    const double seconds = launches_graph_ ? time_launches() : time_instantiations();
    work_->expect(launched_, stream_);
    return seconds;
  }

  std::string verify() override {
    return work_->checked() + (launches_graph_ ? "" : "; of each sample the last graph made was launched");
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            launches_graph_ ? "cudaGraphLaunch of a graph of " + work_->nodes() +
                                  " that was uploaded, into a stream empty at first"
                            : "cudaGraphInstantiate of a chain of " + work_->nodes()};
  }
  void describe(Measurement& measurement) override {
    measurement.operations = static_cast<std::uint64_t>(calls_);
  }

 private:
  double time_launches() {
    launched_ += static_cast<std::uint64_t>(calls_);
    const double seconds = time_calls(calls_, "launch a graph",
                                      [this](int) { return cudaGraphLaunch(ready_.get(), stream_.get()); });
    stream_.synchronize();
    return seconds;
  }

  double time_instantiations() {
    std::vector<cudaGraphExec_t> made(static_cast<std::size_t>(calls_), nullptr);
    const double seconds = time_calls(calls_, "instantiate a graph", [&](int i) {
      return cudaGraphInstantiate(&made[static_cast<std::size_t>(i)], graph_.get(), 0);
    });
    std::vector<GraphExec> owned;
    owned.reserve(made.size());
    for (cudaGraphExec_t exec : made) {
      owned.emplace_back(exec);
    }
    owned.back().launch(stream_);
    ++launched_;
    stream_.synchronize();
    return seconds;
  }

  bool launches_graph_;
  int calls_;
  DeviceGuard guard_;
  Stream stream_;
  std::unique_ptr<GraphWork> work_;
  Graph graph_;
  GraphExec ready_;
  std::uint64_t launched_ = 0;
};

}  // namespace

std::unique_ptr<CallProbe> make_graph_call(const CallSpec& spec) {
  if (spec.graph_nodes < 1) {
    throw UsageError("a graph has a node or more, not " + std::to_string(spec.graph_nodes));
  }
  return std::make_unique<GraphProbe>(spec);
}

}  // namespace grainscope::cuda
