// SPDX-License-Identifier: Apache-2.0
//
// Keeps the slots of a port's calls in flight, and which calls are over.
#ifndef COPSE_OFFLOAD_EMU_SLOT_WINDOW_H_
#define COPSE_OFFLOAD_EMU_SLOT_WINDOW_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "offload_emu/cell_memory.h"
#include "offload_emu/counter.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/sequence.h"

namespace copse::emu {

struct CallSlot {
  std::unique_ptr<CounterBlock> block;
  SlotList sequences;
  Cell scratch;
  uint16_t hash = 0;
  bool hash_expected = false;
  bool finished = false;  // finished out of order: not in the prefix yet
};

// A SlotWindow has the calls [finished(), finished() + W), where W is the number of slots: call `seq` is in slot seq
// mod W, and those before finished() are over. Thread-compatible.
class SlotWindow {
 public:
  // `slots` is a power of two. Each has `counters_per_slot` counters, to which records of up to `edges` edges come.
  SlotWindow(uint32_t slots, uint32_t counters_per_slot, uint32_t edges)
      : slot_count_(slots), counters_per_slot_(counters_per_slot), edges_(edges), slots_(slots + 1) {}

  uint32_t SlotOf(uint64_t call) const { return static_cast<uint32_t>(call & (slot_count_ - 1)); }
  // Returns the number below which all calls are over.
  uint64_t finished() const { return finished_; }
  bool Has(uint64_t call) const {
    return call >= finished_ && call - finished_ < slot_count_ && !slots_[SlotOf(call)].finished;
  }
  // Finds the call of the window whose number modulo 2^16 is `sequence`; returns false if there is none, or it is
  // over.
  bool Find(uint16_t sequence, uint64_t* call) const;
  // Returns the call of the window to which `slot` belongs.
  uint64_t CallOf(uint32_t slot) const { return finished_ + ((slot - finished_) & (slot_count_ - 1)); }

  // Slot `slots` has the sequences that belong to no call.
  CallSlot& slot(uint32_t index) { return slots_[index]; }
  const CallSlot& slot(uint32_t index) const { return slots_[index]; }
  const std::vector<CallSlot>& slots() const { return slots_; }

  // Returns the slot's counters, which are made if it has none yet.
  CounterBlock& Block(uint32_t slot);
  uint32_t counter_count() const { return slot_count_ * counters_per_slot_; }
  Counter& counter(CounterIndex index) { return Block(index / counters_per_slot_).counter(index % counters_per_slot_); }
  // Clears the state of a removed edge, whose index another edge may get.
  void ForgetEdge(uint32_t edge);

  // Releases the slot's counters and hash. Precondition: its sequences were dropped.
  void Clear(uint32_t slot);
  // Marks a call of the window, whose slot was cleared, as over. Returns true if finished() grew.
  bool Finish(uint64_t call);

 private:
  const uint32_t slot_count_;
  const uint32_t counters_per_slot_;
  const uint32_t edges_;
  std::vector<CallSlot> slots_;  // plus one for sequences that belong to no call
  std::vector<std::unique_ptr<CounterBlock>> free_blocks_;
  uint64_t finished_ = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_SLOT_WINDOW_H_
