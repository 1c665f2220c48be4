// What stands in for cuBLAS where the toolkit has none: a model cannot be made, so nothing else is called.

#include "blas.hpp"
#include "grainscope/core/error.hpp"

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
