// SPDX-License-Identifier: Apache-2.0
//
// The slots of libc's functions lead to the program's next ones until a back end sets its hooks, and to wrappers from
// then on.
#ifndef COPSE_CLIENT_PRELOAD_LIBC_SLOTS_H_
#define COPSE_CLIENT_PRELOAD_LIBC_SLOTS_H_

#include "client/preload/memory_hooks.h"

namespace copse::preload {

// A SetMemoryHooks, for back ends; exported for tests.
extern "C" __attribute__((visibility("default"))) FindLibcCall copse_preload_set_memory_hooks(const MemoryHooks* hooks);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_LIBC_SLOTS_H_
