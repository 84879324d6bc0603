// SPDX-License-Identifier: Apache-2.0
#include "base/process/signals.h"

namespace copse {

sigset_t SignalSet(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

void BlockSignals(const sigset_t& signals) {
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

}  // namespace copse
