// SPDX-License-Identifier: Apache-2.0
//
// Implements the client's side of a virtual port: the rings of ring_layout.h.
#ifndef COPSE_CLIENT_PORT_PORT_H_
#define COPSE_CLIENT_PORT_PORT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "client/copse.h"
#include "client/port/deadline.h"
#include "client/port/file_descriptor.h"
#include "client/port/spinner.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

namespace copse::client {

// A Port owns the mapping of the shared memory and its queues. The context's lock guards all functions but Wait, which
// one thread at a time calls without the lock, and those marked thread-safe. The client's own indices are kept in
// private memory, so that a stray write of the application into the mapping cannot cause accesses outside of it.
class Port {
 public:
  enum class Next { kEvent, kNone, kBroken };

  // Maps the memory that the daemon sent with `reply`. Errors: VERSION with both numbers; INTERNAL if the memory is
  // missing or does not match the reply; NO_MEMORY if it cannot be mapped.
  static copse_status_t Map(const attach::AttachReply& reply, FileDescriptor memory, FileDescriptor daemon_page,
                            FileDescriptor doorbell, std::unique_ptr<Port>* port);

  // Appends an entry and wakes the daemon if it sleeps. Returns false if the queue is full.
  bool Push(const ring::DqSlot& slot);
  // Wakes the daemon if it sleeps.
  void Ring();

  // Takes the next event. kBroken: the daemon's index is out of range, so that no event can be taken any more.
  Next Pop(ring::EqEntry* event);

  // Returns the number of events taken so far, for Wait.
  uint64_t events_seen() const { return eq_head_; }
  // Blocks until there are events beyond `seen`, the port is closed, or `until`; may return earlier. Spins first, for a
  // time that Spinner limits.
  void Wait(uint64_t seen, Deadline until);
  // Wakes the thread blocked in Wait(), if any. Thread-safe.
  void Interrupt();

  // Returns the facts of a failed event: those of its slot if the daemon has not reused it, and those in the event.
  FailureFacts Facts(const ring::EqEntry& event) const;
  // Returns the failure text of an event's index; empty if the index is out of range, which means that there is none.
  std::string Text(uint32_t index) const;

  // These set and increase the process's counters of asynchronous completion, which the daemon reports. Thread-safe.
  void SetEarly(ring::EarlyCount count, uint64_t value) {
    header_->early[static_cast<uint32_t>(count)].store(value, std::memory_order_relaxed);
  }
  void AddEarly(ring::EarlyCount count, uint64_t more) {
    header_->early[static_cast<uint32_t>(count)].fetch_add(more, std::memory_order_relaxed);
  }

  // Returns whether the daemon has closed the port. Acquire: pairs with the daemon's store, so that events which it
  // posted before are visible.
  bool closed() const { return header_->closed.load(std::memory_order_acquire) != 0; }
  uint8_t* data() const { return memory_.data() + data_offset_; }
  uint64_t data_bytes() const { return data_bytes_; }
  uint32_t dq_entries() const { return dq_entries_; }
  uint32_t eq_entries() const { return eq_entries_; }

 private:
  Port() = default;
  void SetWakeWord(uint32_t offset, uint32_t bits);
  bool HasNews(uint64_t seen) const;
  bool Spin(uint64_t seen, Deadline until);

  Mapping memory_;
  Mapping page_;
  FileDescriptor doorbell_;
  ring::PortHeader* header_ = nullptr;
  const ring::DaemonPage* daemon_ = nullptr;
  uint32_t dq_entries_ = 0;
  uint32_t eq_entries_ = 0;
  uint64_t dq_offset_ = 0;
  uint64_t eq_offset_ = 0;
  uint64_t text_offset_ = 0;
  uint64_t facts_offset_ = 0;  // 0: an older daemon, which sends no facts
  uint64_t data_offset_ = 0;
  uint64_t data_bytes_ = 0;
  uint64_t dq_tail_ = 0;
  uint64_t eq_head_ = 0;
  const std::atomic<uint32_t>* wake_word_ = nullptr;  // futex of Wait
  uint32_t wake_bits_ = ~0u;
  Spinner spinner_{false};  // used by the waiting thread only
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_PORT_H_
