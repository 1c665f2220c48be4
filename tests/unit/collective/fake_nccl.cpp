// A library of NCCL's name and functions that moves nothing: it tells a version, and fails one call.

#include <cstddef>

#if defined(FAKE_NCCL_2_28)
constexpr int kVersion = 22809;
#elif defined(FAKE_NCCL_2_18)
constexpr int kVersion = 21805;
#else
constexpr int kVersion = 2604;
#endif

extern "C" {

int ncclGetVersion(int* version) {
  *version = kVersion;
  return 0;
}
int ncclGetUniqueId(void*) {
  return 2;
}
const char* ncclGetErrorString(int result) {
  return result == 2 ? "unhandled system error" : "no error";
}
int ncclCommInitRank() {
  return 2;
}
int ncclCommInitAll() {
  return 2;
}
int ncclCommDestroy() {
  return 0;
}
int ncclCommAbort() {
  return 0;
}
int ncclCommGetAsyncError() {
  return 0;
}
int ncclAllReduce() {
  return 0;
}
int ncclAllGather() {
  return 0;
}
int ncclReduceScatter() {
  return 0;
}
int ncclBroadcast() {
  return 0;
}
int ncclGroupStart() {
  return 0;
}
int ncclGroupEnd() {
  return 0;
}
#if !defined(FAKE_NCCL_2_6)
int ncclSend() {
  return 0;
}
int ncclRecv() {
  return 0;
}
const char* ncclGetLastError(void*) {
  return "no socket to be had\n";
}
#endif
#if defined(FAKE_NCCL_2_28)
int ncclCommRegister() {
  return 0;
}
int ncclCommDeregister() {
  return 0;
}
int ncclMemAlloc() {
  return 0;
}
int ncclMemFree() {
  return 0;
}
int ncclAlltoAll() {
  return 0;
}
#endif
}
