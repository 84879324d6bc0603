// SPDX-License-Identifier: Apache-2.0
#include "bench/background_load.h"

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

// Stops a process and awaits that it stands: a signal is sent at once and obeyed when the process, which may run on
// another core, next looks, and nothing may compute beside an idle cell. The end of the process is left to be waited
// for.
void Stop(procs::ChildProcess* process) {
  process->Signal(SIGSTOP);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(process->pid()), &info, WSTOPPED | WEXITED | WNOWAIT);
}

// Keeps the process on one processor: else two would share one in some runs and leave the other to what is measured.
absl::Status Pin(pid_t pid, uint32_t index) {
  const long processors = std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L);
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(index % static_cast<uint32_t>(processors), &mine);
  return sched_setaffinity(pid, sizeof(mine), &mine) == 0 ? absl::OkStatus()
                                                          : absl::ErrnoToStatus(errno, "busy_loop: sched_setaffinity");
}

}  // namespace

absl::StatusOr<std::unique_ptr<BackgroundLoad>> BackgroundLoad::Start(uint32_t count) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/ranks/busy_loop"));
  auto load = std::make_unique<BackgroundLoad>();
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto process, procs::ChildProcess::Start({.arguments = {program}}));
    RETURN_IF_ERROR(Pin(process->pid(), i));
    Stop(process.get());
    load->processes_.push_back(std::move(process));
  }
  return load;
}

void BackgroundLoad::Pause() {
  for (const auto& process : processes_) Stop(process.get());
}
void BackgroundLoad::Resume() {
  for (const auto& process : processes_) process->Signal(SIGCONT);
}

}  // namespace copse::bench
