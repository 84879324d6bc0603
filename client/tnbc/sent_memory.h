// SPDX-License-Identifier: Apache-2.0
//
// What a call sends, where the daemon reads it from the program's own pages.
#ifndef COPSE_CLIENT_TNBC_SENT_MEMORY_H_
#define COPSE_CLIENT_TNBC_SENT_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "client/tnbc/fragmentation.h"
#include "client/tnbc/granules.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/remapped_memory.h"

namespace copse::tnbc {

// A send buffer that is not copied: the daemon reaches its pages, or they are remapped. From the call's return until
// the calls of the fragmentation that send of a page are over, it is read-only: who writes there waits. For memory that
// is written to at once SendSnapshot is better, so who has waited keeps later calls from this (RemappedMemory::Regret).
//
// Calls follow Prepare CopySides [Protect EndCall*] Open; by one thread at a time.
class SentMemory {
 public:
  // `adopted`: null: nothing is sent so.
  SentMemory(PageGuard* guard, RemappedMemory* remapped) : guard_(guard), remapped_(remapped) {}
  SentMemory(const SentMemory&) = delete;
  SentMemory& operator=(const SentMemory&) = delete;

  // False: it has to be copied. `is_reached`: the daemon reaches it as it is.
  bool Prepare(const Range& sent, bool is_reached);
  bool is_used() const { return is_used_; }
  // Where the calls send from, at the same offsets.
  uint8_t* address() const;
  // Copies the bytes beside whole pages, before anything is sent.
  void CopySides();
  // Makes the pages read-only of which calls of the fragmentation send. False, having protected nothing, as PageGuard.
  bool Protect(const Fragmentation& fragmentation);
  // Call `index` of the fragmentation is over.
  void EndCall(uint32_t index);
  // Opens what is left.
  void Open();
  // Whether somebody who writes to it waits while it is protected.
  bool Has(uintptr_t address) const { return is_used_ && address >= sent_.begin && address < sent_.end; }
  void Regret() { remapped_->Regret(sent_); }
  // The daemon may still read it, as its calls are given up.
  void Spoil();

 private:
  PageGuard* const guard_;
  RemappedMemory* const remapped_;
  Range sent_;
  bool is_used_ = false;
  std::shared_ptr<RemappedBuffer> buffer_;  // null: the daemon reaches it as it is
  std::vector<Granule> granules_;           // what has yet to be sent: by which calls
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_SENT_MEMORY_H_
