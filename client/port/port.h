// SPDX-License-Identifier: Apache-2.0
//
// The client's view of its virtual port: the rings of ring_layout.h.
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

// Its context's lock guards everything but Wait, which one thread calls without the lock. The client's own indices are
// kept in private memory, so that a stray write of the application into the mapping cannot make this class leave it.
class Port {
 public:
  enum class Next { kEvent, kNone, kBroken };

  // Maps what the daemon sent along with `reply`. Errors: VERSION with both numbers; INTERNAL if the memory is not what
  // the reply says.
  static copse_status_t Map(const attach::AttachReply& reply, FileDescriptor memory, FileDescriptor daemon_page,
                            FileDescriptor doorbell, std::unique_ptr<Port>* port);

  // Appends an entry and wakes the daemon if it sleeps. False if the queue is full.
  bool Push(const ring::DqSlot& slot);
  // Wakes the daemon if it sleeps.
  void Ring();

  // Takes the next event. kBroken: the daemon's indices make no sense; nothing can be taken any more.
  Next Pop(ring::EqEntry* event);

  // What Wait needs to know about the events taken so far.
  uint64_t events_seen() const { return eq_head_; }
  // Until there are events beyond `seen`, the port is closed, or `until`. First spins a little, as long as that pays.
  void Wait(uint64_t seen, Deadline until);
  // Who sleeps in Wait returns. For any thread.
  void Interrupt();

  // What is known of a failed event beside its code.
  FailureFacts Facts(const ring::EqEntry& event) const;
  // A failure text of an event; empty if the event has none.
  std::string Text(uint32_t index) const;

  // Counts of the process's that the daemon shows. Thread-safe.
  void SetEarly(ring::EarlyCount count, uint64_t value) {
    header_->early[static_cast<uint32_t>(count)].store(value, std::memory_order_relaxed);
  }
  void AddEarly(ring::EarlyCount count, uint64_t more) {
    header_->early[static_cast<uint32_t>(count)].fetch_add(more, std::memory_order_relaxed);
  }

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
  uint64_t facts_offset_ = 0;  // 0: an older daemon, which has none
  uint64_t data_offset_ = 0;
  uint64_t data_bytes_ = 0;
  uint64_t dq_tail_ = 0;
  uint64_t eq_head_ = 0;
  const std::atomic<uint32_t>* wake_word_ = nullptr;  // what Wait sleeps on
  uint32_t wake_bits_ = ~0u;
  Spinner spinner_{false};  // of the one waiting thread
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_PORT_H_
