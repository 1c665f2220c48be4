// Products of matrices by cuBLAS, which is loaded when the first is asked for. It counts by columns: what
// lies row by row is to it the transpose, so every product is asked for as that of the transposes, the other
// way round. Where the toolkit has no cuBLAS a model cannot be made, so nothing else is called.

#include "blas.hpp"

#include <string>

#include "grainscope/core/error.hpp"

#ifdef GRAINSCOPE_CUBLAS_FOLDER

#include <dlfcn.h>

#include "cublas_api.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::gnn {
namespace {

// The name that the library has for a function, of which its header makes another.
#define GRAINSCOPE_NAME_OF(function) GRAINSCOPE_TEXT_OF(function)
#define GRAINSCOPE_TEXT_OF(name) #name

void* open(const std::string& library) {
  constexpr int kHow = RTLD_NOW | RTLD_LOCAL;
  void* found = dlopen(library.c_str(), kHow);
  return found != nullptr ? found : dlopen((GRAINSCOPE_CUBLAS_FOLDER "/" + library).c_str(), kHow);
}

template <class Function>
void find(void* library, const std::string& file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw SkipError(file + " has no " + name + ": put the library of CUDA " +
                    std::to_string(CUBLAS_VER_MAJOR) + " first in LD_LIBRARY_PATH");
  }
}

}  // namespace

CublasApi load_cublas(const std::string& library) {
  void* const found = open(library);
  if (found == nullptr) {
    throw SkipError("training on a GPU needs " + library +
                    ": install cuBLAS of the CUDA Toolkit, or name its folder in LD_LIBRARY_PATH");
  }
  CublasApi api;
  find(found, library, GRAINSCOPE_NAME_OF(cublasCreate), api.create);
  find(found, library, GRAINSCOPE_NAME_OF(cublasDestroy), api.destroy);
  find(found, library, GRAINSCOPE_NAME_OF(cublasSetMathMode), api.set_math_mode);
  find(found, library, GRAINSCOPE_NAME_OF(cublasSetStream), api.set_stream);
  find(found, library, GRAINSCOPE_NAME_OF(cublasSetWorkspace), api.set_workspace);
  find(found, library, GRAINSCOPE_NAME_OF(cublasSgemm), api.sgemm);
  find(found, library, GRAINSCOPE_NAME_OF(cublasSgemv), api.sgemv);
  find(found, library, GRAINSCOPE_NAME_OF(cublasGetStatusName), api.status_name);
  find(found, library, GRAINSCOPE_NAME_OF(cublasGetStatusString), api.status_string);
  return api;
}

const CublasApi& cublas_api() {
  static const CublasApi api = load_cublas("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR));
  return api;
}

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

#else

namespace grainscope::gnn {
namespace {

[[noreturn]] void refuse() {
  throw SkipError(
      "built without cuBLAS: install it beside the CUDA Toolkit (NVIDIA's packages call it "
      "libcublas-dev-<version>) and configure again");
}

}  // namespace

Blas::Blas(int gpu) : workspace_(gpu, 1) {
  refuse();
}

void Blas::Destroy::operator()(cublasContext* /*handle*/) const noexcept {}

void Blas::use(cudaStream_t /*stream*/) {
  refuse();
}

void Blas::multiply(const float* /*a*/, const float* /*b*/, std::uint64_t /*rows*/, std::uint64_t /*inner*/,
                    std::uint64_t /*columns*/, float* /*c*/) {
  refuse();
}

void Blas::multiply_turned_left(const float* /*a*/, const float* /*d*/, std::uint64_t /*rows*/,
                                std::uint64_t /*inner*/, std::uint64_t /*columns*/, float* /*c*/) {
  refuse();
}

void Blas::multiply_turned_right(const float* /*d*/, const float* /*b*/, std::uint64_t /*rows*/,
                                 std::uint64_t /*inner*/, std::uint64_t /*columns*/, float* /*c*/) {
  refuse();
}

void Blas::sum_columns(const float* /*d*/, const float* /*ones*/, std::uint64_t /*rows*/,
                       std::uint64_t /*columns*/, float* /*sums*/) {
  refuse();
}

}  // namespace grainscope::gnn

#endif
