// SPDX-License-Identifier: Apache-2.0
//
// Descriptor sequences inside the engine, with their states: armed, ready, waiting or running.
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
  kWaiting,  // on an edge's list, for a label, credit, or room in the outbox
  kRunning,  // on no list
  kParked,   // on no list: it needs memory that is lost, so its owner has to end its call
};

// One posted sequence; its descriptors follow it in memory. It is on the list of its state and on that of its call's
// slot.
struct Sequence {
  Sequence* previous = nullptr;
  Sequence* next = nullptr;
  Sequence* slot_previous = nullptr;
  Sequence* slot_next = nullptr;
  Port* port = nullptr;
  uint64_t threshold = 0;
  CounterIndex counter = kNoCounter;
  uint32_t slot = 0;        // Port::slot_count(): belongs to no call
  uint32_t done_bytes = 0;  // progress in the current descriptor
  uint32_t wait_edge = 0;   // kWaiting: edge that it waits for
  uint8_t priority = 0;
  uint8_t count = 0;
  uint8_t current = 0;
  uint8_t events = 0;  // kEvent descriptors among them
  uint8_t size_class = 0;
  SequenceState state = SequenceState::kArmed;
  bool failed : 1 = false;
  bool lands : 1 = false;    // kArmed: its block has it for direct placement on some counter
  bool dropped : 1 = false;  // kRunning: freed when its descriptor returns

  Descriptor* descriptors() { return reinterpret_cast<Descriptor*>(this + 1); }
};
static_assert(sizeof(Sequence) % alignof(Descriptor) == 0);

// A list through `previous` and `next`.
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

// A set through `slot_previous` and `slot_next`, in order of posting.
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

  // `descriptors`: 1 to kSequenceDescriptorsMax, which are copied.
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
