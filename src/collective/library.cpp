// How NCCL is found and what is asked of it. Its log, at level INFO, goes to a file of ours that is gone when
// the program is: it alone tells by which ways ranks were joined. Where the user has set NCCL_DEBUG or
// NCCL_DEBUG_FILE, both stay as they are.

#include "grainscope/collective/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "grainscope/core/error.hpp"
#include "grainscope/system/child_process.hpp"
#include "nccl_api.hpp"

namespace grainscope::collective {
namespace nccl {

std::string version_text(int code) {
  const int major = code >= 10000 ? code / 10000 : code / 1000;
  const int rest = code >= 10000 ? code % 10000 : code % 1000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." + std::to_string(rest % 100);
}

}  // namespace nccl

namespace {

constexpr const char* kName = "libnccl.so.2";
constexpr const char* kRemedy =
    ": install NCCL 2.7 or newer (libnccl2, or the Python package nvidia-nccl-cu13), or name its file in "
    "GRAINSCOPE_NCCL";

// libnccl.so.2 of Python packages below a folder: lib/python3.12/site-packages/nvidia/nccl/lib.
void add_python(const std::filesystem::path& prefix, std::vector<std::string>& files) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(prefix / "lib", error)) {
    if (!each.path().filename().string().starts_with("python3")) {
      continue;
    }
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const auto file = each.path() / packages / "nvidia" / "nccl" / "lib" / kName;
      if (std::filesystem::exists(file, error)) {
        found.push_back(file.string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
}

// A file of this process's own for NCCL's log; empty where the user has it.
class Log {
 public:
  Log() {
    if (std::getenv("NCCL_DEBUG") != nullptr || std::getenv("NCCL_DEBUG_FILE") != nullptr) {
      return;
    }
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    if (error) {
      return;
    }
    std::string pattern = (folder / "grainscope-nccl-XXXXXX").string();
    const int file = mkstemp(pattern.data());
    if (file < 0) {
      return;
    }
    close(file);
    path_ = pattern;
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", path_.c_str(), 1);
  }
  ~Log() { remove(); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void remove() const noexcept {
    if (!path_.empty()) {
      unlink(path_.c_str());
    }
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_);
    return path_.empty() ? "" : std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  std::string path_;
};

const Log& log_of_this_process() {
  static const Log log;
  return log;
}

struct Opened {
  void* library = nullptr;
  std::string file;
};

Opened open(const std::vector<std::string>& files) {
  std::string why;
  for (const std::string& file : files) {
    if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return {library, file};
    }
    const char* const error = dlerror();
    if (why.empty() && error != nullptr) {
      why = error;
    }
  }
  throw SkipError("there is no NCCL (" + (why.empty() ? std::string(kName) : why) + ")" + kRemedy);
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

template <class Function>
void find_vital(const Opened& opened, const char* name, Function& function) {
  find(opened.library, name, function);
  if (function == nullptr) {
    throw SkipError(opened.file + " has no " + name + kRemedy);
  }
}

nccl::Api load(const Opened& opened) {
  nccl::Api api;
  find_vital(opened, "ncclGetVersion", api.get_version);
  find_vital(opened, "ncclGetUniqueId", api.get_unique_id);
  find_vital(opened, "ncclGetErrorString", api.error_string);
  find_vital(opened, "ncclCommInitRank", api.comm_init_rank);
  find_vital(opened, "ncclCommInitAll", api.comm_init_all);
  find_vital(opened, "ncclCommDestroy", api.comm_destroy);
  find_vital(opened, "ncclCommAbort", api.comm_abort);
  find_vital(opened, "ncclCommGetAsyncError", api.comm_async_error);
  find_vital(opened, "ncclAllReduce", api.all_reduce);
  find_vital(opened, "ncclAllGather", api.all_gather);
  find_vital(opened, "ncclReduceScatter", api.reduce_scatter);
  find_vital(opened, "ncclBroadcast", api.broadcast);
  find_vital(opened, "ncclSend", api.send);
  find_vital(opened, "ncclRecv", api.receive);
  find_vital(opened, "ncclGroupStart", api.group_start);
  find_vital(opened, "ncclGroupEnd", api.group_end);
  find(opened.library, "ncclGetLastError", api.last_error);
  find(opened.library, "ncclCommRegister", api.comm_register);
  find(opened.library, "ncclCommDeregister", api.comm_deregister);
  find(opened.library, "ncclMemAlloc", api.mem_alloc);
  find(opened.library, "ncclMemFree", api.mem_free);
  find(opened.library, "ncclAlltoAll", api.all_to_all);
  return api;
}

// Where the loader found it.
std::string path_of(const nccl::Api& api, const std::string& file) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(api.get_version), &info) == 0 || info.dli_fname == nullptr) {
    return file;
  }
  std::error_code error;
  const auto whole = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : whole.string();
}

}  // namespace

Library::Library(const std::vector<std::string>& files) {
  static_cast<void>(log_of_this_process());  // before NCCL reads the environment
  const Opened opened = open(files);
  api_ = std::make_unique<nccl::Api>(load(opened));
  path_ = path_of(*api_, opened.file);
  check(api_->get_version(&version_), "ask NCCL for its version");
}

Library::~Library() = default;

const Library& Library::get() {
  static const Library library(library_files([](const char* name) { return std::getenv(name); }));
  return library;
}

std::string Library::version() const {
  return nccl::version_text(version_);
}

void Library::require_registration() const {
  if (api_->comm_register == nullptr || api_->comm_deregister == nullptr || api_->mem_alloc == nullptr ||
      api_->mem_free == nullptr) {
    throw SkipError("NCCL " + version() + " (" + path_ +
                    ") registers no buffers: that needs 2.19 or newer; name one in " + kLibraryVariable);
  }
}

void Library::check(int result, const std::string& tried) const {
  if (result == nccl::kSuccess) {
    return;
  }
  std::string why = api_->error_string(result);
  if (api_->last_error != nullptr) {
    const char* const last = api_->last_error(nullptr);
    const std::string_view text = last != nullptr ? last : "";
    if (!text.empty() && text != why) {
      why.append("; ").append(text.substr(0, text.find_last_not_of(" \n") + 1));
    }
  }
  throw FailedError("could not " + tried + " by NCCL " + version() + ": " + why);
}

std::vector<std::string> library_files(const ReadVariable& variable) {
  const auto value = [&](const char* name) {
    const char* const text = variable(name);
    return std::string(text != nullptr ? text : "");
  };
  if (const std::string file = value(kLibraryVariable); !file.empty()) {
    return {file};
  }
  std::vector<std::string> files{kName};
#ifdef GRAINSCOPE_TOOLKIT_LIBRARIES
  files.push_back(GRAINSCOPE_TOOLKIT_LIBRARIES "/libnccl.so.2");
#endif
  for (const char* prefix : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string folder = value(prefix); !folder.empty()) {
      add_python(folder, files);
    }
  }
  if (const std::string python = find_program("python3"); !python.empty()) {
    add_python(std::filesystem::path(python).parent_path().parent_path(), files);
  }
  for (const char* prefix : {"/usr/local", "/usr"}) {
    add_python(prefix, files);
  }
  std::vector<std::string> once;
  std::copy_if(files.begin(), files.end(), std::back_inserter(once), [&](const std::string& file) {
    return std::find(once.begin(), once.end(), file) == once.end();
  });
  return once;
}

std::map<std::string, std::string> steering_variables(const char* const* environment) {
  std::map<std::string, std::string> found;
  const std::string& ours = log_of_this_process().path();
  for (; *environment != nullptr; ++environment) {
    const std::string_view text(*environment);
    const auto equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (!name.starts_with("NCCL_") || equals == std::string_view::npos ||
        (!ours.empty() && (name == "NCCL_DEBUG" || name == "NCCL_DEBUG_FILE"))) {
      continue;
    }
    const std::string_view value = text.substr(equals + 1);
    const bool plain = std::all_of(value.begin(), value.end(), [](char letter) {
      return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
             std::string_view("_={},:-*.()^+ ").find(letter) != std::string_view::npos;
    });
    found.emplace(name, plain ? value : "set");
  }
  return found;
}

std::vector<std::string> connections_in(const std::string& log) {
  constexpr std::string_view kVia = " via ";
  std::set<std::string> found;
  for (std::size_t at = log.find(kVia); at != std::string::npos; at = log.find(kVia, at)) {
    at += kVia.size();
    const std::string way = log.substr(at, log.find_first_of(" \n", at) - at);
    if (way.starts_with("NET/")) {
      // NET/IB/0/GDRDMA/Shared: which adapter it is differs from rank to rank.
      const std::string net = way.substr(0, way.find('/', 4));
      found.insert(net + (way.find("/GDRDMA") != std::string::npos ? "/GDRDMA" : ""));
    } else if (way.starts_with("P2P/") || way.starts_with("SHM/")) {
      found.insert(way.substr(0, way.find('/', 4)));
    }
  }
  if (log.find("Connected NVLS tree") != std::string::npos) {
    found.insert("NVLS");
  }
  return {found.begin(), found.end()};
}

void remove_log() noexcept {
  log_of_this_process().remove();
}

std::vector<std::string> connections() {
  return connections_in(log_of_this_process().text());
}

}  // namespace grainscope::collective
