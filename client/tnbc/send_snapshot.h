// SPDX-License-Identifier: Apache-2.0
//
// Keeps a call's contribution as it is when the call returns: its pages are read-only until they have been copied.
#ifndef COPSE_CLIENT_TNBC_SEND_SNAPSHOT_H_
#define COPSE_CLIENT_TNBC_SEND_SNAPSHOT_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "client/tnbc/fragmentation.h"
#include "client/tnbc/pages/page_guard.h"

namespace copse::tnbc {

// A SendSnapshot copies a call's send buffer to memory that the daemon reaches, at the same offsets, in the order in
// which the fragmentation's calls are posted. Bytes outside whole pages are copied at once, since their pages also hold
// other data. The rest is cut into pieces: CopyNext copies one; Protect makes those that are left read-only, so that
// the call may return. A thread that writes to one copies it first (PageGuard).
//
// Calls follow Start CopyNext* [Protect CopyNext*]; Drop may come at any time after Start. One thread at a time calls
// CopyNext; any thread may call Protect, Drop, HasCall and HasAll.
class SendSnapshot {
 public:
  // kAtOnce: Start copies everything. It is also for memory that must not be protected, or is not worth protecting.
  enum class Way { kAtOnce, kInPieces };

  explicit SendSnapshot(PageGuard* guard) : guard_(guard) {}
  SendSnapshot(const SendSnapshot&) = delete;
  SendSnapshot& operator=(const SendSnapshot&) = delete;

  // Starts to copy the buffer `from` to `to`. Both must outlive this object. `page`: page size, bytes.
  void Start(const Fragmentation& fragmentation, const uint8_t* from, uint8_t* to, Way way, uint64_t page);
  // Copies the next piece. Returns false if none is left.
  bool CopyNext();
  // Makes the pieces that are left read-only. Returns false, with nothing protected, as PageGuard::ProtectSnapshots
  // does.
  bool Protect();
  // Gives up the pieces that are left, except one that is being copied; their pages become writable.
  void Drop();

  // Returns whether the contribution to call `call` of the fragmentation has been copied. Acquire: pairs with the
  // release in CopyNext.
  bool HasCall(uint32_t call) const {
    return call >= ends_.size() || ends_[call] <= copied_.load(std::memory_order_acquire);
  }
  // Returns whether no piece is left. Acquire: pairs with the releases in Start, CopyNext and Drop.
  bool HasAll() const { return copied_.load(std::memory_order_acquire) >= last_.load(std::memory_order_acquire); }

 private:
  void CutInPieces(const std::vector<std::vector<Extent>>& sent, const uint8_t* from, uint8_t* to, uint64_t page);

  PageGuard* const guard_;
  std::vector<PendingRanges::Found> pieces_;  // in the order of the calls
  std::vector<uint32_t> ends_;  // by call: number of pieces of it and the calls before; empty: all was copied at once
  std::atomic<uint32_t> copied_{0};
  std::atomic<uint32_t> last_{0};  // number of pieces to be copied
  std::mutex mutex_;               // guards the members below
  bool is_copying_ = false;
  bool is_protected_ = false;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_SEND_SNAPSHOT_H_
