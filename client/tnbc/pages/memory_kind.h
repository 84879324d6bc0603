// SPDX-License-Identifier: Apache-2.0
//
// Classifies the program's memory by whether its pages may be protected and exchanged.
#ifndef COPSE_CLIENT_TNBC_PAGES_MEMORY_KIND_H_
#define COPSE_CLIENT_TNBC_PAGES_MEMORY_KIND_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "client/tnbc/pages/pending_ranges.h"

namespace copse::tnbc {

// A MemoryKind classifies mappings; a range has the least kind of its mappings. kPrivate: readable, writable, not
// executable, seen by no other process, and no stack, whose frames may be gone before the data arrives; the calling
// thread's stack is known by its address, the main thread's by the kernel's name. kOurs: shared with the daemon alone.
// kOther: everything else, also what is not mapped.
enum class MemoryKind : uint8_t { kOther, kOurs, kPrivate };
MemoryKind KindOf(const Range& range);

inline bool MayProtect(const Range& range) { return KindOf(range) != MemoryKind::kOther; }

// A MappingInfo is the kernel's description of one mapping.
struct MappingInfo {
  Range range;
  MemoryKind kind = MemoryKind::kOther;
  int rights = 0;  // PROT_READ, PROT_WRITE and PROT_EXEC
  uint64_t offset = 0, inode = 0;
};
// Returns the mapping that contains `address`; nullopt if there is none.
std::optional<MappingInfo> MappingAt(uintptr_t address);
// Returns the mapping that a line of /proc/self/maps describes; nullopt if it does not contain `address`. Pages of
// hugetlbfs are known by the name; they are kOther, as single pages of ours cannot be opened within one of theirs.
std::optional<MappingInfo> MappingOfLine(const char* line, uintptr_t address);

// Returns whether pages of this process may be pinned, so that the kernel or a device can access them even if they are
// closed: pages known to network cards, or registered with io_uring, which the kernel counts (VmPin), or known to GPUs,
// whose drivers do not report that but map files of their own. Returns true if this cannot be found out. Takes some 10
// us, and reads all mappings if the library of a GPU's driver is loaded.
bool DevicesMayKnowPages();
// Returns whether a line of /proc/self/maps names a device file of a GPU's driver.
bool IsOfGpu(std::string_view line);

// Returns whether the anonymous pages of this memory may be exchanged for others with the same contents: it is private
// memory, and DevicesMayKnowPages() is false.
bool MayExchange(const Range& range);

// A Spare counts the bytes before and after a range, on its first and last page, that belong to the same allocation, if
// malloc has mapped this separately and it begins and ends on these pages; else it is 0. The bytes before are malloc's
// own two words. The bytes after may be data of the program, since glibc does not record how many it has requested;
// they are less than a page.
struct Spare {
  uint64_t before = 0, behind = 0;
};
Spare SpareAround(const Range& range);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_MEMORY_KIND_H_
