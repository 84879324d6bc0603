// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/packet_pool.h"

#include "base/check.h"

namespace copse::fabric {

uint32_t PacketPool::Take(size_t bytes) {
  const int kind = bytes <= kSmallBytes ? 0 : 1;
  CHECK_LE(bytes, bytes_[kind]);
  uint32_t index;
  if (free_[kind].empty()) {
    if (bytes_left_ < bytes_[kind]) return kNoBuffer;
    bytes_left_ -= bytes_[kind];
    index = static_cast<uint32_t>(buffers_.size());
    buffers_.push_back({std::unique_ptr<uint8_t[]>(new uint8_t[bytes_[kind]]), 0, kind});
  } else {
    index = free_[kind].back();
    free_[kind].pop_back();
  }
  buffers_[index].size = bytes;
  return index;
}

void PacketPool::Return(uint32_t buffer) { free_[buffers_[buffer].kind].push_back(buffer); }

}  // namespace copse::fabric
