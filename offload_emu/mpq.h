// SPDX-License-Identifier: Apache-2.0
//
// The mini-packet queue of a port holds received packets in order of arrival.
#ifndef COPSE_OFFLOAD_EMU_MPQ_H_
#define COPSE_OFFLOAD_EMU_MPQ_H_

#include <cstdint>
#include <vector>

#include "offload_emu/packet.h"

namespace copse::emu {

// A MiniPacketQueue holds up to `entries` packets; one that arrives when it is full is refused, as by the Tianhe
// NIC. Its memory is allocated at its first packet. Thread-compatible.
class MiniPacketQueue {
 public:
  explicit MiniPacketQueue(uint32_t entries) : entries_(entries) {}

  bool full() const { return count_ == entries_; }
  // Returns false if the queue is full.
  bool Push(const MpPacket& packet, uint32_t payload_bytes) {
    if (full()) return false;
    if (ring_.empty()) ring_.resize(entries_);
    ring_[(first_ + count_++) % entries_] = QueuedPacket{packet, payload_bytes};
    return true;
  }
  // Returns false if the queue is empty.
  bool Pop(MpPacket* packet, uint32_t* payload_bytes) {
    if (count_ == 0) return false;
    *packet = ring_[first_].packet;
    *payload_bytes = ring_[first_].payload_bytes;
    first_ = (first_ + 1) % entries_;
    --count_;
    return true;
  }

 private:
  struct QueuedPacket {
    MpPacket packet;
    uint32_t payload_bytes;
  };
  const uint32_t entries_;
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  std::vector<QueuedPacket> ring_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_MPQ_H_
