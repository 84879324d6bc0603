// SPDX-License-Identifier: Apache-2.0
//
// Keeps the program's actions for SIGSEGV and SIGBUS while the library's handler is installed.
#ifndef COPSE_CLIENT_TNBC_PAGES_FAULT_ACTIONS_H_
#define COPSE_CLIENT_TNBC_PAGES_FAULT_ACTIONS_H_

#include <signal.h>

#include "client/tnbc/pages/kept_action.h"

namespace copse::tnbc {

// FaultActions installs the library's handler, and passes faults that it does not handle to the program's action.
// Thread-safe; async-signal-safe except Install and Replace.
class FaultActions {
 public:
  using Handler = void (*)(int signal, siginfo_t* info, void* context);
  using Sigaction = int (*)(int signal, const struct sigaction* next, struct sigaction* previous);

  FaultActions() = default;
  FaultActions(const FaultActions&) = delete;
  FaultActions& operator=(const FaultActions&) = delete;

  // Installs `handler`, and keeps the present actions as the program's.
  void Install(Handler handler);
  // Sets the function that changes the kernel's action, for processes in which sigaction() itself is wrapped and leads
  // to Replace. It is called before signals come.
  void SetSigaction(Sigaction kernels) { sigaction_ = kernels; }
  // Does what sigaction() does for these signals, on the program's action in place of the kernel's.
  int Replace(int signal, const struct sigaction* next, struct sigaction* previous);
  // Handles a fault that the library's handler does not: calls the program's handler, or does what the kernel would
  // have done without the library's.
  void Chain(int signal, siginfo_t* info, void* context);

 private:
  KeptAction& ActionOf(int signal) { return of_program_[signal == SIGSEGV ? 0 : 1]; }

  KeptAction of_program_[2] = {nullptr, nullptr};
  Sigaction sigaction_ = &::sigaction;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_FAULT_ACTIONS_H_
