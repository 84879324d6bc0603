// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/slot_window.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace copse::emu {
namespace {

// Limits the counter blocks kept for the next calls; two are kept in any case. A block takes a few KB.
constexpr uint64_t kFreeBlockBytesMax = 16 * 1024;

}  // namespace

bool SlotWindow::Find(uint16_t sequence, uint64_t* call) const {
  const uint16_t ahead = static_cast<uint16_t>(sequence - static_cast<uint16_t>(finished_));
  *call = finished_ + ahead;
  return ahead < slot_count_ && !slots_[SlotOf(*call)].finished;
}

CounterBlock& SlotWindow::Block(uint32_t slot) {
  std::unique_ptr<CounterBlock>& block = slots_[slot].block;
  if (block != nullptr) return *block;
  if (free_blocks_.empty()) {
    block = std::make_unique<CounterBlock>(counters_per_slot_, edges_);
  } else {
    block = std::move(free_blocks_.back());
    free_blocks_.pop_back();
  }
  return *block;
}

void SlotWindow::ForgetEdge(uint32_t edge) {
  for (uint32_t i = 0; i < slot_count_; ++i) {
    if (slots_[i].block != nullptr) slots_[i].block->ForgetEdge(edge);
  }
}

void SlotWindow::Clear(uint32_t index) {
  CallSlot& slot = slots_[index];
  CHECK(slot.sequences.front() == nullptr);
  slot.hash_expected = false;
  if (slot.block == nullptr) return;
  if (free_blocks_.size() <
      std::max<uint64_t>(2, kFreeBlockBytesMax / CounterBlock::BytesFor(counters_per_slot_, edges_))) {
    slot.block->Clear();
    free_blocks_.push_back(std::move(slot.block));
  }
  slot.block.reset();
}

bool SlotWindow::Finish(uint64_t call) {
  slots_[SlotOf(call)].finished = true;
  const uint64_t before = finished_;
  while (slots_[SlotOf(finished_)].finished) slots_[SlotOf(finished_++)].finished = false;
  return finished_ != before;
}

}  // namespace copse::emu
