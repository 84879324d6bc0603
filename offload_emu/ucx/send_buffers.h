// SPDX-License-Identifier: Apache-2.0
//
// Keeps memory for frames that UCX is sending.
#ifndef COPSE_OFFLOAD_EMU_UCX_SEND_BUFFERS_H_
#define COPSE_OFFLOAD_EMU_UCX_SEND_BUFFERS_H_

#include <cstdint>
#include <new>

#include "offload_emu/packet.h"

namespace copse::emu {

// A SendBuffer holds a frame, which follows it in memory, until UCX has sent it.
struct SendBuffer {
  SendBuffer* next = nullptr;
  void* user = nullptr;  // for the owner's use
  uint32_t capacity = 0;
  uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
};

// SendBuffers reuses the buffers that were returned, short and long ones apart. Thread-compatible.
class SendBuffers {
 public:
  SendBuffers() = default;
  SendBuffers(const SendBuffers&) = delete;
  SendBuffers& operator=(const SendBuffers&) = delete;
  // Buffers that were not returned stay.
  ~SendBuffers() {
    for (SendBuffer* head : {small_, large_}) {
      while (head != nullptr) {
        SendBuffer* next = head->next;
        ::operator delete(head);
        head = next;
      }
    }
  }

  // Returns a buffer for a frame of `bytes` <= kFrameBytesMax.
  SendBuffer* Take(uint32_t bytes) {
    const uint32_t capacity = bytes <= kSmallFrameBytesMax ? kSmallFrameBytesMax : kFrameBytesMax;
    SendBuffer*& free = capacity == kSmallFrameBytesMax ? small_ : large_;
    if (free != nullptr) {
      SendBuffer* buffer = free;
      free = buffer->next;
      return buffer;
    }
    SendBuffer* buffer = new (::operator new(sizeof(SendBuffer) + capacity)) SendBuffer;
    buffer->capacity = capacity;
    return buffer;
  }
  void Return(SendBuffer* buffer) {
    SendBuffer*& free = buffer->capacity == kSmallFrameBytesMax ? small_ : large_;
    buffer->next = free;
    free = buffer;
  }

 private:
  static constexpr uint32_t kSmallFrameBytesMax = 512;  // most frames are one or a few mini-packets

  SendBuffer* small_ = nullptr;  // free ones
  SendBuffer* large_ = nullptr;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_UCX_SEND_BUFFERS_H_
