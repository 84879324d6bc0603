// SPDX-License-Identifier: Apache-2.0
//
// Provides a stack on which fault handlers call functions that need more room than they have.
#ifndef COPSE_CLIENT_TNBC_PAGES_TURN_STACK_H_
#define COPSE_CLIENT_TNBC_PAGES_TURN_STACK_H_

#include <atomic>
#include <cstdint>

namespace copse::tnbc {

// A TurnStack is a stack for MPI progress within handlers. A handler runs on the program's alternate signal stack,
// which may have 8 KiB and no guard page, or on the stack of a coroutine; MPI progress needs more. Thread-safe;
// async-signal-safe except Map.
class TurnStack {
 public:
  TurnStack() = default;
  ~TurnStack();
  TurnStack(const TurnStack&) = delete;
  TurnStack& operator=(const TurnStack&) = delete;

  // Allocates the stack. Returns false if the system has no memory.
  bool Map();
  // Calls `function` with signals held, on this stack. Returns false, without calling it, if a thread is on the stack
  // already.
  template <typename Function>
  bool Run(Function function) {
    return RunAny([](void* any) { (*static_cast<Function*>(any))(); }, &function);
  }

 private:
  bool RunAny(void (*function)(void*), void* argument);

  char* low_ = nullptr;
  char* top_ = nullptr;
  std::atomic<bool> is_used_{false};
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_TURN_STACK_H_
