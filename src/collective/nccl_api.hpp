#ifndef GRAINSCOPE_SRC_COLLECTIVE_NCCL_API_HPP
#define GRAINSCOPE_SRC_COLLECTIVE_NCCL_API_HPP

// What is called of NCCL, declared here after its public reference, so that the suite builds without its
// header. Functions, numbers of types and of results have been the same since version 2.7; what came later is
// null in an older library.
// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html

#include <cstddef>
#include <string>

struct ncclComm;
struct CUstream_st;

namespace grainscope::collective::nccl {

using Comm = ncclComm*;
using Stream = CUstream_st*;
struct UniqueId {  // passed by value
  char bytes[128];
};

enum Result : int { kSuccess = 0, kInProgress = 7 };
enum DataType : int { kUint8 = 1, kUint32 = 3, kFloat32 = 7 };
inline constexpr int kSum = 0;

// As ncclGetVersion gives it.
[[nodiscard]] constexpr int version_code(int major, int minor, int patch) {
  return major <= 2 && minor <= 8 ? major * 1000 + minor * 100 + patch : major * 10000 + minor * 100 + patch;
}
[[nodiscard]] std::string version_text(int code);

struct Api {
  int (*get_version)(int* version) = nullptr;
  int (*get_unique_id)(UniqueId* id) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*comm_init_rank)(Comm* comm, int ranks, UniqueId id, int rank) = nullptr;
  int (*comm_init_all)(Comm* comms, int count, const int* gpus) = nullptr;
  int (*comm_destroy)(Comm comm) = nullptr;
  int (*comm_abort)(Comm comm) = nullptr;
  int (*comm_async_error)(Comm comm, int* result) = nullptr;
  int (*all_reduce)(const void* in, void* out, std::size_t count, int type, int how, Comm, Stream) = nullptr;
  int (*all_gather)(const void* in, void* out, std::size_t count, int type, Comm, Stream) = nullptr;
  int (*reduce_scatter)(const void* in, void* out, std::size_t count, int type, int how, Comm,
                        Stream) = nullptr;
  int (*broadcast)(const void* in, void* out, std::size_t count, int type, int root, Comm, Stream) = nullptr;
  int (*send)(const void* in, std::size_t count, int type, int peer, Comm, Stream) = nullptr;
  int (*receive)(void* out, std::size_t count, int type, int peer, Comm, Stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  // Of later versions.
  const char* (*last_error)(Comm comm) = nullptr;                                                     // 2.13
  int (*comm_register)(Comm comm, void* data, std::size_t bytes, void** handle) = nullptr;            // 2.19
  int (*comm_deregister)(Comm comm, void* handle) = nullptr;                                          // 2.19
  int (*mem_alloc)(void** data, std::size_t bytes) = nullptr;                                         // 2.19
  int (*mem_free)(void* data) = nullptr;                                                              // 2.19
  int (*all_to_all)(const void* in, void* out, std::size_t count, int type, Comm, Stream) = nullptr;  // 2.28
};

}  // namespace grainscope::collective::nccl

#endif
