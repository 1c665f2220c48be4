#ifndef GRAINSCOPE_SRC_GNN_HOST_MATRIX_HPP
#define GRAINSCOPE_SRC_GNN_HOST_MATRIX_HPP

// Products of matrices in plain loops, row by row, by all threads. Every sum has one order, whatever the
// number of threads.

#include <algorithm>
#include <cstdint>

namespace grainscope::gnn {

inline constexpr std::uint64_t kWorthThreads = 1 << 15;  // multiplications, below which none are woken
inline constexpr std::uint64_t kRowsTogether = 4;        // that share each load of the right matrix

// c[rows][columns] = a[rows][inner] · b[inner][columns].
template <class Real>
void multiply(const Real* a, const Real* b, std::uint64_t rows, std::uint64_t inner, std::uint64_t columns,
              Real* c) {
  const std::uint64_t groups = (rows + kRowsTogether - 1) / kRowsTogether;
#pragma omp parallel for schedule(static) if (rows * inner * columns > kWorthThreads)
  for (std::uint64_t group = 0; group < groups; ++group) {
    const std::uint64_t first = group * kRowsTogether;
    const std::uint64_t last = std::min(rows, first + kRowsTogether);
    std::fill(c + first * columns, c + last * columns, Real{0});
    for (std::uint64_t k = 0; k < inner; ++k) {
      for (std::uint64_t i = first; i < last; ++i) {
        const Real factor = a[i * inner + k];
        for (std::uint64_t j = 0; j < columns; ++j) {
          c[i * columns + j] += factor * b[k * columns + j];
        }
      }
    }
  }
}

// c[inner][columns] += a[rows][inner]ᵀ · d[rows][columns]; each thread owns rows of c.
template <class Real>
void add_transposed_product(const Real* a, const Real* d, std::uint64_t rows, std::uint64_t inner,
                            std::uint64_t columns, Real* c) {
  constexpr std::uint64_t kBlock = 16;  // rows of c that stay in the first-level cache
#pragma omp parallel for schedule(static) if (rows * inner * columns > kWorthThreads)
  for (std::uint64_t block = 0; block < (inner + kBlock - 1) / kBlock; ++block) {
    const std::uint64_t first = block * kBlock;
    const std::uint64_t last = std::min(inner, first + kBlock);
    for (std::uint64_t i = 0; i < rows; ++i) {
      for (std::uint64_t k = first; k < last; ++k) {
        const Real factor = a[i * inner + k];
        for (std::uint64_t j = 0; j < columns; ++j) {
          c[k * columns + j] += factor * d[i * columns + j];
        }
      }
    }
  }
}

// b[columns][rows] = a[rows][columns]ᵀ.
template <class Real>
void transpose(const Real* a, std::uint64_t rows, std::uint64_t columns, Real* b) {
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint64_t j = 0; j < columns; ++j) {
      b[j * rows + i] = a[i * columns + j];
    }
  }
}

}  // namespace grainscope::gnn

#endif
