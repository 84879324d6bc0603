// SPDX-License-Identifier: Apache-2.0
//
// What the wrappers of libc's functions share: the functions that they go on to, and the back end's hooks. Wrappers
// have nothing to unwind: many are cancellation points. Where nothing is pending they call only functions that signal
// handlers may call.
#ifndef COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_
#define COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_

#include <stddef.h>

#include <atomic>

#include "client/preload/libc_calls.h"
#include "client/preload/memory_hooks.h"
#include "client/tnbc/pages/memory_end.h"

// libc_trampolines.S: where each function of the list leads.
extern "C" __attribute__((visibility("hidden"))) void* copse_libc_slots[];

namespace copse::preload {

// The functions, by number and by libc's own names.
enum class LibcCall : int {
#define COPSE_PRELOAD_NUMBER(name, ...) name,
  COPSE_LIBC_CALLS(COPSE_PRELOAD_NUMBER)
#undef COPSE_PRELOAD_NUMBER
};
#define COPSE_PRELOAD_COUNT(name, ...) +1
inline constexpr int kLibcCallCount = COPSE_LIBC_CALLS(COPSE_PRELOAD_COUNT);
// The functions before these have wrappers.
inline constexpr int kWrapperCount = kLibcCallCount - (COPSE_LIBC_PROCESS_CALLS(COPSE_PRELOAD_COUNT));
#undef COPSE_PRELOAD_COUNT

// The function that the program would call but for us; one that does not exist fails with ENOSYS. Thread-safe.
void* NextLibcCall(LibcCall call);
template <typename Function>
Function* Next(LibcCall call) {
  return reinterpret_cast<Function*>(NextLibcCall(call));
}
// Likewise by name; null if the name is not in the list.
void* NextLibcCallNamed(const char* name);
// Finds all of them at once, so that none is left to a signal handler.
void FindNextLibcCalls();

// Null until hooks are set; wrappers do nothing before.
extern std::atomic<const MemoryHooks*> the_memory_hooks;
// Acquire: pairs with the release in copse_preload_set_memory_hooks, so what the hooks refer to is seen with them.
inline const MemoryHooks* TheMemoryHooks() { return the_memory_hooks.load(std::memory_order_acquire); }

inline bool IsAnythingPending() {
  const MemoryHooks* hooks = TheMemoryHooks();
  return hooks != nullptr && hooks->pending->load(std::memory_order_relaxed) != 0;
}

inline bool IsAnythingAdopted() {
  const MemoryHooks* hooks = TheMemoryHooks();
  return hooks != nullptr && hooks->adopted != nullptr && hooks->adopted->load(std::memory_order_relaxed) != 0;
}

// The hooks of these names, while something is pending, or adopted. They keep errno.
void Await(const volatile void* address, size_t bytes);
void AwaitAll();
void Release(const volatile void* address, size_t bytes, tnbc::MemoryEnd end);

// The hook of this name, if there is one.
void BeforeThread();

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_
