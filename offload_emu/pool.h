// SPDX-License-Identifier: Apache-2.0
//
// Allocates buffers in powers of two: eager buffers, scratch regions and frames under construction.
#ifndef COPSE_OFFLOAD_EMU_POOL_H_
#define COPSE_OFFLOAD_EMU_POOL_H_

#include <array>
#include <cstdint>

namespace copse::emu {

// A PoolBuffer is memory of one BufferPool, to which it must be released; its size is a power of two. An empty one has
// null data.
struct PoolBuffer {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
};

// A BufferPool hands out buffers and keeps released ones, up to a bound, for the next Acquire: a warm engine does not
// allocate. It does not limit memory: ports reserve theirs beforehand.
//
// A buffer holds zeros, or the content of an earlier buffer of its owner, so one team's data is never visible to
// another. Buffers of kOverwritten hold anything. Thread-compatible.
class BufferPool {
 public:
  // The user of this owner's buffers writes every byte that it later reads.
  static constexpr uint64_t kOverwritten = 0;
  static constexpr uint64_t kBytesMin = 64;
  static constexpr uint64_t kBytesMax = uint64_t{1} << 30;

  explicit BufferPool(uint64_t retained_bytes_max) : retained_bytes_max_(retained_bytes_max) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  // Returns the size of the buffer that Acquire(bytes) returns. `bytes` <= kBytesMax.
  static uint64_t RoundedBytes(uint64_t bytes);

  // Returns a buffer of at least `bytes` <= kBytesMax. `owner`: a number that no other owner uses, or kOverwritten.
  PoolBuffer Acquire(uint64_t bytes, uint64_t owner);
  // Releases the buffer and empties it; releasing an empty one is a no-op.
  void Release(PoolBuffer* buffer, uint64_t owner);
  // Enlarges the buffer to at least `bytes`; the content is kept, but may be at another address.
  void Grow(PoolBuffer* buffer, uint64_t bytes, uint64_t owner);

  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t used_bytes_max() const { return used_bytes_max_; }
  uint64_t retained_bytes() const { return retained_bytes_; }

 private:
  struct Free;  // stored in the free buffer itself
  static constexpr int kClassCount = 25;
  static int ClassOf(uint64_t bytes);

  const uint64_t retained_bytes_max_;
  uint64_t used_bytes_ = 0;
  uint64_t used_bytes_max_ = 0;
  uint64_t retained_bytes_ = 0;
  std::array<Free*, kClassCount> free_{};
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_POOL_H_
