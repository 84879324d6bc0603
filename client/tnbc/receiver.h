// SPDX-License-Identifier: Apache-2.0
//
// Defines the ways in which results get into the program's receive buffer.
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

// A Receiver provides the memory in which a call's fragments are received, and writes them to the program's buffer.
// Calls follow address [Close | PrepareEdges Close PlaceEdges] Place*, or CopyOut; by one thread at a time, which holds
// the call's lock in Close, PlaceEdges and Place. Closed pages are inaccessible to the program.
class Receiver {
 public:
  Receiver(const CallMeans& means, const Fragmentation& fragmentation, uint8_t* user)
      : guard_(means.guard), fragmentation_(fragmentation), user_(user) {}
  virtual ~Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  // Returns the memory in which the fragments' calls receive, at the offsets of the program's buffer; null if this rank
  // has no result.
  virtual uint8_t* address() = 0;
  // Returns where the buffer lies, with spare bytes. `leaves_rest`: none after the buffer, so that the rest of its last
  // page stays accessible.
  virtual BufferPlace PlaceOf(bool leaves_rest) const;
  // Makes the pages inaccessible to the program. `edges_too`: the edges have not arrived yet. Returns false, with no
  // page closed, if that is impossible.
  virtual bool Close(ResultPages* pages, bool /*edges_too*/) { return pages->Close(); }
  // PrepareEdges is called before Close if the edges have not arrived yet; it returns false if they could not be
  // written to closed pages. DropEdges undoes it.
  virtual bool PrepareEdges() { return true; }
  virtual void DropEdges() {}
  // Writes the edges, which are packed at `from`, to closed pages. Returns false if these are no longer mapped, since
  // the program has unmapped them without the preload's notice.
  virtual bool PlaceEdges(const uint8_t* from);
  // Writes a fragment that a call has received to closed pages. Returns false as PlaceEdges does.
  virtual bool Place(const Extent& fragment) { return Write(fragment, address() + fragment.offset); }
  // Copies what the calls have received to the program's buffer, of which no page may be closed.
  void CopyOut();
  // It is called when requests were canceled: the daemon may still write to the memory, so no other call gets it.
  virtual void Spoil() {}

 protected:
  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(user_); }
  // Writes to closed pages of the buffer. Returns false if the kernel refuses, as they are not mapped.
  virtual bool Write(const Extent& fragment, const uint8_t* from);

  PageGuard* const guard_;
  const Fragmentation& fragmentation_;
  uint8_t* const user_;
};

// Makes the receiver of a rank's call with the buffer `receive`; `fragmentation` must outlive it. With `may_return`,
// the receiver is for a call that returns early: null if the buffer does not allow that or there is no memory for a
// copy. Without it, never null.
std::unique_ptr<Receiver> MakeReceiver(const CallMeans& means, const Fragmentation& fragmentation, uint8_t* receive,
                                       bool may_return);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_RECEIVER_H_
