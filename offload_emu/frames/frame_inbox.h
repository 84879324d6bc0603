// SPDX-License-Identifier: Apache-2.0
//
// Keeps received frames until they are delivered.
#ifndef COPSE_OFFLOAD_EMU_FRAMES_FRAME_INBOX_H_
#define COPSE_OFFLOAD_EMU_FRAMES_FRAME_INBOX_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/types/span.h"

namespace copse::emu {

// A FrameInbox stores frames one after another in an array of 8-byte words, each frame as its length and its bytes, so
// that frames are aligned. A vector would fill its memory with zeros before a frame is copied there. Thread-compatible.
class FrameInbox {
 public:
  bool empty() const { return used_ == 0; }

  // Appends a copy of the frame.
  void Add(const void* data, size_t bytes) {
    const size_t needed = used_ + 1 + (bytes + kWordBytes - 1) / kWordBytes;
    if (needed > capacity_) Grow(needed);
    words_[used_] = bytes;
    if (bytes > 0) std::memcpy(&words_[used_ + 1], data, bytes);
    used_ = needed;
  }

  // Calls `deliver` with each frame, oldest first. `deliver` must not change this inbox.
  template <typename Deliver>
  void ForEach(Deliver deliver) const {
    for (size_t at = 0; at < used_;) {
      const size_t bytes = words_[at];
      deliver(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&words_[at + 1]), bytes));
      at += 1 + (bytes + kWordBytes - 1) / kWordBytes;
    }
  }

  void Clear() { used_ = 0; }
  void Swap(FrameInbox* other) {
    std::swap(words_, other->words_);
    std::swap(used_, other->used_);
    std::swap(capacity_, other->capacity_);
  }

 private:
  static constexpr size_t kWordBytes = sizeof(uint64_t);

  void Grow(size_t words) {
    const size_t capacity = words + words / 2;
    std::unique_ptr<uint64_t[]> grown(new uint64_t[capacity]);  // uninitialized
    if (used_ > 0) std::memcpy(grown.get(), words_.get(), used_ * kWordBytes);
    words_ = std::move(grown);
    capacity_ = capacity;
  }

  std::unique_ptr<uint64_t[]> words_;
  size_t used_ = 0;
  size_t capacity_ = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_FRAMES_FRAME_INBOX_H_
