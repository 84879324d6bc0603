// SPDX-License-Identifier: Apache-2.0

#include "client/port/blocks.h"

#include <algorithm>
#include <cstring>

#include "client/port/error.h"

namespace copse::client {
namespace {

using Number = unsigned long long;

// The limit lies far beyond any address, and far enough below 2^64 that the sum of two offsets does not overflow.
constexpr uint64_t kOffsetMax = uint64_t{1} << 62;

// A Placed is a non-empty block with its rank.
struct Placed {
  uint64_t offset;
  uint64_t bytes;
  uint32_t rank;
};
std::vector<Placed> ByOffset(const std::vector<Block>& list) {
  std::vector<Placed> placed;
  placed.reserve(list.size());
  bool ascending = true;
  for (uint32_t rank = 0; rank < list.size(); ++rank) {
    if (list[rank].bytes == 0) continue;
    ascending = ascending && (placed.empty() || placed.back().offset <= list[rank].offset);
    placed.push_back({list[rank].offset, list[rank].bytes, rank});
  }
  if (!ascending) {
    std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.offset < b.offset; });
  }
  return placed;
}

bool RangesOverlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b ? b - a < a_bytes : a - b < b_bytes;
}

}  // namespace

copse_status_t Blocks::Make(const char* what, const uint64_t* counts, const uint64_t* displacements, uint32_t size,
                            uint64_t type_bytes, uint64_t bytes_max, Blocks* blocks) {
  if (counts == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "%s_counts is NULL (size=%u)", what, size);
  Blocks result;
  result.list_.resize(size);
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (counts[rank] == 0) continue;
    if (counts[rank] > (bytes_max - result.bytes_) / type_bytes) {
      return Fail(COPSE_ERR_NOT_SUPPORTED,
                  "the %s blocks are too long (rank=%u, count=%llu, type_bytes=%llu, bytes_before=%llu, limit=%llu "
                  "bytes)",
                  what, rank, static_cast<Number>(counts[rank]), static_cast<Number>(type_bytes),
                  static_cast<Number>(result.bytes_), static_cast<Number>(bytes_max));
    }
    Block& block = result.list_[rank];
    block.bytes = counts[rank] * type_bytes;
    block.offset = result.bytes_;
    if (displacements != nullptr) {
      if (displacements[rank] > kOffsetMax / type_bytes) {
        return Fail(COPSE_ERR_INVALID_ARGUMENT,
                    "a %s displacement is too large (rank=%u, displacement=%llu, type_bytes=%llu, limit=%llu)", what,
                    rank, static_cast<Number>(displacements[rank]), static_cast<Number>(type_bytes),
                    static_cast<Number>(kOffsetMax / type_bytes));
      }
      block.offset = displacements[rank] * type_bytes;
    }
    if (block.offset != result.bytes_) result.is_packed_ = false;
    result.bytes_ += block.bytes;
    result.span_ = std::max(result.span_, block.offset + block.bytes);
  }
  *blocks = std::move(result);
  return COPSE_OK;
}

uint64_t Blocks::PackedOffset(uint32_t rank) const {
  uint64_t offset = 0;
  for (uint32_t before = 0; before < rank; ++before) offset += list_[before].bytes;
  return offset;
}

void Blocks::WriteList(bool packed, uint8_t* to) const {
  if (!packed || is_packed_) {
    memcpy(to, list_.data(), list_.size() * sizeof(Block));
    return;
  }
  uint64_t offset = 0;
  for (const Block& block : list_) {
    const Block entry{offset, block.bytes};
    memcpy(to, &entry, sizeof(entry));
    to += sizeof(entry);
    offset += block.bytes;
  }
}

void Blocks::Pack(const uint8_t* from, uint8_t* to) const {
  if (is_packed_) {
    memcpy(to, from, bytes_);
    return;
  }
  for (const Block& block : list_) {
    memcpy(to, from + block.offset, block.bytes);
    to += block.bytes;
  }
}

void Blocks::Unpack(const uint8_t* from, uint8_t* to) const {
  if (is_packed_) {
    memcpy(to, from, bytes_);
    return;
  }
  for (const Block& block : list_) {
    memcpy(to + block.offset, from, block.bytes);
    from += block.bytes;
  }
}

copse_status_t Blocks::CheckDisjoint() const {
  if (is_packed_) return COPSE_OK;
  const std::vector<Placed> placed = ByOffset(list_);
  for (size_t i = 1; i < placed.size(); ++i) {
    const Placed& before = placed[i - 1];
    if (placed[i].offset - before.offset >= before.bytes) continue;
    return Fail(COPSE_ERR_INVALID_ARGUMENT,
                "blocks of the receive buffer overlap (rank=%u, other=%u, offset=%llu, other_offset=%llu, "
                "other_bytes=%llu)",
                placed[i].rank, before.rank, static_cast<Number>(placed[i].offset), static_cast<Number>(before.offset),
                static_cast<Number>(before.bytes));
  }
  return COPSE_OK;
}

bool Blocks::Touches(const uint8_t* address, const uint8_t* other, uint64_t bytes) const {
  const auto start = reinterpret_cast<uintptr_t>(other);
  const auto base = reinterpret_cast<uintptr_t>(address);
  if (bytes == 0 || !RangesOverlap(base, span_, start, bytes)) return false;
  for (const Block& block : list_) {
    if (block.bytes > 0 && RangesOverlap(base + block.offset, block.bytes, start, bytes)) return true;
  }
  return false;
}

bool Overlap(const Blocks& a, const uint8_t* a_address, const Blocks& b, const uint8_t* b_address) {
  const auto a_base = reinterpret_cast<uintptr_t>(a_address);
  const auto b_base = reinterpret_cast<uintptr_t>(b_address);
  if (!RangesOverlap(a_base, a.span(), b_base, b.span())) return false;
  const std::vector<Placed> placed = ByOffset(b.list());
  for (const Block& block : a.list()) {
    if (block.bytes == 0) continue;
    const uint64_t begin = a_base + block.offset;
    // The blocks of b are disjoint, so of those that begin before this one's end only the last can overlap it.
    auto next = std::lower_bound(placed.begin(), placed.end(), begin + block.bytes,
                                 [&](const Placed& p, uint64_t end) { return b_base + p.offset < end; });
    if (next != placed.begin() && b_base + (next - 1)->offset + (next - 1)->bytes > begin) return true;
  }
  return false;
}

}  // namespace copse::client
