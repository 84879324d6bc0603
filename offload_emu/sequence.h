// SPDX-License-Identifier: Apache-2.0
//
// Holds posted descriptor sequences, with their states, in the engine.
#ifndef COPSE_OFFLOAD_EMU_SEQUENCE_H_
#define COPSE_OFFLOAD_EMU_SEQUENCE_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "offload_emu/descriptor.h"

namespace copse::emu {

class Port;

inline constexpr uint32_t kSequenceDescriptorsMax = 64;

enum class SequenceState : uint8_t {
  kArmed,    // on its counter's list
  kReady,    // on its job's list
  kWaiting,  // on an edge's list, for a label, credit, room in the outbox or (gets) a reply
  kRunning,  // on no list
  kParked,   // on no list: it accesses lost memory, so the port's owner has to end the call
};

// A Sequence is one posted sequence; its descriptors follow it in memory. It is on the list of its state and on that of
// its call's slot.
struct Sequence {
  Sequence* previous = nullptr;
  Sequence* next = nullptr;
  Sequence* slot_previous = nullptr;
  Sequence* slot_next = nullptr;
  Port* port = nullptr;
  uint64_t threshold = 0;
  CounterIndex counter = kNoCounter;
  uint32_t slot = 0;        // PortOptions::slots: belongs to no call
  uint32_t done_bytes = 0;  // progress in the current descriptor (kCopyList: runs)
  uint32_t wait_edge = 0;   // kWaiting: the edge on whose list it is
  uint8_t priority = 0;
  uint8_t count = 0;
  uint8_t current = 0;
  uint8_t events = 0;  // number of kEvent descriptors
  uint8_t size_class = 0;
  SequenceState state = SequenceState::kArmed;
  bool failed : 1 = false;
  bool lands : 1 = false;    // kArmed: registered for direct placement in its CounterBlock
  bool dropped : 1 = false;  // kRunning: freed when its descriptor returns

  Descriptor* descriptors() { return reinterpret_cast<Descriptor*>(this + 1); }
};
static_assert(sizeof(Sequence) % alignof(Descriptor) == 0);

// A SequenceList links sequences by `previous` and `next`; it does not own them.
class SequenceList {
 public:
  bool empty() const { return head_ == nullptr; }
  Sequence* front() const { return head_; }
  Sequence* back() const { return tail_; }
  void PushBack(Sequence* sequence) { InsertAfter(tail_, sequence); }
  // A null `place` means the front.
  void InsertAfter(Sequence* place, Sequence* sequence);
  void Remove(Sequence* sequence);

 private:
  Sequence* head_ = nullptr;
  Sequence* tail_ = nullptr;
};

// A SlotList links a slot's sequences by `slot_previous` and `slot_next`, in order of posting.
class SlotList {
 public:
  Sequence* front() const { return head_; }
  void PushBack(Sequence* sequence);
  void Remove(Sequence* sequence);

 private:
  Sequence* head_ = nullptr;
  Sequence* tail_ = nullptr;
};

// A SequencePool makes sequences and keeps freed ones, up to a bound, by size. Thread-compatible.
class SequencePool {
 public:
  static constexpr uint64_t kRetainedBytesMax = 64 * 1024;

  SequencePool() = default;
  SequencePool(const SequencePool&) = delete;
  SequencePool& operator=(const SequencePool&) = delete;
  ~SequencePool();

  // Returns a new sequence with a copy of `descriptors`, 1 to kSequenceDescriptorsMax.
  Sequence* New(absl::Span<const Descriptor> descriptors);
  void Free(Sequence* sequence);

 private:
  static constexpr int kClassCount = 7;  // 1, 2, 4 ... 64 descriptors
  static uint64_t ClassBytes(int size_class) { return sizeof(Sequence) + (sizeof(Descriptor) << size_class); }

  std::array<Sequence*, kClassCount> free_{};
  uint64_t retained_bytes_ = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_SEQUENCE_H_
