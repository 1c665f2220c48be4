#ifndef GRAINSCOPE_COLLECTIVE_LIBRARY_HPP
#define GRAINSCOPE_COLLECTIVE_LIBRARY_HPP

// NCCL, loaded at run time and never linked: which file it is, of which version, and what it tells of the
// ways that it takes.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace grainscope::collective {

namespace nccl {
struct Api;
}

// A path of NCCL's library, which then is the only one that is tried.
inline constexpr const char* kLibraryVariable = "GRAINSCOPE_NCCL";

class Library {
 public:
  // The first of `files` that the loader takes, each a path or a name that the loader looks up. Throws
  // SkipError, saying what to do, where there is none, or where it is older than 2.7 and so lacks a function.
  explicit Library(const std::vector<std::string>& files);
  // Loaded once, and then kept: of GRAINSCOPE_NCCL, or by the loader's rules, or of the toolkit that this was
  // built with, or of the Python environment that is in use. Throws as above, each time.
  [[nodiscard]] static const Library& get();
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string version() const;  // "2.28.9"
  [[nodiscard]] const nccl::Api& api() const noexcept { return *api_; }
  // Throws SkipError where buffers cannot be registered: before 2.19.
  void require_registration() const;
  // Throws FailedError for any result but success. `tried` reads after "could not".
  void check(int result, const std::string& tried) const;

 private:
  std::string path_;
  int version_ = 0;
  std::unique_ptr<nccl::Api> api_;
};

// Files where NCCL may be, in the order in which they are tried. `variable`: reads the environment.
using ReadVariable = std::function<const char*(const char*)>;
[[nodiscard]] std::vector<std::string> library_files(const ReadVariable& variable);

// The variables of `environment` (NAME=value) that steer NCCL, NCCL_*, but those that are set here; of a
// value that may name a person or a folder only that it is set.
[[nodiscard]] std::map<std::string, std::string> steering_variables(const char* const* environment);

// The ways by which NCCL has joined ranks, of what it writes at NCCL_DEBUG=INFO: "P2P/CUMEM", "SHM/direct",
// "NET/Socket", "NET/IB/GDRDMA"; and "NVLS" where a switch adds up. Sorted, each once.
[[nodiscard]] std::vector<std::string> connections_in(const std::string& log);
// For a process that ends at once: the file of the log goes.
void remove_log() noexcept;
// Of all that this process has joined so far; empty where NCCL is not heard, since somebody else has its log.
[[nodiscard]] std::vector<std::string> connections();

}  // namespace grainscope::collective

#endif
