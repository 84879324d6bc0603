// SPDX-License-Identifier: Apache-2.0
//
// Allocates staging buffers for copies of buffers that the daemon cannot access.
#ifndef COPSE_CLIENT_PORT_STAGING_H_
#define COPSE_CLIENT_PORT_STAGING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/port/data_area.h"
#include "client/port/file_descriptor.h"

namespace copse::client {

// A Staging allocates short buffers from the port's data area. Buffers longer than half of it, or without room there,
// lie in bounce regions: registered memory that is added when it is needed and kept for later calls. A buffer longer
// than the limit of the kept regions gets its own region, which is dropped when the buffer is freed: other ranks do not
// know how much this one copies, so they would wait in vain if its call were refused.
//
// Thread-compatible: the context's lock guards it. An area does not move while it has allocations.
class Staging {
 public:
  // By default, a context keeps at most this many bytes of bounce regions.
  static constexpr uint64_t kBounceBytesMax = uint64_t{1} << 30;
  static constexpr uint64_t kBounceUnitBytes = uint64_t{2} << 20;

  struct Area {
    uint8_t* address = nullptr;
    uint32_t region = 0;
    DataArea space{0};
    Mapping mapping;  // memory of a bounce region
  };
  struct Allocation {
    Area* area = nullptr;  // null: none
    Block range;           // offset and length in the area

    uint8_t* address() const { return area->address + range.offset; }
  };

  Staging(uint8_t* data, uint64_t data_bytes);

  // It is called before any region is added.
  void set_bounce_bytes_max(uint64_t bytes) { bounce_bytes_max_ = bytes; }

  // Returns nullopt if there is no room at present.
  std::optional<Allocation> Allocate(uint64_t bytes);
  // Frees an allocation. Returns the region that was dropped with it, which the caller deregisters; 0: none.
  uint32_t Free(const Allocation& block);
  // Returns whether a buffer of this size is allocated from bounce regions only.
  bool NeedsBounce(uint64_t bytes) const { return bytes > data_.space.bytes() / 2; }

  // Counts a region of `bytes` bytes that is about to be added, unless it is too long to be kept. Returns false, and
  // changes nothing, if the kept regions would exceed the limit.
  bool Reserve(uint64_t bytes);
  // Undoes Reserve, for a region that is not added or is dropped.
  void Unreserve(uint64_t bytes) {
    if (IsKept(bytes)) bounce_bytes_ -= bytes;
  }
  // Adds a region for which Reserve(bytes) has succeeded.
  void Add(Mapping mapping, uint64_t bytes, uint32_t region);
  // Drops the bounce regions without allocations, and returns them; the caller deregisters them.
  std::vector<uint32_t> DropIdle();

  DataArea& data_area() { return data_.space; }
  uint64_t bounce_bytes() const { return bounce_bytes_; }
  uint64_t bounce_bytes_max() const { return bounce_bytes_max_; }

 private:
  // Returns whether a region of this size is kept for later calls.
  bool IsKept(uint64_t bytes) const { return bytes <= bounce_bytes_max_; }
  // Drops `area`, which is not `data_`, if it has no allocations and is too long to be kept. Returns its region, or 0
  // if it stays.
  uint32_t DropIfPassing(const Area* area);

  Area data_;
  std::vector<std::unique_ptr<Area>> bounces_;
  uint64_t bounce_bytes_ = 0;  // sum over the kept regions, and those reserved
  uint64_t bounce_bytes_max_ = kBounceBytesMax;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_STAGING_H_
