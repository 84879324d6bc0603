// SPDX-License-Identifier: Apache-2.0

#include "client/port/staging.h"

#include <algorithm>
#include <utility>

namespace copse::client {

Staging::Staging(uint8_t* data, uint64_t data_bytes) {
  data_.address = data;
  data_.space = DataArea(data_bytes);
}

std::optional<Staging::Allocation> Staging::Allocate(uint64_t bytes) {
  if (!NeedsBounce(bytes)) {
    if (const auto range = data_.space.Allocate(bytes)) return Allocation{&data_, *range};
  }
  for (const auto& area : bounces_) {
    // A short allocation would delay the drop of a region that is not to be kept.
    if (IsKept(bytes) && !IsKept(area->space.bytes())) continue;
    const auto range = area->space.Allocate(bytes);
    if (range.has_value()) return Allocation{area.get(), *range};
  }
  return std::nullopt;
}

uint32_t Staging::Free(const Allocation& block) {
  if (block.area == nullptr) return 0;
  block.area->space.Free(block.range);
  return block.area == &data_ ? 0 : DropIfPassing(block.area);
}

uint32_t Staging::DropIfPassing(const Area* area) {
  if (IsKept(area->space.bytes()) || area->space.bytes_free() != area->space.bytes()) return 0;
  const uint32_t region = area->region;
  bounces_.erase(std::find_if(bounces_.begin(), bounces_.end(),
                              [&](const std::unique_ptr<Area>& bounce) { return bounce.get() == area; }));
  return region;
}

bool Staging::Reserve(uint64_t bytes) {
  if (!IsKept(bytes)) return true;
  if (bytes > bounce_bytes_max_ - bounce_bytes_) return false;
  bounce_bytes_ += bytes;
  return true;
}

void Staging::Add(Mapping mapping, uint64_t bytes, uint32_t region) {
  auto area = std::make_unique<Area>();
  area->address = mapping.data();
  area->region = region;
  area->space = DataArea(bytes);
  area->mapping = std::move(mapping);
  bounces_.push_back(std::move(area));
}

std::vector<uint32_t> Staging::DropIdle() {
  std::vector<uint32_t> regions;
  for (auto area = bounces_.begin(); area != bounces_.end();) {
    const DataArea& space = (*area)->space;
    if (space.bytes_free() != space.bytes()) {
      ++area;
      continue;
    }
    regions.push_back((*area)->region);
    Unreserve(space.bytes());
    area = bounces_.erase(area);
  }
  return regions;
}

}  // namespace copse::client
