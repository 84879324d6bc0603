// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/client_port.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"

namespace copse::daemon {

absl::StatusOr<std::unique_ptr<ClientPort>> ClientPort::Create(const PortSizes& sizes, GroupWake* groups) {
  const ring::Geometry geometry = ring::Lay(sizes.dq_entries, sizes.eq_entries, sizes.data_bytes);
  ASSIGN_OR_RETURN(UniqueFd fd, CreateMemoryFile("copse-port", geometry.total_bytes));
  RETURN_IF_ERROR(SealSeals(fd.get(), /*against_new_writers=*/false));
  ASSIGN_OR_RETURN(Mapping mapping, Mapping::MapForClient(fd.get(), geometry.total_bytes));
  return std::unique_ptr<ClientPort>(new ClientPort(sizes, groups, std::move(fd), std::move(mapping)));
}

ClientPort::ClientPort(const PortSizes& sizes, GroupWake* groups, UniqueFd fd, Mapping mapping)
    : sizes_(sizes),
      groups_(groups),
      seat_(groups->Take()),
      geometry_(ring::Lay(sizes.dq_entries, sizes.eq_entries, sizes.data_bytes)),
      fd_(std::move(fd)),
      mapping_(std::move(mapping)),
      header_(new (mapping_.data()) ring::PortHeader{}) {
  header_->magic = ring::kMagic;
  header_->ring_version = kRingLayoutVersion;
  header_->dq_entries = sizes.dq_entries;
  header_->eq_entries = sizes.eq_entries;
  header_->dq_offset = geometry_.dq_offset;
  header_->eq_offset = geometry_.eq_offset;
  header_->text_offset = geometry_.text_offset;
  header_->facts_offset = geometry_.facts_offset;
  header_->data_offset = geometry_.data_offset;
  header_->data_bytes = sizes.data_bytes;
  header_->total_bytes = geometry_.total_bytes;
  header_->wake_offset = static_cast<uint32_t>(offsetof(ring::DaemonPage, wake) + seat_.word * sizeof(ring::WakeWord));
  header_->wake_bits = 1u << seat_.bit;
}

absl::StatusOr<uint32_t> ClientPort::Posted() const {
  // Pairs with the client's store of dq_tail: the entries written before it are visible. Both are seq_cst, as the
  // daemon sets `sleeping` before this load, and the client loads `sleeping` after its store.
  const uint64_t tail = header_->dq_tail.load(std::memory_order_seq_cst);
  const uint64_t posted = tail - dq_head_;
  if (posted > sizes_.dq_entries) {
    return absl::InvalidArgumentError(absl::StrCat("descriptor queue: impossible tail (tail=", tail,
                                                   ", head=", dq_head_, ", limit=", sizes_.dq_entries, ")"));
  }
  return static_cast<uint32_t>(posted);
}

ring::DqSlot ClientPort::Take() {
  const uint64_t index = dq_head_ & (sizes_.dq_entries - 1);
  ring::DqSlot slot;
  memcpy(&slot, mapping_.data() + geometry_.dq_offset + index * sizeof(ring::DqSlot), sizeof(slot));
  // The client may still write: only the copy counts from now on, and the compiler must not read again.
  asm volatile("" ::: "memory");
  // Pairs with the client's acquire load of dq_head: the copy is complete before the client reuses the place.
  header_->dq_head.store(++dq_head_, std::memory_order_release);
  return slot;
}

absl::StatusOr<uint32_t> ClientPort::EventRoom() const {
  // Pairs with the client's release store of eq_head: it has read the entries that become free.
  const uint64_t head = header_->eq_head.load(std::memory_order_acquire);
  const uint64_t used = eq_tail_ - head;
  if (used > sizes_.eq_entries) {
    return absl::InvalidArgumentError(absl::StrCat("event queue: impossible head (head=", head, ", tail=", eq_tail_,
                                                   ", limit=", sizes_.eq_entries, ")"));
  }
  return sizes_.eq_entries - static_cast<uint32_t>(used);
}

void ClientPort::PutEvent(uint64_t value, uint64_t sequence, const schedule::FailureReport& why) {
  ring::EqEntry entry{};
  entry.value = value;
  entry.sequence = sequence;
  entry.text = ring::kNoText;
  if (why.failure != Failure::kNone) {
    const ring::FailureSlot slot{value, FactsOf(why)};
    entry.status = -static_cast<int32_t>(why.failure);
    entry.cause = slot.facts.cause;
    entry.has_rank = slot.facts.has_rank;
    entry.rank = slot.facts.rank;
    entry.text = next_text_++ % ring::kTextCount;
    char kept[ring::kTextBytes] = {};
    memcpy(kept, why.text.data(), std::min<size_t>(why.text.size(), sizeof(kept) - 1));
    memcpy(mapping_.data() + geometry_.text_offset + entry.text * ring::kTextBytes, kept, sizeof(kept));
    memcpy(mapping_.data() + geometry_.facts_offset + entry.text * sizeof(slot), &slot, sizeof(slot));
  }
  const uint64_t index = eq_tail_ & (sizes_.eq_entries - 1);
  memcpy(mapping_.data() + geometry_.eq_offset + index * sizeof(entry), &entry, sizeof(entry));
  ++eq_tail_;
  // Pairs with the client's acquire load of eq_tail: it sees the entry. The futex word changes before eq_waiting is
  // read (both seq_cst), so a client that is about to sleep sees the change or is seen waiting.
  header_->eq_tail.store(eq_tail_, std::memory_order_release);
  header_->eq_futex.store(static_cast<uint32_t>(eq_tail_), std::memory_order_seq_cst);
  events_put_ = true;
}

bool ClientPort::WakeIfWaiting() {
  // Pairs with the client's store of eq_waiting: PutEvent changed the futex word before, so either the client sees the
  // new word or this load sees that it waits.
  switch (header_->eq_waiting.load(std::memory_order_seq_cst)) {
    case ring::kWaitsOnNothing:
      return false;
    case ring::kWaitsOnPage:
      groups_->Add(seat_);
      return true;
    default:  // kWaitsOnPort, or any other value that the client has written
      Wake();
      return true;
  }
}

void ClientPort::Close() {
  // The client reads the futex word before it reads `closed`. The word changes after the store of `closed`, so a client
  // that has missed the store does not sleep on the old word.
  header_->closed.store(1, std::memory_order_seq_cst);
  header_->eq_futex.fetch_add(1, std::memory_order_seq_cst);
  Wake();
  groups_->Add(seat_);
  groups_->Wake();
}

void ClientPort::Wake() { syscall(SYS_futex, &header_->eq_futex, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace copse::daemon
