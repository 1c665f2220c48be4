// The sides of a shared GPU: gathers, products of matrices, and training steps, and runs of several at
// once.

#include "grainscope/gnn/share_work.hpp"

#include <cuda_runtime.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../cuda/launch.cuh"
#include "gather_parts.hpp"
#include "gpu_gather.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/cuda_sage.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "lists_layout.hpp"

namespace grainscope::gnn {
namespace {

class GatherWork final : public ShareWork {
 public:
  GatherWork(FeatureStore& store, RowLists lists, Mode mode, std::uint32_t width,
             const cuda::SmPartition& part)
      : store_(store),
        guard_(gpu()),
        stream_(part.stream()),
        lists_(copy_to_gpu(lists, gpu())),
        rows_(lists.front().size()),
        rig_(gpu(), lists.size(), rows_ * store.shape().row_bytes, cuda::GatherRig::Word::lowest),
        kernel_(store.view(), mode, width, gpu(), 0, part.given_sms()) {}

  void prepare() override { rig_.make_cold(stream_); }

  void enqueue() override {
    list_ = rig_.next_list();
    kernel_.launch({rows_of_list(), nullptr, rows_, rig_.output()}, stream_);
  }

  void check() override {
    check_rows(rig_.output(), rows_of_list(), rows_, store_.shape(), rig_.word(), stream_);
  }

  std::string verify() override {
    require_rows_right(rig_, stream_);
    return "every byte of every sample's output against the table's closed form";
  }

  [[nodiscard]] const cuda::Stream& stream() const override { return stream_; }
  [[nodiscard]] int gpu() const override { return store_.request().gpu; }
  [[nodiscard]] int blocks() const override { return kernel_.most_blocks(); }

 private:
  [[nodiscard]] const std::uint32_t* rows_of_list() const {
    return static_cast<const std::uint32_t*>(lists_[list_].data());
  }

  FeatureStore& store_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  std::vector<cuda::DeviceBuffer> lists_;
  std::uint64_t rows_;
  cuda::GatherRig rig_;
  GatherKernel kernel_;
  std::size_t list_ = 0;
};

}  // namespace

std::unique_ptr<ShareWork> make_gather_work(FeatureStore& store, RowLists lists, Mode mode,
                                            std::uint32_t width, const cuda::SmPartition& part) {
  require_possible(store, lists, {mode, width});
  return std::make_unique<GatherWork>(store, std::move(lists), mode, width, part);
}

// The computing side of a shared GPU: products of float32 matrices whose elements are small whole numbers, so
// that every sum is exact in any order, and every element of every product can be checked.

namespace {

constexpr int kSide = kProductSide;
constexpr int kTile = 64;  // of the result, a block
constexpr int kDeep = 16;  // columns of one operand and rows of the other, in shared memory at a time
constexpr int kThreads = 256;
constexpr int kEach = 4;  // rows and columns of the result, a thread
constexpr int kTilesAcross = kSide / kTile;
// Element (i, k) of the first operand is (i + 5k) mod 31, (k, j) of the second (3k + j) mod 29: what (i, j)
// of the product is depends on i mod 31 and j mod 29 alone. The largest sum is below 2^24.
constexpr int kFirstPeriod = 31;
constexpr int kSecondPeriod = 29;
static_assert(kSide % kTile == 0 && kSide % kDeep == 0);
static_assert((kFirstPeriod - 1) * (kSecondPeriod - 1) * kSide < (1 << 24));

__host__ __device__ int first_element(int i, int k) {
  return (i + 5 * k) % kFirstPeriod;
}
__host__ __device__ int second_element(int k, int j) {
  return (3 * k + j) % kSecondPeriod;
}

__global__ void fill_operands(float* first, float* second) {
  for (int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); at < kSide * kSide;
       at += static_cast<int>(gridDim.x * blockDim.x)) {
    first[at] = static_cast<float>(first_element(at / kSide, at % kSide));
    second[at] = static_cast<float>(second_element(at / kSide, at % kSide));
  }
}

// As many blocks as a part holds take the tiles of the result in turn.
__global__ void __launch_bounds__(kThreads)
    multiply(const float* __restrict__ first, const float* __restrict__ second, float* __restrict__ product) {
  __shared__ float of_first[kDeep][kTile + kEach];  // lanes that store a column meet in fewer banks
  __shared__ float of_second[kDeep][kTile];
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / (kTile / kEach) * kEach;
  const int column = thread % (kTile / kEach) * kEach;
  for (int tile = static_cast<int>(blockIdx.x); tile < kTilesAcross * kTilesAcross;
       tile += static_cast<int>(gridDim.x)) {
    const int top = tile / kTilesAcross * kTile;
    const int left = tile % kTilesAcross * kTile;
    float sums[kEach][kEach] = {};
    for (int depth = 0; depth < kSide; depth += kDeep) {
      for (int at = thread; at < kTile * kDeep; at += kThreads) {
        of_first[at % kDeep][at / kDeep] = first[(top + at / kDeep) * kSide + depth + at % kDeep];
        of_second[at / kTile][at % kTile] = second[(depth + at / kTile) * kSide + left + at % kTile];
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kDeep; ++k) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
#pragma unroll
          for (int j = 0; j < kEach; ++j) {
            sums[i][j] += of_first[k][row + i] * of_second[k][column + j];
          }
        }
      }
      __syncthreads();
    }
    for (int i = 0; i < kEach; ++i) {
      for (int j = 0; j < kEach; ++j) {
        product[(top + row + i) * kSide + left + column + j] = sums[i][j];
      }
    }
  }
}

__global__ void check_product(const float* product, const float* right, unsigned* wrong) {
  for (int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); at < kSide * kSide;
       at += static_cast<int>(gridDim.x * blockDim.x)) {
    const int i = at / kSide % kFirstPeriod;
    const int j = at % kSide % kSecondPeriod;
    if (product[at] != right[i * kSecondPeriod + j]) {
      atomicAdd(wrong, 1U);
    }
  }
}

using RightElements = std::array<float, static_cast<std::size_t>(kFirstPeriod) * kSecondPeriod>;

RightElements right_elements() {
  RightElements right{};
  for (int i = 0; i < kFirstPeriod; ++i) {
    for (int j = 0; j < kSecondPeriod; ++j) {
      int sum = 0;
      for (int k = 0; k < kSide; ++k) {
        sum += first_element(i, k) * second_element(k, j);
      }
      right[static_cast<std::size_t>(i * kSecondPeriod + j)] = static_cast<float>(sum);
    }
  }
  return right;
}

class ProductWork final : public ShareWork {
 public:
  ProductWork(int gpu, int products, const cuda::SmPartition& part)
      : gpu_(gpu),
        products_(products),
        guard_(gpu),
        stream_(part.stream()),
        first_(gpu, kBytes),
        second_(gpu, kBytes),
        product_(gpu, kBytes),
        right_(gpu, sizeof(RightElements)),
        wrong_(gpu, sizeof(unsigned)) {
    cuda::load_kernel(multiply, "load a kernel that multiplies matrices");
    const int held = cuda::blocks_on_multiprocessor(multiply, kThreads);
    blocks_ = std::clamp(held * part.given_sms(), 1, kTilesAcross * kTilesAcross);
    fill_operands<<<kGrid, kThreads, 0, stream_.get()>>>(numbers(first_), numbers(second_));
    cuda::check_launch("fill_operands");
    const RightElements right = right_elements();
    cuda::check(
        cudaMemcpyAsync(right_.data(), right.data(), sizeof(right), cudaMemcpyHostToDevice, stream_.get()),
        "copy what a product should be to the GPU");
    cuda::check(cudaMemsetAsync(wrong_.data(), 0, sizeof(unsigned), stream_.get()), "clear a check's result");
    stream_.synchronize();
  }

  void prepare() override {
    constexpr int kOther = 0xa5;
    cuda::check(cudaMemsetAsync(product_.data(), kOther, product_.bytes(), stream_.get()),
                "overwrite a product");
  }

  void enqueue() override {
    for (int i = 0; i < products_; ++i) {
      multiply<<<static_cast<unsigned>(blocks_), kThreads, 0, stream_.get()>>>(
          numbers(first_), numbers(second_), numbers(product_));
    }
    cuda::check_launch("multiply");
  }

  void check() override {
    ++checks_;
    check_product<<<kGrid, kThreads, 0, stream_.get()>>>(numbers(product_), numbers(right_),
                                                         static_cast<unsigned*>(wrong_.data()));
    cuda::check_launch("check_product");
  }

  std::string verify() override {
    stream_.synchronize();
    unsigned wrong = 0;
    cuda::check(cudaMemcpy(&wrong, wrong_.data(), sizeof(wrong), cudaMemcpyDeviceToHost),
                "read a check's result");
    if (wrong != 0 || checks_ == 0) {
      throw FailedError(checks_ == 0 ? std::string("wrong result: no matrices were multiplied")
                                     : "wrong result: " + std::to_string(wrong) + " elements of products");
    }
    return "every element of every sample's last product";
  }

  [[nodiscard]] const cuda::Stream& stream() const override { return stream_; }
  [[nodiscard]] int gpu() const override { return gpu_; }
  [[nodiscard]] int blocks() const override { return blocks_; }

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{kSide} * kSide * sizeof(float);
  static constexpr int kGrid = 256;
  static float* numbers(const cuda::DeviceBuffer& buffer) { return static_cast<float*>(buffer.data()); }

  int gpu_;
  int products_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::DeviceBuffer first_;
  cuda::DeviceBuffer second_;
  cuda::DeviceBuffer product_;
  cuda::DeviceBuffer right_;
  cuda::DeviceBuffer wrong_;
  int blocks_ = 1;
  int checks_ = 0;
};

}  // namespace

std::unique_ptr<ShareWork> make_product_work(int gpu, int products, const cuda::SmPartition& part) {
  if (products < 1) {
    throw UsageError("a GPU that computes has products to compute, not " + std::to_string(products));
  }
  return std::make_unique<ProductWork>(gpu, products, part);
}

// The training side of a shared GPU: real steps on a mini-batch that lies there already.

namespace {

template <class T>
void send(void* to, const std::vector<T>& values) {
  cuda::check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              "copy a mini-batch to the GPU");
}

MostOf sizes_of(const MiniBatch& batch) {
  MostOf sizes;
  sizes.nodes.assign(batch.nodes_upto.begin(), batch.nodes_upto.end());
  std::transform(batch.layers.begin(), batch.layers.end(), std::back_inserter(sizes.edges),
                 [](const Layer& layer) { return layer.sources.size(); });
  return sizes;
}

class StepWork final : public ShareWork {
 public:
  StepWork(int gpu, const FixedBatch& batch, int steps, const cuda::SmPartition& part)
      : gpu_(gpu),
        steps_(steps),
        plan_(batch.plan),
        guard_(gpu),
        stream_(part.stream()),
        layout_(sizes_of(batch.sampled)),
        lists_(gpu, layout_.bytes()),
        rows_(gpu, batch.rows.size() * sizeof(float)),
        labels_(gpu, batch.plan.labels.size() * sizeof(std::uint16_t)),
        model_(gpu, batch.plan.request.shape, layout_.most(), static_cast<std::uint64_t>(steps)) {
    send_batch(batch);
    // The first run is also what loads all kernels before a gate closes.
    prepare();
    enqueue();
    stream_.synchronize();
    losses_ = losses();
    parameters_ = model_.parameters();
    require_near(batch.losses);
  }

  void prepare() override {
    model_.reset(plan_.parameters);
    cuda::check(cudaDeviceSynchronize(), "begin training anew");
  }

  void enqueue() override {
    const float* const gradients[] = {model_.gradient()};
    for (int step = 0; step < steps_; ++step) {
      model_.enqueue_gradient(batch_, static_cast<std::uint64_t>(step), stream_);
      model_.enqueue_update(plan_.request.rate, gradients, stream_);
    }
  }

  // A sample that did nothing leaves the first parameters.
  void check() override {
    stream_.synchronize();
    ++checks_;
    if (losses() != losses_ || model_.parameters() != parameters_) {
      ++wrong_;
    }
  }

  std::string verify() override {
    if (wrong_ != 0 || checks_ == 0) {
      throw FailedError(checks_ == 0
                            ? std::string("wrong result: no step was trained")
                            : "wrong result: " + std::to_string(wrong_) + " of " + std::to_string(checks_) +
                                  " samples have other losses or parameters than the first run");
    }
    return "losses of the first steps against double precision within 2e-5, losses and parameters of every "
           "sample the same bit for bit";
  }

  [[nodiscard]] const cuda::Stream& stream() const override { return stream_; }
  [[nodiscard]] int gpu() const override { return gpu_; }
  [[nodiscard]] int blocks() const override { return 0; }

 private:
  void send_batch(const FixedBatch& batch) {
    auto* const memory = static_cast<std::byte*>(lists_.data());
    send(layout_.nodes(memory), batch.sampled.nodes);
    send(layout_.nodes_upto(memory), batch.sampled.nodes_upto);
    for (std::size_t hop = 0; hop < batch.sampled.layers.size(); ++hop) {
      send(layout_.offsets(memory, hop), batch.sampled.layers[hop].offsets);
      send(layout_.sources(memory, hop), batch.sampled.layers[hop].sources);
    }
    send(rows_.data(), batch.rows);
    send(labels_.data(), batch.plan.labels);
    view_ = layout_.view(memory);
    batch_ = {&view_, batch.sampled.nodes_upto, layout_.most().edges, static_cast<const float*>(rows_.data()),
              static_cast<const std::uint16_t*>(labels_.data())};
  }

  [[nodiscard]] std::vector<float> losses() const {
    return model_.losses(static_cast<std::uint64_t>(steps_));
  }

  // float32 rounds by 6e-8; a loss is a sum over some thousand terms, and three steps carry their rounding
  // on.
  void require_near(const std::vector<double>& expected) const {
    constexpr double kTolerance = 2e-5;
    for (std::size_t step = 0; step < std::min(expected.size(), losses_.size()); ++step) {
      if (!(std::abs(static_cast<double>(losses_[step]) - expected[step]) <=
            kTolerance * std::abs(expected[step]))) {
        throw FailedError("wrong result: the loss of step " + std::to_string(step) + " is " +
                          std::to_string(losses_[step]) + ", not " + std::to_string(expected[step]) +
                          " as in double precision");
      }
    }
  }

  int gpu_;
  int steps_;
  const TrainingPlan& plan_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  ListsLayout layout_;
  cuda::DeviceBuffer lists_;
  cuda::DeviceBuffer rows_;
  cuda::DeviceBuffer labels_;
  CudaSage model_;
  DeviceMiniBatch view_;
  SageBatch batch_;
  std::vector<float> losses_;  // of the first run, what every sample must give
  std::vector<float> parameters_;
  int checks_ = 0;
  int wrong_ = 0;
};

}  // namespace

std::unique_ptr<ShareWork> make_step_work(int gpu, const FixedBatch& batch, int steps,
                                          const cuda::SmPartition& part) {
  if (steps < 1 || steps > kMostSteps) {
    throw UsageError("a GPU that trains takes 1 to " + std::to_string(kMostSteps) + " steps, not " +
                     std::to_string(steps));
  }
  return std::make_unique<StepWork>(gpu, batch, steps, part);
}

struct SharedRun::Parts {
  explicit Parts(std::vector<ShareWork*> sides)
      : works(std::move(sides)), guard(works.front()->gpu()), spans(works.size()), seconds(works.size()) {}

  // Two events around a side's work.
  struct Span {
    cuda::Event start;
    cuda::Event stop;
  };
  double around_s = 0;  // of the last run

  void hold() {
    std::vector<cuda::GatedWork> gated;
    for (std::size_t i = 0; i < works.size(); ++i) {
      const auto enqueue = [this, i] {
        spans[i].start.record(works[i]->stream());
        works[i]->enqueue();
      };
      gated.push_back({&works[i]->stream(), enqueue, nullptr, &spans[i].stop});
    }
    held.emplace(gate, std::move(gated));
  }

  std::vector<ShareWork*> works;
  cuda::DeviceGuard guard;
  cuda::Gate gate;
  std::vector<Span> spans;
  std::vector<double> seconds;
  std::optional<cuda::GatedRun> held;  // between hold() and run_at()
};

SharedRun::SharedRun(std::vector<ShareWork*> works) {
  if (works.empty()) {
    throw UsageError("a shared run has at least one side");
  }
  parts_ = std::make_unique<Parts>(std::move(works));
}

SharedRun::~SharedRun() = default;

void SharedRun::prepare() {
  for (ShareWork* work : parts_->works) {
    work->prepare();
    work->stream().synchronize();
  }
}

double SharedRun::run() {
  parts_->hold();
  const ShareTimes times = run_at(0);
  parts_->around_s = times.ended_s - times.begun_s;
  return times.seconds;
}

void SharedRun::get_ready() {
  prepare();
  parts_->hold();
}

ShareTimes SharedRun::run_at(double start_s) {
  const cuda::GatedRun::Times opened = parts_->held->open(start_s);
  parts_->held.reset();
  ShareTimes times{0, opened.begun_s, opened.opened_s, opened.ended_s};
  for (std::size_t i = 0; i < parts_->works.size(); ++i) {
    for (std::size_t j = 0; j < parts_->works.size(); ++j) {
      const double from_i_to_j = cuda::elapsed_s(parts_->spans[i].start, parts_->spans[j].stop);
      times.seconds = std::max(times.seconds, from_i_to_j);
      parts_->seconds[i] = i == j ? from_i_to_j : parts_->seconds[i];
    }
  }
  for (ShareWork* work : parts_->works) {
    work->check();
    if (parts_->works.size() > 1) {
      work->stream().synchronize();
    }
  }
  return times;
}

std::optional<double> SharedRun::around_s(double /*run_s*/) const {
  return parts_->around_s;
}

std::string SharedRun::verify() {
  std::string checked;
  for (ShareWork* work : parts_->works) {
    checked += (checked.empty() ? "" : "; ") + work->verify();
  }
  return checked;
}

Timing SharedRun::timing() const {
  return {Clock::event, true,
          parts_->works.size() == 1 ? "its work between two events"
                                    : "from the first side's beginning to the last one's end, by events"};
}

const std::vector<double>& SharedRun::seconds() const {
  return parts_->seconds;
}

}  // namespace grainscope::gnn
