// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_BASE_PROCESS_SIGNALS_H_
#define COPSE_BASE_PROCESS_SIGNALS_H_

#include <signal.h>

#include <initializer_list>

namespace copse {

// Returns the set of these signals.
sigset_t SignalSet(std::initializer_list<int> signals);

// Blocks signals that a thread of a service waits for, and ignores SIGPIPE: a service outlives the readers of its
// pipes. Must be called before any other thread starts, which inherits this.
void BlockSignals(const sigset_t& signals);

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_SIGNALS_H_
