// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/sequence.h"

#include <bit>
#include <memory>
#include <new>
#include <type_traits>

#include "base/check.h"

namespace copse::emu {

static_assert(std::is_trivially_destructible_v<Descriptor> && std::is_trivially_destructible_v<Sequence>);

void SequenceList::InsertAfter(Sequence* place, Sequence* sequence) {
  sequence->previous = place;
  sequence->next = place == nullptr ? head_ : place->next;
  (sequence->next == nullptr ? tail_ : sequence->next->previous) = sequence;
  (place == nullptr ? head_ : place->next) = sequence;
}

void SequenceList::Remove(Sequence* sequence) {
  (sequence->previous == nullptr ? head_ : sequence->previous->next) = sequence->next;
  (sequence->next == nullptr ? tail_ : sequence->next->previous) = sequence->previous;
  sequence->previous = sequence->next = nullptr;
}

void SlotList::PushBack(Sequence* sequence) {
  sequence->slot_previous = tail_;
  sequence->slot_next = nullptr;
  (tail_ == nullptr ? head_ : tail_->slot_next) = sequence;
  tail_ = sequence;
}

void SlotList::Remove(Sequence* sequence) {
  (sequence->slot_previous == nullptr ? head_ : sequence->slot_previous->slot_next) = sequence->slot_next;
  (sequence->slot_next == nullptr ? tail_ : sequence->slot_next->slot_previous) = sequence->slot_previous;
  sequence->slot_previous = sequence->slot_next = nullptr;
}

SequencePool::~SequencePool() {
  for (Sequence* head : free_) {
    while (head != nullptr) {
      Sequence* next = head->next;
      ::operator delete(head);
      head = next;
    }
  }
}

Sequence* SequencePool::New(absl::Span<const Descriptor> descriptors) {
  CHECK_GE(descriptors.size(), 1u);
  CHECK_LE(descriptors.size(), kSequenceDescriptorsMax);
  const int size_class = std::bit_width(descriptors.size() - 1);
  void* memory = free_[size_class];
  if (memory != nullptr) {
    free_[size_class] = free_[size_class]->next;
    retained_bytes_ -= ClassBytes(size_class);
  } else {
    memory = ::operator new(ClassBytes(size_class));
  }
  Sequence* sequence = new (memory) Sequence;
  sequence->size_class = static_cast<uint8_t>(size_class);
  sequence->count = static_cast<uint8_t>(descriptors.size());
  std::uninitialized_copy(descriptors.begin(), descriptors.end(), sequence->descriptors());
  return sequence;
}

void SequencePool::Free(Sequence* sequence) {
  const uint64_t bytes = ClassBytes(sequence->size_class);
  if (retained_bytes_ + bytes > kRetainedBytesMax) {
    ::operator delete(sequence);
    return;
  }
  retained_bytes_ += bytes;
  sequence->next = free_[sequence->size_class];
  free_[sequence->size_class] = sequence;
}

}  // namespace copse::emu
