// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/copy_memory.h"

#include <algorithm>

namespace copse::tnbc {
namespace {

constexpr uint64_t kUnitBytes = 256 << 10;

}  // namespace

CopyMemory::~CopyMemory() {
  for (const Buffer& block : free_) copse_free(context_, block.address);
}

// Takes the smallest free block that is long enough and not more than twice too long; else allocates one, for which it
// frees others if the limit requires that.
CopyMemory::Buffer CopyMemory::Take(uint64_t bytes) {
  const uint64_t wanted = (std::max<uint64_t>(bytes, 1) + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
  const std::lock_guard lock(mutex_);
  auto best = free_.end();
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    if (block->bytes < wanted || block->bytes > 2 * wanted) continue;
    if (best == free_.end() || block->bytes < best->bytes) best = block;
  }
  if (best != free_.end()) {
    const Buffer found = *best;
    free_.erase(best);
    return found;
  }
  while (bytes_ + wanted > bytes_max_ && !free_.empty()) {
    copse_free(context_, free_.front().address);
    bytes_ -= free_.front().bytes;
    free_.erase(free_.begin());
  }
  void* address = nullptr;
  if (bytes_ + wanted > bytes_max_ || copse_alloc(context_, wanted, &address) != COPSE_OK) return {};
  bytes_ += wanted;
  return {static_cast<uint8_t*>(address), wanted};
}

void CopyMemory::GiveBack(const Buffer& block) {
  if (block.address == nullptr) return;
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

void CopyMemory::Drop(const Buffer& block) {
  if (block.address == nullptr) return;
  copse_free(context_, block.address);
  const std::lock_guard lock(mutex_);
  bytes_ -= block.bytes;
}

}  // namespace copse::tnbc
