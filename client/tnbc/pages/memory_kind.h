// SPDX-License-Identifier: Apache-2.0
//
// The kinds of the program's memory, as far as they matter for protecting its pages.
#ifndef COPSE_CLIENT_TNBC_PAGES_MEMORY_KIND_H_
#define COPSE_CLIENT_TNBC_PAGES_MEMORY_KIND_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "client/tnbc/pages/pending_ranges.h"

namespace copse::tnbc {

// A range has the least kind of all its parts. Private memory is readable, writable and not executable, no other
// process sees it, and it is no stack, whose frames may be gone before the data comes: the calling thread's is known by
// where it is, the process's first by the kernel's name. Ours is shared with the daemon alone.
enum class MemoryKind : uint8_t { kOther, kOurs, kPrivate };
MemoryKind KindOf(const Range& range);

inline bool MayProtect(const Range& range) { return KindOf(range) != MemoryKind::kOther; }

// The kernel's description of the mapping that has an address.
struct MappingInfo {
  Range range;
  MemoryKind kind = MemoryKind::kOther;
  int rights = 0;  // of PROT_READ, PROT_WRITE, PROT_EXEC
  uint64_t offset = 0, inode = 0;
};
std::optional<MappingInfo> MappingAt(uintptr_t address);

// Returns whether pages of this process are pinned, so that the kernel or a device may read and write them though they
// are closed: network cards', io_uring's registered buffers (the kernel counts those: VmPin), or GPUs', whose drivers
// do not say, but map files of theirs. Takes some 10 us, and reads all mappings where the library of a GPU's driver is
// loaded.
bool DevicesMayKnowPages();
// Returns whether a line of /proc/self/maps is of a GPU's file.
bool IsOfGpu(std::string_view line);

// Returns whether the pages of this memory that are of no file may be exchanged for others with the same contents:
// private memory, in a process of which DevicesMayKnowPages does not hold.
bool MayExchange(const Range& range);

// Bytes before and behind `range` on its first and last page that belong to the same allocation, where that is one that
// malloc has mapped, and begins and ends on these pages. Before it are malloc's own two words. glibc does not know how
// many of the bytes behind were requested: they may be data of the program, less than a page.
struct Spare {
  uint64_t before = 0, behind = 0;
};
Spare SpareAround(const Range& range);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_MEMORY_KIND_H_
