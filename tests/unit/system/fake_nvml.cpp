// A stand-in for the NVIDIA management library, written from its public documentation and not from this
// suite's declarations, so that a wrong layout on either side shows. Three builds: one that answers, one
// that lacks functions as an old library does, and one that does not start (no driver).

#include <cstdint>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kOk = 0, kBadArgument = 2, kUnsupported = 3, kForbidden = 4, kTooSmall = 7;
int started = 0;
int gpus[2];  // handles are the addresses of these

int index_of(const void* device) {
  return device == &gpus[0] ? 0 : device == &gpus[1] ? 1 : -1;
}

int text(char* out, unsigned length, const char* value) {
  if (std::strlen(value) + 1 > length) {
    return kTooSmall;
  }
  std::strcpy(out, value);
  return kOk;
}

}  // namespace

EXPORTED int nvmlInit_v2() {
#ifdef FAKE_NVML_NOT_STARTED
  return 9;
#else
  ++started;
  return kOk;
#endif
}

EXPORTED const char* nvmlErrorString(int status) {
  return status == 9 ? "Driver Not Loaded" : "Some Error";
}

#ifndef FAKE_NVML_LACKS_FUNCTIONS

EXPORTED int nvmlShutdown() {
  --started;
  return kOk;
}

EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return started > 0 ? kOk : 1;
}

EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &gpus[index & 1];
  return index < 2 ? kOk : kBadArgument;
}

EXPORTED int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return text(version, length, "580.1");
}

struct ConfidentialSettings {
  unsigned version, environment, ccFeature, devToolsMode, multiGpuMode;
};
EXPORTED int nvmlSystemGetConfComputeSettings(ConfidentialSettings* settings) {
  if (settings->version != 0x1000014) {
    return kBadArgument;
  }
  settings->ccFeature = 0;
  settings->multiGpuMode = 1;  // protected PCIe
  return kOk;
}

// GPU 0 tells everything; GPU 1 supports nothing.
EXPORTED int nvmlDeviceGetName(void* device, char* out, unsigned length) {
  return index_of(device) == 0 ? text(out, length, "Fake H100") : kUnsupported;
}
EXPORTED int nvmlDeviceGetUUID(void* device, char* out, unsigned length) {
  return text(out, length, index_of(device) == 0 ? "GPU-zero" : "GPU-one");
}
EXPORTED int nvmlDeviceGetVbiosVersion(void* device, char* out, unsigned length) {
  return index_of(device) == 0 ? text(out, length, "96.00.74.00.01") : kUnsupported;
}

struct Pci {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
EXPORTED int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  std::memset(pci, 'x', sizeof *pci);
  std::strcpy(pci->busId, "00000000:3B:00.0");
  return index_of(device) == 0 ? kOk : kForbidden;
}

#define UNSIGNED_OF_GPU_0(function, value)             \
  EXPORTED int function(void* device, unsigned* out) { \
    *out = value;                                      \
    return index_of(device) == 0 ? kOk : kUnsupported; \
  }
UNSIGNED_OF_GPU_0(nvmlDeviceGetCurrPcieLinkGeneration, 1)
UNSIGNED_OF_GPU_0(nvmlDeviceGetCurrPcieLinkWidth, 8)
UNSIGNED_OF_GPU_0(nvmlDeviceGetMaxPcieLinkGeneration, 4)
UNSIGNED_OF_GPU_0(nvmlDeviceGetMaxPcieLinkWidth, 16)
UNSIGNED_OF_GPU_0(nvmlDeviceGetGpuMaxPcieLinkGeneration, 5)
UNSIGNED_OF_GPU_0(nvmlDeviceGetPcieReplayCounter, 3)
UNSIGNED_OF_GPU_0(nvmlDeviceGetPersistenceMode, 0)
UNSIGNED_OF_GPU_0(nvmlDeviceGetComputeMode, 3)
UNSIGNED_OF_GPU_0(nvmlDeviceGetPowerManagementLimit, 700000)

EXPORTED int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = static_cast<unsigned>(1000 + type);
  return index_of(device) == 0 ? kOk : kUnsupported;
}
EXPORTED int nvmlDeviceGetMaxClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = static_cast<unsigned>(2000 + type);
  return index_of(device) == 0 ? kOk : kUnsupported;
}
EXPORTED int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  *celsius = 40;
  return index_of(device) == 0 && sensor == 0 ? kOk : kUnsupported;
}
// Only the old name, as a library before the renaming has it.
EXPORTED int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = 0x1 | 0x40 | 0x1000;
  return index_of(device) == 0 ? kOk : kUnsupported;
}
EXPORTED int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = 123456789012ULL;
  return index_of(device) == 0 ? kOk : kUnsupported;
}
EXPORTED int nvmlDeviceGetTotalEccErrors(void* device, int kind, int counter, unsigned long long* count) {
  *count = kind == 1 && counter == 0 ? 7 : 99;  // not corrected, volatile
  return index_of(device) == 0 ? kOk : kUnsupported;
}
EXPORTED int nvmlDeviceGetEccMode(void* device, unsigned* current, unsigned* pending) {
  *current = 1;
  *pending = 0;
  return index_of(device) == 0 ? kOk : kUnsupported;
}
EXPORTED int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = 0;
  *pending = 1;
  return index_of(device) == 0 ? kOk : kUnsupported;
}

struct Addressing {
  unsigned version, value;
};
EXPORTED int nvmlDeviceGetAddressingMode(void* device, Addressing* mode) {
  if (mode->version != 0x1000008) {
    return kBadArgument;
  }
  mode->value = 1;
  return index_of(device) == 0 ? kOk : kUnsupported;
}

EXPORTED int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  total_free_used[0] = 80ULL << 30;
  total_free_used[1] = 70ULL << 30;
  total_free_used[2] = 10ULL << 30;
  return index_of(device) == 0 ? kOk : kUnsupported;
}
EXPORTED int nvmlDeviceGetBAR1MemoryInfo(void* device, unsigned long long* total_free_used) {
  total_free_used[0] = 128ULL << 30;
  return index_of(device) == 0 ? kOk : kUnsupported;
}

struct Process {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};
// One hundred processes: more than a first guess holds. The second hides its memory.
EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  if (index_of(device) != 0) {
    return kForbidden;
  }
  const unsigned room = *count;
  *count = 100;
  if (room < 100) {
    return kTooSmall;
  }
  for (unsigned i = 0; i < 100; ++i) {
    processes[i] = {4000000 + i, i == 1 ? ~0ULL : 1000ULL * i, ~0U, ~0U};
  }
  return kOk;
}
EXPORTED int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  processes[0] = {4000000, 5, ~0U, ~0U};  // one that computes as well
  *count = 1;
  return kForbidden;
}

EXPORTED int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  *active = link == 0 ? 1 : 0;
  return index_of(device) != 0 ? kUnsupported : link < 2 ? kOk : kBadArgument;
}
EXPORTED int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  *version = 6;
  return kOk;
}
EXPORTED int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = 2;
  return kOk;
}

struct Field {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;
  int valueType, nvmlReturn;
  union {
    double dVal;
    unsigned uiVal;
    unsigned long long ullVal;
  } value;
};
EXPORTED int nvmlDeviceGetFieldValues(void* device, int count, Field* fields) {
  for (int i = 0; i < count; ++i) {
    const bool speed = fields[i].fieldId == 164 && fields[i].scopeId == 0;
    fields[i].value.ullVal = ~0ULL;  // whoever reads the wrong member sees it
    fields[i].value.uiVal = 26562;
    fields[i].valueType = 1;
    fields[i].nvmlReturn = speed ? kOk : kUnsupported;
  }
  return index_of(device) == 0 ? kOk : kUnsupported;
}

EXPORTED int nvmlDeviceGetCpuAffinity(void* device, unsigned words, unsigned long* set) {
  set[0] = 0xf0;
  return index_of(device) == 0 && words > 0 ? kOk : kUnsupported;
}

#endif
