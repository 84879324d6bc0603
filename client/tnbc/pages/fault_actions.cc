// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/fault_actions.h"

namespace copse::tnbc {

// SA_NODEFER leaves the signals unblocked in the handler, since the program's handler, which it calls, may fault again
// or jump out of it.
void FaultActions::Install(Handler handler) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS}) {
    auto* before = new struct sigaction;
    sigaction(signal, &action, before);
    ActionOf(signal).store(before, std::memory_order_release);  // pairs with the load in Chain
  }
}

// Calls the program's handler as the kernel would. If there is none, restores the default action, so that the access is
// repeated and ends the process.
void FaultActions::Chain(int signal, siginfo_t* info, void* context) {
  KeptAction& mine = ActionOf(signal);
  const struct sigaction action = *mine.load(std::memory_order_acquire);  // pairs with Install and Replace
  // A fault cannot be ignored; a signal that a process has sent can be.
  const bool is_sent = info->si_code <= 0;
  if (action.sa_handler == SIG_IGN && is_sent) return;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    struct sigaction none = {};
    none.sa_handler = SIG_DFL;
    sigaction_(signal, &none, nullptr);
    if (is_sent) raise(signal);
    return;
  }
  if ((action.sa_flags & SA_RESETHAND) != 0) {
    static const struct sigaction kNone {};
    mine.store(&kNone, std::memory_order_release);  // pairs with the load above
  }
  // SIGSEGV and SIGBUS stay unblocked: the program's handler may access pending memory.
  sigset_t mask = action.sa_mask, before;
  sigdelset(&mask, SIGSEGV);
  sigdelset(&mask, SIGBUS);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int FaultActions::Replace(int signal, const struct sigaction* next, struct sigaction* previous) {
  return ReplaceAction(&ActionOf(signal), next, previous);
}

}  // namespace copse::tnbc
