// SPDX-License-Identifier: Apache-2.0
#include "bench/hogs.h"

#include <signal.h>

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "integration_tests/procs/programs.h"

namespace copse::bench {

absl::StatusOr<std::unique_ptr<Hogs>> Hogs::Start(uint32_t count) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/hog"));
  auto hogs = std::make_unique<Hogs>();
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto process, procs::ChildProcess::Start({.arguments = {program}}));
    process->Signal(SIGSTOP);
    hogs->processes_.push_back(std::move(process));
  }
  return hogs;
}

void Hogs::Pause() {
  for (const auto& process : processes_) process->Signal(SIGSTOP);
}
void Hogs::Resume() {
  for (const auto& process : processes_) process->Signal(SIGCONT);
}

}  // namespace copse::bench
