// The computing side of a shared GPU: products of float32 matrices whose elements are small whole numbers, so
// that every sum is exact in any order, and every element of every product can be checked.

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/share_work.hpp"

namespace grainscope::gnn {
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
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(&attributes, multiply), "load a kernel that multiplies matrices");
    int held = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, multiply, kThreads, 0),
                "ask how many blocks a multiprocessor holds");
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

}  // namespace grainscope::gnn
