// SPDX-License-Identifier: Apache-2.0
//
// A call's contribution as it is when the call returns: copied piece by piece, and protected until then.
#ifndef COPSE_CLIENT_TNBC_SEND_SNAPSHOT_H_
#define COPSE_CLIENT_TNBC_SEND_SNAPSHOT_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "client/tnbc/fragmentation.h"
#include "client/tnbc/pages/page_guard.h"

namespace copse::tnbc {

// A call's buffer is copied to memory that the daemon reaches, at the same offsets, in the order in which the
// fragmentation's calls are posted. Bytes beside whole pages are copied at once, since their pages are also others'.
// The rest is cut into pieces: CopyNext copies one; Protect makes the ones that are left read-only, so that the call
// may return. A thread that writes to one copies it first (PageGuard).
//
// Calls follow Start CopyNext* [Protect CopyNext*] and then, or at any time, Drop; CopyNext by one thread at a time,
// others by any.
class SendSnapshot {
 public:
  // kAtOnce also holds for memory that is not worth protecting, or may not be protected.
  enum class Way { kAtOnce, kInPieces };

  explicit SendSnapshot(PageGuard* guard) : guard_(guard) {}
  SendSnapshot(const SendSnapshot&) = delete;
  SendSnapshot& operator=(const SendSnapshot&) = delete;

  // `page`: bytes of one.
  void Start(const Fragmentation& fragmentation, const uint8_t* from, uint8_t* to, Way way, uint64_t page);
  // Copies a piece. Returns false if none is left.
  bool CopyNext();
  // Protects the pieces that are left. Returns false, having protected nothing, if there is no room for more, or if
  // part of the memory is protected already.
  bool Protect();
  // Drops the pieces that are left, except one that is being copied.
  void Drop();

  // Returns whether the contribution to a call of the fragmentation is copied. Acquire: pairs with CopyNext.
  bool HasCall(uint32_t call) const {
    return call >= ends_.size() || ends_[call] <= copied_.load(std::memory_order_acquire);
  }
  // Acquire: pairs with Start, CopyNext and Drop.
  bool HasAll() const { return copied_.load(std::memory_order_acquire) >= last_.load(std::memory_order_acquire); }

 private:
  void CutInPieces(const std::vector<std::vector<Extent>>& sent, const uint8_t* from, uint8_t* to, uint64_t page);

  PageGuard* const guard_;
  std::vector<PendingRanges::Found> pieces_;  // in order of calls
  std::vector<uint32_t> ends_;  // by call: the pieces of it and of former ones; empty: all was copied at once
  std::atomic<uint32_t> copied_{0};
  std::atomic<uint32_t> last_{0};  // pieces that are wanted
  std::mutex mutex_;               // guards what follows
  bool is_copying_ = false;
  bool is_protected_ = false;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_SEND_SNAPSHOT_H_
