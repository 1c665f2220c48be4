#include "refused_calls.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <exception>
#include <vector>

namespace grainscope::test {

namespace {

bool refuse_memory_policy(int error) {
  const std::vector<long> refused = {SYS_get_mempolicy, SYS_set_mempolicy, SYS_mbind, SYS_move_pages};
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : refused) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::string answer_where_refused(int error, const std::function<std::string()>& body) {
  if (!refuse_memory_policy(error)) {
    return "skipped";
  }
  try {
    return body();
  } catch (const std::exception& thrown) {
    return std::string("threw: ") + thrown.what();
  }
}

}  // namespace

std::string with_memory_policy_refused(int error, const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) {
    return "no pipe";
  }
  const pid_t child = fork();
  if (child == 0) {
    const std::string answer = answer_where_refused(error, body);
    const bool told = write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  char chunk[512];
  ssize_t got = 0;
  while ((got = read(ends[0], chunk, sizeof chunk)) > 0) {
    answer.append(chunk, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? answer : "the child died";
}

}  // namespace grainscope::test
