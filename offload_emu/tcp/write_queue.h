// SPDX-License-Identifier: Apache-2.0
//
// Queues bytes for a socket, of its own memory and of its users'.
#ifndef COPSE_OFFLOAD_EMU_TCP_WRITE_QUEUE_H_
#define COPSE_OFFLOAD_EMU_TCP_WRITE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace copse::emu {

// A WriteQueue holds what was put and what the socket has not taken, in this order. It keeps little memory while it is
// empty. Thread-compatible.
class WriteQueue {
 public:
  // Appends `bytes`; returns where they go, to be written before the next call.
  uint8_t* Append(size_t bytes);
  // Appends bytes that are not copied: they must stay as they are until they are not counted by lent() any more.
  void AppendLent(absl::Span<const uint8_t> bytes);

  // Returns how many AppendLent the socket has not taken in whole.
  size_t lent() const { return lent_; }
  // Returns the number of bytes that the socket has not taken.
  size_t backlog() const { return backlog_; }
  // Returns the number of bytes that the socket has taken so far.
  uint64_t taken() const { return taken_; }
  // From now on at most so many bytes leave as one packet of the kernel's, which it cuts by itself when it is sent;
  // such a packet is what others wait for at least.
  void SetPacketBytesMax(size_t bytes) { packet_bytes_max_ = bytes; }

  // Writes as much as the socket takes. UNAVAILABLE: it takes no more.
  absl::Status WriteTo(int fd);
  // Drops what the socket has not taken.
  void Clear();

 private:
  static constexpr size_t kUnlimited = SIZE_MAX;

  // A Piece is the next bytes to be written: of own_, or lent.
  struct Piece {
    const uint8_t* lent = nullptr;  // null: they are own_'s
    size_t bytes = 0;
  };

  void Taken(size_t bytes);

  std::vector<uint8_t> own_;  // bytes to be written, of which the first `own_taken_` were
  size_t own_taken_ = 0;
  std::vector<Piece> pieces_;  // to be written, from number `first_piece_` on
  size_t first_piece_ = 0;
  size_t backlog_ = 0;  // the pieces' bytes
  size_t lent_ = 0;
  uint64_t taken_ = 0;
  size_t packet_bytes_max_ = kUnlimited;
};

// A buffer that was larger than this is given back when it is empty.
inline constexpr size_t kIdleBufferBytesMax = 4096;

inline void ClearAndShrink(std::vector<uint8_t>* buffer) {
  buffer->clear();
  if (buffer->capacity() > kIdleBufferBytesMax) std::vector<uint8_t>().swap(*buffer);
}

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_WRITE_QUEUE_H_
