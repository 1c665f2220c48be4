#ifndef GRAINSCOPE_SRC_GNN_BLAS_HPP
#define GRAINSCOPE_SRC_GNN_BLAS_HPP

// Products of float32 matrices that lie row by row, by cuBLAS: no TF32, no atomic sums, memory of its own, so
// that results do not depend on what runs beside.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "grainscope/cuda/memory.hpp"

struct cublasContext;

namespace grainscope::gnn {

class Blas {
 public:
  // On `gpu`, which is current. Throws FailedError where cuBLAS does not start, SkipError where there is none
  // or in a build without.
  explicit Blas(int gpu);

  void use(cudaStream_t stream);
  // c[rows][columns] = a[rows][inner] · b[inner][columns].
  void multiply(const float* a, const float* b, std::uint64_t rows, std::uint64_t inner,
                std::uint64_t columns, float* c);
  // c[inner][columns] = a[rows][inner]ᵀ · d[rows][columns].
  void multiply_turned_left(const float* a, const float* d, std::uint64_t rows, std::uint64_t inner,
                            std::uint64_t columns, float* c);
  // c[rows][inner] = d[rows][columns] · b[inner][columns]ᵀ.
  void multiply_turned_right(const float* d, const float* b, std::uint64_t rows, std::uint64_t inner,
                             std::uint64_t columns, float* c);
  // sums[columns] = the columns' sums of d[rows][columns]; `ones`: that many rows of 1.
  void sum_columns(const float* d, const float* ones, std::uint64_t rows, std::uint64_t columns, float* sums);

  [[nodiscard]] std::uint64_t gpu_bytes() const { return workspace_.bytes(); }

 private:
  struct Destroy {
    void operator()(cublasContext* handle) const noexcept;
  };
  cuda::DeviceBuffer workspace_;
  std::unique_ptr<cublasContext, Destroy> handle_;
};

}  // namespace grainscope::gnn

#endif
