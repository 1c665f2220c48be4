#ifndef GRAINSCOPE_SRC_SYSTEM_MPS_END_HPP
#define GRAINSCOPE_SRC_SYSTEM_MPS_END_HPP

// What the guard of an MPS daemon and the program that started it both know of the daemon's directory.

#include <filesystem>
#include <string>

#include "grainscope/system/child_process.hpp"

namespace grainscope {

inline constexpr const char* kMpsPipes = "pipe";
inline constexpr const char* kMpsLogs = "log";

// Where the daemon and its clients find each other.
[[nodiscard]] Variables mps_variables(const std::filesystem::path& directory);

// Asks the daemon of a directory to end and waits for that; kills it when the time is over. Does nothing
// where there is none.
void end_mps_daemon(const std::string& control, const std::filesystem::path& directory,
                    double patience_s) noexcept;

}  // namespace grainscope

#endif
