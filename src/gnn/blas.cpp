// cuBLAS counts by columns: what lies row by row is to it the transpose, so every product is asked for as
// that of the transposes, the other way round.

#include "blas.hpp"

#include <string>

#include "cublas_api.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::gnn {
namespace {

constexpr std::uint64_t kWorkspaceBytes = 32 * kMiB;  // what cuBLAS takes itself on Hopper
constexpr float kOne = 1;
constexpr float kZero = 0;

void check(cublasStatus_t status, const char* tried) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw FailedError(std::string("could not ") + tried + " by cuBLAS: " + cublas_api().status_name(status) +
                      " (" + cublas_api().status_string(status) + ")");
  }
}

cublasHandle_t make_handle() {
  cublasHandle_t handle = nullptr;
  check(cublas_api().create(&handle), "start");
  return handle;
}

}  // namespace

Blas::Blas(int gpu) : workspace_(gpu, kWorkspaceBytes), handle_(make_handle()) {
  check(cublas_api().set_math_mode(handle_.get(), CUBLAS_PEDANTIC_MATH), "ask for float32 arithmetic");
}

void Blas::Destroy::operator()(cublasContext* handle) const noexcept {
  static_cast<void>(cublas_api().destroy(handle));
}

void Blas::use(cudaStream_t stream) {
  check(cublas_api().set_stream(handle_.get(), stream), "take a stream");
  // A new stream takes cuBLAS's own memory again.
  check(cublas_api().set_workspace(handle_.get(), workspace_.data(), workspace_.bytes()), "take memory");
}

void Blas::multiply(const float* a, const float* b, std::uint64_t rows, std::uint64_t inner,
                    std::uint64_t columns, float* c) {
  const auto m = static_cast<int>(rows);
  const auto k = static_cast<int>(inner);
  const auto n = static_cast<int>(columns);
  check(cublas_api().sgemm(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &kOne, b, n, a, k, &kZero, c, n),
        "multiply");
}

void Blas::multiply_turned_left(const float* a, const float* d, std::uint64_t rows, std::uint64_t inner,
                                std::uint64_t columns, float* c) {
  const auto m = static_cast<int>(rows);
  const auto k = static_cast<int>(inner);
  const auto n = static_cast<int>(columns);
  check(cublas_api().sgemm(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_T, n, k, m, &kOne, d, n, a, k, &kZero, c, n),
        "multiply by a transpose");
}

void Blas::multiply_turned_right(const float* d, const float* b, std::uint64_t rows, std::uint64_t inner,
                                 std::uint64_t columns, float* c) {
  const auto m = static_cast<int>(rows);
  const auto k = static_cast<int>(inner);
  const auto n = static_cast<int>(columns);
  check(cublas_api().sgemm(handle_.get(), CUBLAS_OP_T, CUBLAS_OP_N, k, m, n, &kOne, b, n, d, n, &kZero, c, k),
        "multiply with a transpose");
}

void Blas::sum_columns(const float* d, const float* ones, std::uint64_t rows, std::uint64_t columns,
                       float* sums) {
  const auto m = static_cast<int>(rows);
  const auto n = static_cast<int>(columns);
  check(cublas_api().sgemv(handle_.get(), CUBLAS_OP_N, n, m, &kOne, d, n, ones, 1, &kZero, sums, 1),
        "add up rows");
}

}  // namespace grainscope::gnn
