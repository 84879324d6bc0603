// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/memory_kind.h"

#include <fcntl.h>
#include <link.h>
#include <linux/ioctl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace copse::tnbc {
namespace {

// MappingQuery is the argument of ioctl PROCMAP_QUERY (Linux 6.11, struct procmap_query of linux/fs.h), which the
// headers of older systems lack.
struct MappingQuery {
  uint64_t size = sizeof(MappingQuery);
  uint64_t query_flags = 0;
  uint64_t query_address = 0;
  uint64_t begin = 0, end = 0, flags = 0, page_bytes = 0, offset = 0, inode = 0;
  uint32_t device_major = 0, device_minor = 0;
  uint32_t name_bytes = 0, build_id_bytes = 0;
  uint64_t name_address = 0, build_id_address = 0;
};
constexpr unsigned long kQuery = _IOWR('f', 17, MappingQuery);
constexpr uint64_t kReadable = 1, kWritable = 2, kExecutable = 4, kShared = 8;

// Memory of copse_alloc has this name in /proc/self/maps.
constexpr char kOurName[] = "/memfd:copse";

bool IsStack(const char* name, const Range& range) {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return strcmp(name, "[stack]") == 0 || (here >= range.begin && here < range.end);
}

// Sets the kind and the rights by the flags of PROCMAP_QUERY.
void Classify(uint64_t flags, const char* name, MappingInfo* info) {
  // Pages that were closed are opened readable and writable, so others cannot be closed: they would get other rights.
  constexpr uint64_t kRights = kReadable | kWritable | kExecutable;
  const bool is_open = (flags & kRights) == (kReadable | kWritable), is_shared = (flags & kShared) != 0;
  if (is_open && is_shared && strncmp(name, kOurName, strlen(kOurName)) == 0) info->kind = MemoryKind::kOurs;
  if (is_open && !is_shared && !IsStack(name, info->range)) info->kind = MemoryKind::kPrivate;
  info->rights = ((flags & kReadable) != 0 ? PROT_READ : 0) | ((flags & kWritable) != 0 ? PROT_WRITE : 0) |
                 ((flags & kExecutable) != 0 ? PROT_EXEC : 0);
}

// Returns false if the kernel does not know the ioctl, or nothing is mapped there.
bool AskKernel(int maps, uintptr_t address, MappingInfo* info) {
  char name[4096] = "";
  MappingQuery query;
  query.query_address = address;
  query.name_bytes = sizeof(name);
  query.name_address = reinterpret_cast<uint64_t>(name);
  if (ioctl(maps, kQuery, &query) != 0) return false;
  *info = {{query.begin, query.end}, MemoryKind::kOther, 0, query.offset, query.inode};
  // Pages of hugetlbfs are longer than others; they stay kOther.
  if (query.page_bytes == static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) Classify(query.flags, name, info);
  return true;
}

bool ReadMaps(uintptr_t address, MappingInfo* info) {
  FILE* const maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  char line[4608];
  bool found = false;
  while (!found && fgets(line, sizeof(line), maps) != nullptr) {
    const auto mapping = MappingOfLine(line, address);
    found = mapping.has_value();
    if (found) *info = *mapping;
  }
  fclose(maps);
  return found;
}

// Returns whether a mapping of this name is of hugetlbfs.
bool HasHugePages(const char* name) {
  if (strncmp(name, "/anon_hugepage", strlen("/anon_hugepage")) == 0) return true;
  struct statfs system = {};
  return name[0] == '/' && statfs(name, &system) == 0 && system.f_type == HUGETLBFS_MAGIC;
}

// Returns whether the library of a GPU's driver is loaded. Looks at all libraries only if some were loaded since none
// was found.
bool HasGpuDriver() {
  struct Looked {
    uint64_t loaded;  // libraries loaded so far, also those that were unloaded
    bool has_any, has_found;
  };
  static std::atomic<uint64_t> loaded_when_none{0};
  Looked looked = {loaded_when_none.load(std::memory_order_relaxed), false, false};
  const auto look = [](dl_phdr_info* info, size_t, void* argument) {
    constexpr const char* kDrivers[] = {"/libcuda.so", "/libhsa-runtime64.so", "/libze_intel_gpu.so"};
    auto* const so_far = static_cast<Looked*>(argument);
    if (!so_far->has_any && info->dlpi_adds == so_far->loaded) return 1;
    so_far->has_any = true;
    so_far->loaded = info->dlpi_adds;
    for (const char* driver : kDrivers) so_far->has_found |= strstr(info->dlpi_name, driver) != nullptr;
    return so_far->has_found ? 1 : 0;
  };
  dl_iterate_phdr(look, &looked);
  if (!looked.has_found) loaded_when_none.store(looked.loaded, std::memory_order_relaxed);
  return looked.has_found;
}

bool HasPinnedPages() {
  const int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (status < 0) return true;
  char text[8192];
  const ssize_t bytes = read(status, text, sizeof(text) - 1);
  close(status);
  if (bytes <= 0) return true;
  text[bytes] = '\0';
  constexpr char kName[] = "\nVmPin:";
  const char* const found = strstr(text, kName);
  return found == nullptr || strtoul(found + sizeof(kName) - 1, nullptr, 10) != 0;
}

bool HasMappingsOfGpu() {
  FILE* const maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return true;
  char line[4608];
  bool found = false;
  while (!found && fgets(line, sizeof(line), maps) != nullptr) found = IsOfGpu(line);
  fclose(maps);
  return found;
}

}  // namespace

std::optional<MappingInfo> MappingOfLine(const char* line, uintptr_t address) {
  unsigned long begin = 0, end = 0, offset = 0, inode = 0;
  char rights[5] = "", name[4097] = "";
  const int fields = sscanf(line, "%lx-%lx %4s %lx %*s %lu %4096[^\n]", &begin, &end, rights, &offset, &inode, name);
  if (fields < 5 || address < begin || address >= end) return std::nullopt;
  MappingInfo info = {{begin, end}, MemoryKind::kOther, 0, offset, inode};
  const uint64_t flags = (rights[0] == 'r' ? kReadable : 0) | (rights[1] == 'w' ? kWritable : 0) |
                         (rights[2] == 'x' ? kExecutable : 0) | (rights[3] == 's' ? kShared : 0);
  Classify(flags, name, &info);
  if (info.kind == MemoryKind::kPrivate && HasHugePages(name)) info.kind = MemoryKind::kOther;
  return info;
}

std::optional<MappingInfo> MappingAt(uintptr_t address) {
  static const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  MappingInfo info;
  if (!AskKernel(maps, address, &info) && !ReadMaps(address, &info)) return std::nullopt;
  return info;
}

MemoryKind KindOf(const Range& range) {
  MemoryKind least = MemoryKind::kPrivate;
  uintptr_t at = range.begin;
  while (at < range.end) {
    const auto info = MappingAt(at);
    if (!info.has_value()) return MemoryKind::kOther;
    least = std::min(least, info->kind);
    if (least == MemoryKind::kOther || info->range.end <= at) return MemoryKind::kOther;
    at = info->range.end;
  }
  return least;
}

bool IsOfGpu(std::string_view line) {
  for (const std::string_view folder : {" /dev/nvidia", " /dev/kfd", " /dev/dri/"}) {
    if (line.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

bool DevicesMayKnowPages() { return HasPinnedPages() || (HasGpuDriver() && HasMappingsOfGpu()); }

bool MayExchange(const Range& range) { return KindOf(range) >= MemoryKind::kPrivate && !DevicesMayKnowPages(); }

// glibc's malloc has two words before an allocation. If it is mapped separately, the first is the number of bytes from
// the mapping's begin to the words, and the second that of bytes from there to the mapping's end, with flags in its
// lowest bits, of which only kIsMapped is set. If the program has such words there by chance, no harm is done: the
// pages that are closed are its own memory.
Spare SpareAround(const Range& range) {
  constexpr uint64_t kFlags = 7, kIsMapped = 2;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t words[2];
  if (range.begin % page < sizeof(words)) return {};
  memcpy(words, reinterpret_cast<const void*>(range.begin - sizeof(words)), sizeof(words));  // NOLINT: malloc's
  const uint64_t before = sizeof(words) + words[0], bytes = words[0] + (words[1] & ~kFlags);
  const bool is_mapped = (words[1] & kFlags) == kIsMapped && before == range.begin % page && bytes % page == 0 &&
                         bytes >= before + range.bytes();
  if (!is_mapped) return {};
  const uint64_t behind = bytes - before - range.bytes();
  return {before, behind < page ? behind : 0};
}

}  // namespace copse::tnbc
