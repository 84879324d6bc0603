// SPDX-License-Identifier: Apache-2.0
//
// Chooses where the memory of one call lies, so that the daemon reaches it.
#ifndef COPSE_CLIENT_PORT_PLACEMENT_H_
#define COPSE_CLIENT_PORT_PLACEMENT_H_

#include <cstdint>

#include "client/port/arguments.h"
#include "client/port/call_table.h"
#include "client/port/staging.h"
#include "client/port/user_memory.h"
#include "protocol/ring_layout.h"

namespace copse::client {

// Short contributions travel in the entry (eager). Buffers in memory of copse_alloc are used as they are (zero-copy).
// Others are copied into staged memory before the call and out of it afterwards; blocks lie there one after another. A
// contribution that is also the rank's own block of the result (or the other way round) is put there at once. Lists of
// blocks are always staged.
class Placement {
 public:
  // `plan` and `*memory` outlive it.
  Placement(const CallPlan& plan, UserMemory* memory);

  // The bytes of staging that the call needs; may be 0.
  uint64_t staging_bytes() const { return staging_bytes_; }
  // Copies the contribution, fills in the slot, and notes in `*call` what its event has to do. `block` has
  // staging_bytes.
  void Fill(const Staging::Allocation& block, ring::DqSlot* slot, CallInFlight* call) const;

 private:
  // The way of a buffer's data.
  enum class BufferPath : uint8_t {
    kNothing,  // the buffer is missing or empty
    kInline,   // it travels in the entry
    kDirect,   // the daemon reaches it
    kStaged,   // it has a part of the staged memory
    kNested,   // it lies in the rank's own block of the other one
  };

  void ChooseReceive();
  void ChooseSend();
  uint64_t TakeStaging(uint64_t bytes);
  uint64_t TakeList(const BufferPlan& buffer);

  const CallPlan& plan_;
  UserMemory* const memory_;
  BufferPath send_ = BufferPath::kNothing;
  BufferPath receive_ = BufferPath::kNothing;
  UserMemory::UserRange* send_range_ = nullptr;     // of kDirect
  UserMemory::UserRange* receive_range_ = nullptr;  // likewise
  // Offsets in the staged memory.
  uint64_t send_at_ = 0;
  uint64_t receive_at_ = 0;
  uint64_t send_list_at_ = 0;
  uint64_t receive_list_at_ = 0;
  uint64_t staging_bytes_ = 0;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_PLACEMENT_H_
