// SPDX-License-Identifier: Apache-2.0
//
// Decides what the kernel writes to core dumps of this process.
#ifndef COPSE_BASE_PROCESS_CORE_DUMP_H_
#define COPSE_BASE_PROCESS_CORE_DUMP_H_

#include <cstddef>

#include "absl/status/status.h"

namespace copse {

// Keeps the process's memory out of its core dumps, which then hold registers and the list of mappings. If the kernel
// does not allow this, the process dumps no core. UNAVAILABLE if neither is possible.
absl::Status KeepMemoryOutOfCores();

// Keeps whole pages out of core dumps, whatever else these hold. `memory` is the beginning of a mapping.
// Async-signal-safe.
void KeepOutOfCores(void* memory, size_t bytes);

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_CORE_DUMP_H_
