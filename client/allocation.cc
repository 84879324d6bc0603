// SPDX-License-Identifier: Apache-2.0
//
// copse_alloc, copse_free, copse_register, copse_deregister.

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "client/context.h"
#include "client/error.h"
#include "client/log.h"
#include "client/placement.h"

namespace {

using copse::client::ControlChannel;
using copse::client::DataArea;
using copse::client::Fail;
using copse::client::FileDescriptor;
using copse::client::Log;
using copse::client::LogLevel;
using copse::client::Mapping;
using copse::client::Staging;
using copse::client::UserMemory;
namespace attach = copse::attach;
namespace ring = copse::ring;

constexpr double kRegisterSeconds = 10;
constexpr uint64_t kDataAreaBytesMax = 4096;  // longer buffers get a region of their own

// A memfd that the daemon accepts: it cannot change its size any more.
FileDescriptor SealedMemory(uint64_t bytes) {
  FileDescriptor memory(memfd_create("copse", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid() || ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return FileDescriptor();
  }
  return memory;
}

}  // namespace

copse_status_t copse_context::Allocate(uint64_t bytes, void** memory) {
  if (bytes == 0) return Fail(COPSE_ERR_INVALID_ARGUMENT, "0 bytes asked for");
  {
    Lock lock(mutex_);
    if (const auto status = CheckAlive(); status != COPSE_OK) return status;
    if (AllocateInDataArea(bytes, memory)) return COPSE_OK;
  }
  return AllocateRegion(bytes, memory);
}

// Small buffers, as long as half of the area is left for calls.
bool copse_context::AllocateInDataArea(uint64_t bytes, void** memory) {
  DataArea& area = queue_->staging().data_area();
  if (bytes > kDataAreaBytesMax || area.bytes_free() < area.bytes() / 2 + kDataAreaBytesMax) return false;
  const auto block = area.Allocate(bytes);
  if (!block.has_value()) return false;
  UserMemory::Range range;
  range.kind = UserMemory::Kind::kDataArea;
  range.address = queue_->port().data() + block->offset;
  range.bytes = block->bytes;
  range.block = *block;
  memset(range.address, 0, range.bytes);
  *memory = range.address;
  queue_->user_memory().Add(std::move(range));
  return true;
}

copse_status_t copse_context::AllocateRegion(uint64_t bytes, void** memory) {
  constexpr uint64_t kBytesMax = uint64_t{1} << 46;
  if (bytes > kBytesMax) {
    return Fail(COPSE_ERR_NO_MEMORY, "too much memory asked for (bytes=%llu, limit=%llu)",
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(kBytesMax));
  }
  UserMemory::Range range;
  range.bytes = ring::RoundUp(bytes, ring::kPageBytes);
  std::string why;
  if (const auto status = MakeRegion(range.bytes, &range.mapping, &range.region, &why); status != COPSE_OK) {
    return status;
  }
  range.address = range.mapping.data();
  range.kind = range.region != 0 ? UserMemory::Kind::kRegion : UserMemory::Kind::kPlain;
  if (range.region == 0) {
    // Slower, but as good: a quota, say, must not make a program fail.
    Log(LogLevel::kWarning, "memory is copied, as the daemon does not register it: %s (bytes=%llu, node=%s)",
        why.c_str(), static_cast<unsigned long long>(range.bytes), attr_.node);
  }
  Lock lock(mutex_);
  *memory = range.address;
  queue_->user_memory().Add(std::move(range));
  return COPSE_OK;
}

copse_status_t copse_context::MakeRegion(uint64_t bytes, Mapping* mapping, uint32_t* region, std::string* why) {
  const FileDescriptor file = SealedMemory(bytes);
  if (file.valid()) *mapping = Mapping(file.get(), bytes, PROT_READ | PROT_WRITE);
  if (!mapping->valid()) {
    return Fail(COPSE_ERR_NO_MEMORY, "no shared memory (bytes=%llu)", static_cast<unsigned long long>(bytes));
  }
  ControlChannel::Answer answer;
  const attach::RegisterMemory request{{}, bytes};
  if (const auto status =
          channel_->Ask(attach::MessageType::kRegisterMemory, request, attach::MessageType::kMemoryRegistered,
                        copse::client::DeadlineAfter(kRegisterSeconds), &answer, file.get());
      status != COPSE_OK) {
    return status;
  }
  const auto registered = answer.As<attach::MemoryRegistered>();
  *region = registered.status == COPSE_OK ? registered.region : 0;
  why->assign(registered.text, strnlen(registered.text, sizeof(registered.text)));
  return COPSE_OK;
}

copse_status_t copse_context::AddBounce(Lock& lock, uint64_t bytes, bool* added) {
  *added = false;
  Staging& staging = queue_->staging();
  const uint64_t wanted = ring::RoundUp(bytes, Staging::kBounceUnitBytes);
  if (!staging.Reserve(wanted)) {
    queue_->DropIdleBounces();
    DeregisterDropped();
    if (!staging.Reserve(wanted)) return COPSE_OK;
  }
  Mapping mapping;
  uint32_t region = 0;
  std::string why;
  lock.unlock();
  copse_status_t status = MakeRegion(wanted, &mapping, &region, &why);
  lock.lock();
  if (status == COPSE_OK && region == 0) {
    status =
        Fail(COPSE_ERR_NO_RESOURCE, "the daemon registers no memory for copies: %s (bytes=%llu, data_bytes=%llu)",
             why.c_str(), static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(attr_.data_bytes));
  }
  if (status == COPSE_OK) {
    staging.Add(std::move(mapping), wanted, region);
    *added = true;
  } else {
    staging.Unreserve(wanted);
  }
  return status;
}

copse_status_t copse_context::Free(void* memory) {
  if (memory == nullptr) return COPSE_OK;
  Lock lock(mutex_);
  Progress(lock);
  UserMemory::Range* range = queue_->user_memory().At(memory);
  if (range == nullptr || range->kind == UserMemory::Kind::kRegistered) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the memory is not from copse_alloc, or was freed (address=%p)", memory);
  }
  if (range->calls > 0) {
    range->freed = true;  // a cancelled call may still write there
    return COPSE_OK;
  }
  queue_->DropRange(range);
  DeregisterDropped();
  return COPSE_OK;
}

void copse_context::DeregisterDropped() {
  for (const uint32_t region : queue_->TakeDroppedRegions()) {
    channel_->Tell(attach::MessageType::kDeregisterMemory, attach::DeregisterMemory{{}, region, 0});
  }
}

copse_status_t copse_context::Register(void* memory, uint64_t bytes) {
  if (memory == nullptr || bytes == 0 || reinterpret_cast<uintptr_t>(memory) + bytes < bytes) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "there is no such memory (address=%p, bytes=%llu)", memory,
                static_cast<unsigned long long>(bytes));
  }
  Lock lock(mutex_);
  UserMemory::Range range;
  range.kind = UserMemory::Kind::kRegistered;
  range.address = static_cast<uint8_t*>(memory);
  range.bytes = bytes;
  if (queue_->user_memory().Add(std::move(range))) return COPSE_OK;
  return Fail(COPSE_ERR_INVALID_ARGUMENT, "the memory overlaps what is registered already (address=%p, bytes=%llu)",
              memory, static_cast<unsigned long long>(bytes));
}

bool copse_context::ReachesPages(const void* memory, uint64_t bytes) {
  Lock lock(mutex_);
  const UserMemory::Range* range = queue_->user_memory().Reachable(memory, bytes);
  return range != nullptr && range->kind == UserMemory::Kind::kRegion && !range->freed;
}

copse_status_t copse_context::Deregister(void* memory) {
  Lock lock(mutex_);
  UserMemory::Range* range = queue_->user_memory().At(memory);
  if (range == nullptr || range->kind != UserMemory::Kind::kRegistered) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "no registered memory starts there (address=%p)", memory);
  }
  queue_->DropRange(range);
  return COPSE_OK;
}
