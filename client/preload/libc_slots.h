// SPDX-License-Identifier: Apache-2.0
//
// Sets the back end's hooks. Until then the slots of libc's functions lead to the functions that the program would call
// without the preload; from then on, to wrappers.
#ifndef COPSE_CLIENT_PRELOAD_LIBC_SLOTS_H_
#define COPSE_CLIENT_PRELOAD_LIBC_SLOTS_H_

#include "client/preload/memory_hooks.h"

namespace copse::preload {

// Implements SetMemoryHooks (memory_hooks.h), for back ends; exported for tests.
extern "C" __attribute__((visibility("default"))) FindLibcCall copse_preload_set_memory_hooks(const MemoryHooks* hooks);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_LIBC_SLOTS_H_
