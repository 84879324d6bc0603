// SPDX-License-Identifier: Apache-2.0
//
// Defines the ways in which a call sends what the program's buffer contains when the call is made.
#ifndef COPSE_CLIENT_TNBC_SENDER_H_
#define COPSE_CLIENT_TNBC_SENDER_H_

#include <cstdint>
#include <memory>

#include "client/tnbc/call_means.h"
#include "client/tnbc/fragmentation.h"

namespace copse::tnbc {

// A Sender provides the memory from which a call's fragments are sent. Calls follow address, Fill [Protect EndCall*]
// Stop; by one thread at a time, which holds the call's lock from Protect to Stop. CopyNext is called by one thread at
// a time without the lock; any thread may call HasAll.
class Sender {
 public:
  virtual ~Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Returns the memory from which the fragments' calls send, at the offsets of the program's buffer or of the packed
  // one; null if this rank sends nothing.
  virtual uint8_t* address() = 0;
  // Copies what has to be copied at once, while the edges are in flight.
  virtual void Fill() {}
  // Keeps stores of the program from changing what is sent. It is called before the caller returns. Returns false if
  // that is impossible, so that the caller has to wait.
  virtual bool Protect() { return true; }
  // It is called after Protect if the caller has to wait after all.
  virtual void Unprotect() {}
  // Copies the next piece. Returns false if none is left.
  virtual bool CopyNext() { return false; }
  // HasAll returns whether everything has been copied; HasCall, whether what call `index` of the fragmentation sends
  // has been.
  virtual bool HasAll() const { return true; }
  virtual bool HasCall(uint32_t /*index*/) const { return true; }
  // It is called when call `index` of the fragmentation is complete.
  virtual void EndCall(uint32_t /*index*/) {}
  // Makes the program's pages writable, once nothing more is sent.
  virtual void Stop() {}
  // MakesWait returns whether a thread that writes to `address` waits for the call. Regret is called if one did so for
  // long: later calls then copy the buffer.
  virtual bool MakesWait(uintptr_t /*address*/) const { return false; }
  virtual void Regret() {}
  // It is called when requests were canceled: the daemon may still read the memory, so no other call gets it.
  virtual void Spoil() {}

 protected:
  Sender() = default;
};

// Makes the sender of a rank's call with these buffers; `fragmentation` must outlive it. With `may_return`, the sender
// is for a call that returns early: null if there is no memory for a copy. Without it, never null.
std::unique_ptr<Sender> MakeSender(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send,
                                   uint8_t* receive, bool may_return);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_SENDER_H_
