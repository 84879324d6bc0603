// SPDX-License-Identifier: Apache-2.0
#include "bench/hogs.h"

#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "integration_tests/procs/programs.h"

namespace copse::bench {
namespace {

// A signal is sent at once and obeyed when the process, which may run on another core, next looks: its stop is awaited,
// so that nothing computes beside an idle cell. Its end is left to be waited for.
void Stop(procs::ChildProcess* process) {
  process->Signal(SIGSTOP);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(process->pid()), &info, WSTOPPED | WEXITED | WNOWAIT);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Hogs>> Hogs::Start(uint32_t count) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/hog"));
  auto hogs = std::make_unique<Hogs>();
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto process, procs::ChildProcess::Start({.arguments = {program}}));
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
