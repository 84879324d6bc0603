// SPDX-License-Identifier: Apache-2.0
//
// What memory of the program's is, as far as it matters to who protects its pages.
#ifndef COPSE_CLIENT_TNBC_MEMORY_KIND_H_
#define COPSE_CLIENT_TNBC_MEMORY_KIND_H_

#include <cstdint>

#include "client/tnbc/pending_ranges.h"

namespace copse::tnbc {

// Of all of a range, the least. A private one is readable and writable memory that no other process sees, and no stack,
// whose frames may be gone before the data comes: the calling thread's is known by where it is, the process's first by
// the kernel's name. An anonymous one is, besides, of no file.
enum class MemoryKind : uint8_t { kOther, kPrivate, kPrivateAnonymous };
MemoryKind KindOf(const Range& range);

inline bool MayProtect(const Range& range) { return KindOf(range) != MemoryKind::kOther; }

// Bytes before and behind `range` on its first and last page that are glibc's alone: where it is all of an allocation
// that malloc has mapped for it. They have malloc's own two words, and nothing.
struct Spare {
  uint64_t before = 0, behind = 0;
};
Spare SpareAround(const Range& range);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_MEMORY_KIND_H_
