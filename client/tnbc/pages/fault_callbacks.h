// SPDX-License-Identifier: Apache-2.0
//
// Calls functions of the guard's user from fault handlers.
#ifndef COPSE_CLIENT_TNBC_PAGES_FAULT_CALLBACKS_H_
#define COPSE_CLIENT_TNBC_PAGES_FAULT_CALLBACKS_H_

#include <cstdint>

#include "client/tnbc/pages/turn_stack.h"

namespace copse::tnbc {

// FaultCallbacks calls the functions on a stack of their own, in one thread at a time, since a handler may have little
// room. Thread-safe; async-signal-safe except Start, as far as the functions are.
class FaultCallbacks {
 public:
  // A thread that has accessed lost data, which never arrives, calls it. It does not return.
  using OnLost = void (*)(uintptr_t address);
  // A thread that waits calls it repeatedly, to make MPI progress, since other ranks may need operations that this
  // process has started.
  using OnWait = void (*)();
  struct Functions {
    OnLost on_lost = nullptr;
    OnWait on_wait = nullptr;
  };

  // Returns false if the system has no memory for the stack.
  bool Start(const Functions& functions) {
    functions_ = functions;
    return stack_.Map();
  }
  // Calls on_lost: on the caller's stack if another thread uses the callbacks' stack.
  void TellLost(uintptr_t address) {
    const auto tell = [this, address] { functions_.on_lost(address); };
    if (!stack_.Run(tell)) tell();
  }
  // Calls on_wait. Does nothing if another thread uses the callbacks' stack.
  void GiveTurn() { stack_.Run(functions_.on_wait); }

 private:
  Functions functions_;
  TurnStack stack_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_FAULT_CALLBACKS_H_
