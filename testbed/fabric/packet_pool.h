// SPDX-License-Identifier: Apache-2.0
//
// Memory for packets in flight.
#ifndef COPSE_TESTBED_FABRIC_PACKET_POOL_H_
#define COPSE_TESTBED_FABRIC_PACKET_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"

namespace copse::fabric {

// A PacketPool lends buffers of two sizes and keeps returned ones, so that it allocates only while more packets are
// in flight than ever before. Thread-compatible.
class PacketPool {
 public:
  static constexpr size_t kSmallBytes = 2048;
  static constexpr uint32_t kNoBuffer = 0xffffffff;

  // Lends buffers of kSmallBytes and of `large_bytes`, of at most `bytes_max` altogether.
  PacketPool(size_t large_bytes, size_t bytes_max) : bytes_{kSmallBytes, large_bytes}, bytes_left_(bytes_max) {}

  // Returns a buffer of at least `bytes`, with that size; kNoBuffer if `bytes_max` are lent.
  uint32_t Take(size_t bytes);
  void Return(uint32_t buffer);
  // Sets the size of a lent buffer, which must not exceed its capacity.
  void Resize(uint32_t buffer, size_t bytes) { buffers_[buffer].size = bytes; }
  absl::Span<uint8_t> At(uint32_t buffer) { return {buffers_[buffer].data.get(), buffers_[buffer].size}; }

 private:
  struct Buffer {
    std::unique_ptr<uint8_t[]> data;
    size_t size;
    int kind;  // 0 small, 1 large
  };
  const std::array<size_t, 2> bytes_;
  size_t bytes_left_;
  std::vector<Buffer> buffers_;
  std::array<std::vector<uint32_t>, 2> free_;
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_PACKET_POOL_H_
