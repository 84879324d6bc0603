// SPDX-License-Identifier: Apache-2.0
//
// Functions of the guard's user that threads call while they are in a fault handler.
#ifndef COPSE_CLIENT_TNBC_PAGES_FAULT_CALLBACKS_H_
#define COPSE_CLIENT_TNBC_PAGES_FAULT_CALLBACKS_H_

#include <cstdint>

#include "client/tnbc/pages/turn_stack.h"

namespace copse::tnbc {

// The functions are called on a stack of their own, one at a time, since their caller may have little room.
// Thread-safe; async-signal-safe but for Start, as far as the functions are.
class FaultCallbacks {
 public:
  // Called by a thread that has accessed data that never comes. Does not return.
  using OnLost = void (*)(uintptr_t address);
  // Called now and then by a thread that waits, since other ranks may need what it has under way.
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
  void TellLost(uintptr_t address) {
    const auto tell = [this, address] { functions_.on_lost(address); };
    if (!stack_.Run(tell)) tell();
  }
  // If another thread is giving a turn already, this does nothing.
  void GiveTurn() { stack_.Run(functions_.on_wait); }

 private:
  Functions functions_;
  TurnStack stack_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_FAULT_CALLBACKS_H_
