// SPDX-License-Identifier: Apache-2.0
//
// The ways in which a call's result comes to the program's receive buffer.
#ifndef COPSE_CLIENT_TNBC_RECEIVER_H_
#define COPSE_CLIENT_TNBC_RECEIVER_H_

#include <cstdint>
#include <memory>

#include "client/tnbc/call_means.h"
#include "client/tnbc/fragmentation.h"
#include "client/tnbc/granules.h"
#include "client/tnbc/pages/pending_ranges.h"
#include "client/tnbc/result_pages.h"

namespace copse::tnbc {

// The place in which a call receives. Calls follow address [Close | PrepareEdges Close PlaceEdges] Place*, or CopyOut;
// by one thread at a time, with the call's lock.
class Receiver {
 public:
  Receiver(const CallMeans& means, const Fragmentation& fragmentation, uint8_t* user)
      : guard_(means.guard), fragmentation_(fragmentation), user_(user) {}
  virtual ~Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  // Returns the memory in which the calls of the fragmentation receive, at the buffer's offsets; null if there is none.
  virtual uint8_t* address() = 0;
  // Returns the buffer and the spare bytes around it; `leaves_rest`: bytes behind it on its last page stay open.
  virtual BufferPlace PlaceOf(bool leaves_rest) const;
  // Makes the pages inaccessible to the program. `edges_too`: the edges have yet to come. Returns false, changing
  // nothing, if that is impossible.
  virtual bool Close(ResultPages* pages, bool /*edges_too*/) { return pages->Close(); }
  // Before Close, if the edges have yet to come. False: they cannot be placed in closed pages.
  virtual bool PrepareEdges() { return true; }
  virtual void DropEdges() {}
  // Brings the data of the edges' call, which is at `from`, to closed pages. Returns false if they are not mapped any
  // more: the program has unmapped them unseen.
  virtual bool PlaceEdges(const uint8_t* from);
  // Does the same for a fragment that a call has received; bytes outside closed pages were there before, and the
  // program may use them again.
  virtual bool Place(const Extent& fragment) { return Write(fragment, address() + fragment.offset); }
  // Brings all that calls have received to the buffer, of which nothing is closed.
  void CopyOut();
  // Called when calls have been given up: the daemon may still write.
  virtual void Spoil() {}

 protected:
  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(user_); }
  // Writes to closed pages of the buffer.
  virtual bool Write(const Extent& fragment, const uint8_t* from);

  PageGuard* const guard_;
  const Fragmentation& fragmentation_;
  uint8_t* const user_;
};

// The receiver of a rank's call with this buffer; `fragmentation` outlives it. `may_return`: early. Returns null if it
// cannot then.
std::unique_ptr<Receiver> MakeReceiver(const CallMeans& means, const Fragmentation& fragmentation, uint8_t* receive,
                                       bool may_return);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_RECEIVER_H_
