// SPDX-License-Identifier: Apache-2.0
//
// What the wrappers of libc's functions share: the functions that they go on to, and the back end's hooks. They
// have nothing to unwind: many are cancellation points. Where nothing is pending they call only what signal handlers
// may.
#ifndef COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_
#define COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_

#include <stddef.h>

#include "client/preload/libc_calls.h"
#include "client/preload/memory_hooks.h"
#include "client/tnbc/pages/memory_end.h"

namespace copse::preload {

// The functions, by number and by libc's own names.
enum class LibcCall : int {
#define COPSE_PRELOAD_NUMBER(name, ...) name,
  COPSE_LIBC_CALLS(COPSE_PRELOAD_NUMBER)
#undef COPSE_PRELOAD_NUMBER
};
#define COPSE_PRELOAD_COUNT(name, ...) +1
inline constexpr int kLibcCallCount = COPSE_LIBC_CALLS(COPSE_PRELOAD_COUNT);
#undef COPSE_PRELOAD_COUNT

// What the program would call but for us; what there is not fails with ENOSYS.
void* NextLibcCall(LibcCall call);
template <typename Function>
Function* Next(LibcCall call) {
  return reinterpret_cast<Function*>(NextLibcCall(call));
}

// Null: none have been set, so wrappers do nothing.
extern std::atomic<const MemoryHooks*> the_memory_hooks;

inline bool IsAnythingPending() {
  const MemoryHooks* hooks = the_memory_hooks.load(std::memory_order_acquire);
  return hooks != nullptr && hooks->pending->load(std::memory_order_relaxed) != 0;
}

inline bool IsAnythingAdopted() {
  const MemoryHooks* hooks = the_memory_hooks.load(std::memory_order_acquire);
  return hooks != nullptr && hooks->adopted != nullptr && hooks->adopted->load(std::memory_order_relaxed) != 0;
}

// The hooks of these names, while something is pending, or adopted; errno stays.
void Await(const volatile void* address, size_t bytes);
void AwaitAll();
void Release(const volatile void* address, size_t bytes, tnbc::MemoryEnd end);

// The hook of this name, if there is one.
void BeforeThread();

// For back ends, and exported for tests.
extern "C" __attribute__((visibility("default"))) FindLibcCall copse_preload_set_memory_hooks(const MemoryHooks* hooks);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_
