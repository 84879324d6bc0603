// SPDX-License-Identifier: Apache-2.0
//
// Memory for copies of buffers that the daemon does not reach.
#ifndef COPSE_CLIENT_PORT_STAGING_H_
#define COPSE_CLIENT_PORT_STAGING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/port/data_area.h"
#include "client/port/file_descriptor.h"

namespace copse::client {

// Short copies lie in the port's data area. Copies longer than half of it, or without room there, lie in bounce
// regions: memory that is registered with the daemon for the purpose, added when it is needed, and kept for later
// calls. A copy longer than the limit of the kept regions has a region of its own, which goes with it: only the rank
// itself knows how much its call copies, so the call cannot be refused without the other ranks waiting for it.
//
// Thread-compatible: the context's lock guards it. Areas stay where they are while they have allocations.
class Staging {
 public:
  // The default limit of the bounce regions that a context keeps, together.
  static constexpr uint64_t kBounceBytesMax = uint64_t{1} << 30;
  static constexpr uint64_t kBounceUnitBytes = uint64_t{2} << 20;

  struct Area {
    uint8_t* address = nullptr;
    uint32_t region = 0;
    DataArea space{0};
    Mapping mapping;  // of a bounce region
  };
  struct Allocation {
    Area* area = nullptr;  // null: none
    Block range;           // of the area

    uint8_t* address() const { return area->address + range.offset; }
  };

  Staging(uint8_t* data, uint64_t data_bytes);

  // Before any region is added.
  void set_bounce_bytes_max(uint64_t bytes) { bounce_bytes_max_ = bytes; }

  // Returns nothing if there is no room now.
  std::optional<Allocation> Allocate(uint64_t bytes);
  // Returns the region that has gone with the allocation, to be deregistered; 0: none.
  uint32_t Free(const Allocation& block);
  // Returns whether `bytes` belong into a bounce region.
  bool NeedsBounce(uint64_t bytes) const { return bytes > data_.space.bytes() / 2; }

  // Counts `bytes` of a region that is about to be added, if it is to be kept. Returns false, changing nothing, if that
  // is beyond the limit.
  bool Reserve(uint64_t bytes);
  // Takes back Reserve: the region is not added.
  void Unreserve(uint64_t bytes) {
    if (IsKept(bytes)) bounce_bytes_ -= bytes;
  }
  // Adds a region of the bytes that were reserved.
  void Add(Mapping mapping, uint64_t bytes, uint32_t region);
  // Drops bounce regions without allocations; returns them, to be deregistered.
  std::vector<uint32_t> DropIdle();

  DataArea& data_area() { return data_.space; }
  uint64_t bounce_bytes() const { return bounce_bytes_; }
  uint64_t bounce_bytes_max() const { return bounce_bytes_max_; }

 private:
  // Returns whether a region of this size is kept for later calls.
  bool IsKept(uint64_t bytes) const { return bytes <= bounce_bytes_max_; }
  // Drops an area beside `data_` that is empty and too long to be kept. Returns its region, or 0 if it stays.
  uint32_t DropIfPassing(const Area* area);

  Area data_;
  std::vector<std::unique_ptr<Area>> bounces_;
  uint64_t bounce_bytes_ = 0;  // of regions that are kept
  uint64_t bounce_bytes_max_ = kBounceBytesMax;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_STAGING_H_
