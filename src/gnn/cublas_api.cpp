#include "cublas_api.hpp"

#include <dlfcn.h>

#include "grainscope/core/error.hpp"

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

}  // namespace grainscope::gnn
