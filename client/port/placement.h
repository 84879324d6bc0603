// SPDX-License-Identifier: Apache-2.0
//
// Chooses the memory through which the daemon accesses the buffers of one call.
#ifndef COPSE_CLIENT_PORT_PLACEMENT_H_
#define COPSE_CLIENT_PORT_PLACEMENT_H_

#include <cstdint>

#include "client/port/arguments.h"
#include "client/port/call_table.h"
#include "client/port/staging.h"
#include "client/port/user_memory.h"
#include "protocol/ring_layout.h"

namespace copse::client {

// A Placement chooses a path for each buffer of a call. Short contributions of regular collectives are sent in the
// entry (inline). Buffers in memory of copse_alloc are used directly (zero-copy). Others are copied into a staging
// buffer before the call and out of it afterwards; blocks are packed there. Where the send buffer is also this rank's
// block of the receive buffer, or the reverse, both share staging memory. Lists of blocks are always staged.
class Placement {
 public:
  // `plan` and `*memory` must outlive this object.
  Placement(const CallPlan& plan, UserMemory* memory);

  // Returns the size of the staging buffer that the call needs; may be 0.
  uint64_t staging_bytes() const { return staging_bytes_; }
  // Copies the contribution, fills in the slot, and records in `*call` the copy of the result and the memory in use.
  // `block` has staging_bytes() bytes.
  void Fill(const Staging::Allocation& block, ring::DqSlot* slot, CallInFlight* call) const;

 private:
  // A BufferPath says how the daemon accesses a buffer's data.
  enum class BufferPath : uint8_t {
    kNothing,  // the buffer is missing or empty
    kInline,   // the data is in the entry
    kDirect,   // the daemon accesses the buffer itself
    kStaged,   // the data is in the staging buffer
    kNested,   // the data is in this rank's block of the other buffer, direct or staged
  };

  void ChooseReceive();
  void ChooseSend();
  uint64_t TakeStaging(uint64_t bytes);
  uint64_t TakeList(const BufferPlan& buffer);

  const CallPlan& plan_;
  UserMemory* const memory_;
  BufferPath send_ = BufferPath::kNothing;
  BufferPath receive_ = BufferPath::kNothing;
  UserMemory::UserRange* send_range_ = nullptr;     // set for kDirect
  UserMemory::UserRange* receive_range_ = nullptr;  // set for kDirect
  // These are offsets in the staging buffer.
  uint64_t send_at_ = 0;
  uint64_t receive_at_ = 0;
  uint64_t send_list_at_ = 0;
  uint64_t receive_list_at_ = 0;
  uint64_t staging_bytes_ = 0;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_PLACEMENT_H_
