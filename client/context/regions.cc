// SPDX-License-Identifier: Apache-2.0

#include "client/context/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "client/port/control_channel.h"
#include "client/port/deadline.h"
#include "client/port/error.h"
#include "protocol/attach_protocol.h"

namespace copse::client {
namespace {

constexpr double kRegisterSeconds = 10;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14

// Returns a memfd whose size is sealed, as the daemon requires; not valid if the system refuses.
FileDescriptor SealedMemory(uint64_t bytes) {
  FileDescriptor memory(memfd_create("copse", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid() || ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return FileDescriptor();
  }
  return memory;
}

// Returns what the machine can give without swapping; 0 if it does not tell.
uint64_t AvailableBytes() {
  FILE* file = fopen("/proc/meminfo", "re");
  if (file == nullptr) return 0;
  uint64_t kib = 0;
  char line[128];
  while (kib == 0 && fgets(line, sizeof(line), file) != nullptr) sscanf(line, "MemAvailable: %" SCNu64, &kib);
  fclose(file);
  return kib * 1024;
}

}  // namespace

copse_status_t RegisterRegion(Attachment* attachment, uint64_t bytes, Region* region) {
  const FileDescriptor file = SealedMemory(bytes);
  if (file.valid()) region->mapping = Mapping(file.get(), bytes, PROT_READ | PROT_WRITE);
  if (!region->mapping.valid()) {
    return Fail(COPSE_ERR_NO_MEMORY, "no shared memory (bytes=%llu)", static_cast<unsigned long long>(bytes));
  }
  // Pages are charged to the process that makes them, so the daemon makes none. Older kernels refuse this: they make
  // the pages at the first access. So it is with more pages than there are: a program may ask for memory that it never
  // touches, and the daemon says whether it takes such memory.
  if (bytes <= AvailableBytes() && madvise(region->mapping.data(), bytes, kPopulateWrite) != 0 && errno != EINVAL) {
    return Fail(COPSE_ERR_NO_MEMORY, "no memory for its pages (bytes=%llu)", static_cast<unsigned long long>(bytes));
  }
  ControlChannel::Answer answer;
  const attach::RegisterMemory request{{}, bytes};
  if (const auto status = attachment->channel().Ask(attach::MessageType::kRegisterMemory, request,
                                                    attach::MessageType::kMemoryRegistered,
                                                    DeadlineAfter(kRegisterSeconds), &answer, file.get());
      status != COPSE_OK) {
    return status;
  }
  const auto registered = answer.As<attach::MemoryRegistered>();
  region->id = registered.status == COPSE_OK ? registered.region : 0;
  region->why.assign(registered.text, strnlen(registered.text, sizeof(registered.text)));
  return COPSE_OK;
}

}  // namespace copse::client
