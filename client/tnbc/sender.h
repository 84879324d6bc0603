// SPDX-License-Identifier: Apache-2.0
//
// The ways in which a call sends what is in the program's buffer when it is made.
#ifndef COPSE_CLIENT_TNBC_SENDER_H_
#define COPSE_CLIENT_TNBC_SENDER_H_

#include <cstdint>
#include <memory>

#include "client/tnbc/call_means.h"
#include "client/tnbc/fragmentation.h"

namespace copse::tnbc {

// Where a call sends from. Calls follow address, Fill [Protect EndCall*] Stop; one thread at a time, with the call's
// lock, except that CopyNext is one thread's without it, and HasAll any thread's.
class Sender {
 public:
  virtual ~Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Where the calls of the fragmentation send from, at the offsets of the program's buffer or of the packed one.
  virtual uint8_t* address() = 0;
  // Copies what has to be copied at once. The edges are posted by then, and travel meanwhile.
  virtual void Fill() {}
  // Before the caller returns: from then on what is sent no longer changes. False: it has to wait.
  virtual bool Protect() { return true; }
  // The caller does not return after all.
  virtual void Unprotect() {}
  // Copies a piece. Returns false if none is left.
  virtual bool CopyNext() { return false; }
  // Returns whether everything is copied, or what call `index` sends.
  virtual bool HasAll() const { return true; }
  virtual bool HasCall(uint32_t /*index*/) const { return true; }
  // Call `index` of the fragmentation is over.
  virtual void EndCall(uint32_t /*index*/) {}
  // Nothing more is sent: the program's pages become writable.
  virtual void Stop() {}
  // Returns whether a thread that writes there waits for the call; and that one did, so that later calls had better
  // copy.
  virtual bool MakesWait(uintptr_t /*address*/) const { return false; }
  virtual void Regret() {}
  // Calls have been given up: the daemon may still read.
  virtual void Spoil() {}

 protected:
  Sender() = default;
};

// The sender of a rank's call with these buffers; `fragmentation` outlives it. `may_return`: early. Returns null if it
// cannot then.
std::unique_ptr<Sender> MakeSender(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send,
                                   uint8_t* receive, bool may_return);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_SENDER_H_
