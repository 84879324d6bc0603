// SPDX-License-Identifier: Apache-2.0
//
// Keeps a process from making pages of other processes' shared memory. The kernel charges such a page to the process
// that makes it by its first access, and not to the file's owner.
#ifndef COPSE_BASE_PROCESS_MISSING_PAGES_H_
#define COPSE_BASE_PROCESS_MISSING_PAGES_H_

#include <cstdint>

namespace copse {

// From now on an access through this mapping of a memfd to a page that the file does not have raises SIGBUS
// (TrackedMemory replaces it), and system calls fail with EFAULT. Pages that exist, also those that were swapped out,
// are accessible as before. [base, base + bytes) must be whole pages, but for the last one, of a shared mapping.
// Returns false, and nothing changes, if the kernel or a filter of system calls does not allow it. Ends with the
// mapping. Thread-safe.
bool RefuseMissingPages(void* base, uint64_t bytes);

// Returns whether the memfd has all pages of its first `bytes`. Moves the position of the open file.
bool HasAllPages(int fd, uint64_t bytes);

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_MISSING_PAGES_H_
