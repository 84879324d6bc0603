// SPDX-License-Identifier: Apache-2.0

#include "client/context/memory.h"

#include <cstring>
#include <utility>

#include "client/context/regions.h"
#include "client/port/call_queue.h"
#include "client/port/error.h"
#include "client/port/log.h"
#include "client/port/user_memory.h"
#include "protocol/ring_layout.h"

namespace copse::client {
namespace {

constexpr uint64_t kDataAreaBytesMax = 4096;  // longer buffers are regions

}  // namespace

copse_status_t Memory::Allocate(uint64_t bytes, void** memory) {
  if (bytes == 0) return Fail(COPSE_ERR_INVALID_ARGUMENT, "0 bytes asked for");
  bool has_room = false;
  const copse_status_t status = AllocateInDataArea(bytes, memory, &has_room);
  return status != COPSE_OK || has_room ? status : AllocateRegion(bytes, memory);
}

// Allocates short buffers in the data area if half of the area remains for calls.
copse_status_t Memory::AllocateInDataArea(uint64_t bytes, void** memory, bool* has_room) {
  const Completion::Lock lock(&completion_);
  if (const auto status = completion_.CheckAlive(lock); status != COPSE_OK) return status;
  CallQueue& queue = completion_.queue(lock);
  DataArea& area = queue.staging().data_area();
  if (bytes > kDataAreaBytesMax || area.bytes_free() < area.bytes() / 2 + kDataAreaBytesMax) return COPSE_OK;
  const auto block = area.Allocate(bytes);
  *has_room = block.has_value();
  if (!block.has_value()) return COPSE_OK;
  UserMemory::UserRange range;
  range.kind = UserMemory::Kind::kDataArea;
  range.address = queue.port().data() + block->offset;
  range.bytes = block->bytes;
  range.block = *block;
  memset(range.address, 0, range.bytes);
  *memory = range.address;
  queue.user_memory().Add(std::move(range));
  return COPSE_OK;
}

copse_status_t Memory::AllocateRegion(uint64_t bytes, void** memory) {
  constexpr uint64_t kBytesMax = uint64_t{1} << 46;
  if (bytes > kBytesMax) {
    return Fail(COPSE_ERR_NO_MEMORY, "too much memory asked for (bytes=%llu, limit=%llu)",
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(kBytesMax));
  }
  UserMemory::UserRange range;
  range.bytes = ring::RoundUp(bytes, ring::kPageBytes);
  Region region;
  if (const auto status = RegisterRegion(&attachment_, range.bytes, &region); status != COPSE_OK) return status;
  range.mapping = std::move(region.mapping);
  range.region = region.id;
  range.address = range.mapping.data();
  range.kind = region.id != 0 ? UserMemory::Kind::kRegion : UserMemory::Kind::kPlain;
  if (region.id == 0) {
    // A refusal, by a quota, say, must not make the program fail; copies are only slower.
    Log(LogLevel::kWarning, "memory is copied, as the daemon does not register it: %s (bytes=%llu, node=%s)",
        region.why.c_str(), static_cast<unsigned long long>(range.bytes), attachment_.node());
  }
  const Completion::Lock lock(&completion_);
  *memory = range.address;
  completion_.queue(lock).user_memory().AddMapped(std::move(range));
  return COPSE_OK;
}

copse_status_t Memory::Free(void* memory) {
  if (memory == nullptr) return COPSE_OK;
  const Completion::Lock lock(&completion_);
  CallQueue& queue = completion_.queue(lock);
  UserMemory::UserRange* range = queue.user_memory().At(memory);
  if (range == nullptr || range->kind == UserMemory::Kind::kRegistered) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the memory is not from copse_alloc, or was freed (address=%p)", memory);
  }
  if (range->calls > 0) {
    range->freed = true;  // a canceled call may still write there
    return COPSE_OK;
  }
  queue.DropRange(range);
  completion_.DeregisterDropped(lock);
  return COPSE_OK;
}

copse_status_t Memory::Register(void* memory, uint64_t bytes) {
  if (memory == nullptr || bytes == 0 || reinterpret_cast<uintptr_t>(memory) + bytes < bytes) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "there is no such memory (address=%p, bytes=%llu)", memory,
                static_cast<unsigned long long>(bytes));
  }
  UserMemory::UserRange range;
  range.kind = UserMemory::Kind::kRegistered;
  range.address = static_cast<uint8_t*>(memory);
  range.bytes = bytes;
  const Completion::Lock lock(&completion_);
  if (completion_.queue(lock).user_memory().Add(std::move(range))) return COPSE_OK;
  return Fail(COPSE_ERR_INVALID_ARGUMENT, "the memory overlaps what is registered already (address=%p, bytes=%llu)",
              memory, static_cast<unsigned long long>(bytes));
}

copse_status_t Memory::Deregister(void* memory) {
  const Completion::Lock lock(&completion_);
  CallQueue& queue = completion_.queue(lock);
  UserMemory::UserRange* range = queue.user_memory().At(memory);
  if (range == nullptr || range->kind != UserMemory::Kind::kRegistered) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "no registered memory starts there (address=%p)", memory);
  }
  queue.DropRange(range);
  return COPSE_OK;
}

bool Memory::ReachesPages(const void* memory, uint64_t bytes) {
  const Completion::Lock lock(&completion_);
  const UserMemory::UserRange* range = completion_.queue(lock).user_memory().Reachable(memory, bytes);
  return range != nullptr && range->kind == UserMemory::Kind::kRegion && !range->freed;
}

}  // namespace copse::client
