#include "call_graph_work.hpp"

#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/launch_counter.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/pattern.hpp"

namespace grainscope::cuda {
namespace {

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

}  // namespace

std::unique_ptr<GraphWork> make_graph_work(const CallSpec& spec) {
  if (spec.what == Call::graph_instantiate || spec.what == Call::graph_launch) {
    return std::make_unique<KernelWork>(spec);
  }
  return std::make_unique<CopyWork>(spec);
}

}  // namespace grainscope::cuda
