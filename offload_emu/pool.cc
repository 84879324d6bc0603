// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/pool.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/check.h"

namespace copse::emu {

struct BufferPool::Free {
  Free* next;
  uint64_t owner;
};

BufferPool::~BufferPool() {
  for (Free* head : free_) {
    while (head != nullptr) {
      Free* next = head->next;
      ::operator delete(head);
      head = next;
    }
  }
}

int BufferPool::ClassOf(uint64_t bytes) {
  CHECK_LE(bytes, kBytesMax);
  if (bytes <= kBytesMin) return 0;
  return std::bit_width(bytes - 1) - std::bit_width(kBytesMin - 1);
}

uint64_t BufferPool::RoundedBytes(uint64_t bytes) { return kBytesMin << ClassOf(bytes); }

PoolBuffer BufferPool::Acquire(uint64_t bytes, uint64_t owner) {
  const int size_class = ClassOf(bytes);
  PoolBuffer buffer;
  buffer.bytes = kBytesMin << size_class;
  used_bytes_ += buffer.bytes;
  used_bytes_max_ = std::max(used_bytes_max_, used_bytes_);
  Free* head = free_[size_class];
  if (head != nullptr) {
    free_[size_class] = head->next;
    retained_bytes_ -= buffer.bytes;
    const bool known = owner == kOverwritten || head->owner == owner;
    buffer.data = reinterpret_cast<uint8_t*>(head);
    std::memset(buffer.data, 0, known ? sizeof(Free) : buffer.bytes);
    return buffer;
  }
  buffer.data = static_cast<uint8_t*>(::operator new(buffer.bytes));
  if (owner != kOverwritten) std::memset(buffer.data, 0, buffer.bytes);
  return buffer;
}

void BufferPool::Release(PoolBuffer* buffer, uint64_t owner) {
  if (buffer->data == nullptr) return;
  used_bytes_ -= buffer->bytes;
  if (retained_bytes_ + buffer->bytes > retained_bytes_max_) {
    ::operator delete(buffer->data);
  } else {
    const int size_class = ClassOf(buffer->bytes);
    retained_bytes_ += buffer->bytes;
    free_[size_class] = new (buffer->data) Free{free_[size_class], owner};
  }
  *buffer = PoolBuffer{};
}

void BufferPool::Grow(PoolBuffer* buffer, uint64_t bytes, uint64_t owner) {
  if (buffer->bytes >= bytes) return;
  PoolBuffer larger = Acquire(bytes, owner);
  if (buffer->data != nullptr) std::memcpy(larger.data, buffer->data, buffer->bytes);
  Release(buffer, owner);
  *buffer = larger;
}

}  // namespace copse::emu
