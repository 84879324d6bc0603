// SPDX-License-Identifier: Apache-2.0
#include "bench/hogs.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

// A signal is sent at once and obeyed when the process, which may run on another core, next looks: its stop is awaited,
// so that nothing computes beside an idle cell. Its end is left to be waited for.
void Stop(procs::ChildProcess* process) {
  process->Signal(SIGSTOP);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(process->pid()), &info, WSTOPPED | WEXITED | WNOWAIT);
}

// Where they went by themselves, two would share a processor in some runs and leave the other to what is measured.
absl::Status Pin(pid_t pid, uint32_t index) {
  const long processors = std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L);
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(index % static_cast<uint32_t>(processors), &mine);
  return sched_setaffinity(pid, sizeof(mine), &mine) == 0 ? absl::OkStatus()
                                                          : absl::ErrnoToStatus(errno, "hog: sched_setaffinity");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Hogs>> Hogs::Start(uint32_t count) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/hog"));
  auto hogs = std::make_unique<Hogs>();
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto process, procs::ChildProcess::Start({.arguments = {program}}));
    RETURN_IF_ERROR(Pin(process->pid(), i));
    Stop(process.get());
    hogs->processes_.push_back(std::move(process));
  }
  return hogs;
}

void Hogs::Pause() {
  for (const auto& process : processes_) Stop(process.get());
}
void Hogs::Resume() {
  for (const auto& process : processes_) process->Signal(SIGCONT);
}

}  // namespace copse::bench
