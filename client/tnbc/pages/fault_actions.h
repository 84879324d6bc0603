// SPDX-License-Identifier: Apache-2.0
//
// The program's actions for SIGSEGV and SIGBUS, behind a handler of ours.
#ifndef COPSE_CLIENT_TNBC_PAGES_FAULT_ACTIONS_H_
#define COPSE_CLIENT_TNBC_PAGES_FAULT_ACTIONS_H_

#include <signal.h>

#include "client/tnbc/pages/kept_action.h"

namespace copse::tnbc {

// Thread-safe; async-signal-safe but for Install and Replace.
class FaultActions {
 public:
  using Handler = void (*)(int signal, siginfo_t* info, void* context);
  using Sigaction = int (*)(int signal, const struct sigaction* next, struct sigaction* previous);

  FaultActions() = default;
  FaultActions(const FaultActions&) = delete;
  FaultActions& operator=(const FaultActions&) = delete;

  // Puts `handler` before the program's action.
  void Install(Handler handler);
  // Sets the function that goes to the kernel, where sigaction itself leads to Replace.
  void SetSigaction(Sigaction kernels) { sigaction_ = kernels; }
  // Takes the place of sigaction for these signals; the program's action is for faults of its own.
  int Replace(int signal, const struct sigaction* next, struct sigaction* previous);
  // Handles a fault of the program's own: calls its handler, or does what the kernel would have done without ours.
  void Chain(int signal, siginfo_t* info, void* context);

 private:
  KeptAction& ActionOf(int signal) { return of_program_[signal == SIGSEGV ? 0 : 1]; }

  KeptAction of_program_[2] = {nullptr, nullptr};
  Sigaction sigaction_ = &::sigaction;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_FAULT_ACTIONS_H_
