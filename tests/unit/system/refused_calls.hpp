#ifndef GRAINSCOPE_TESTS_REFUSED_CALLS_HPP
#define GRAINSCOPE_TESTS_REFUSED_CALLS_HPP

// A kernel that refuses memory policies, as a container's filter does: the body runs in a child process
// with a seccomp filter.

#include <functional>
#include <string>

namespace grainscope::test {

// Runs `body` in a child in which get_mempolicy, set_mempolicy, mbind and move_pages fail with `error`.
// What the body returns is an empty string when all was well, else what was wrong; so does this.
// `skipped` as the answer means that no filter can be set here.
[[nodiscard]] std::string with_memory_policy_refused(int error, const std::function<std::string()>& body);

}  // namespace grainscope::test

#endif
