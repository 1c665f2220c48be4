#ifndef GRAINSCOPE_SRC_GNN_CUBLAS_API_HPP
#define GRAINSCOPE_SRC_GNN_CUBLAS_API_HPP

// cuBLAS, loaded when the first product is asked for: it is large, most runs ask for none, and a machine
// without it can do all the rest.

#include <cublas_v2.h>

#include <string>

namespace grainscope::gnn {

struct CublasApi {
  decltype(&cublasCreate) create = nullptr;
  decltype(&cublasDestroy) destroy = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  decltype(&cublasSetStream) set_stream = nullptr;
  decltype(&cublasSetWorkspace) set_workspace = nullptr;
  decltype(&cublasSgemm) sgemm = nullptr;
  decltype(&cublasSgemv) sgemv = nullptr;
  decltype(&cublasGetStatusName) status_name = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;
};

// Of the library of this name, or of a file of this name in the toolkit that this was built with. Throws
// SkipError where there is neither, or where one lacks a function.
[[nodiscard]] CublasApi load_cublas(const std::string& library);

// Of the version that this was built with.
[[nodiscard]] const CublasApi& cublas_api();

}  // namespace grainscope::gnn

#endif
