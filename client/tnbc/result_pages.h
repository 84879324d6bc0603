// SPDX-License-Identifier: Apache-2.0
//
// Tracks the pages of a result that are inaccessible to the program ("closed"), each until the calls that write to it
// are delivered.
#ifndef COPSE_CLIENT_TNBC_RESULT_PAGES_H_
#define COPSE_CLIENT_TNBC_RESULT_PAGES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/tnbc/fragmentation.h"
#include "client/tnbc/granules.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/pending_ranges.h"
#include "client/tnbc/trace/call_recorder.h"

namespace copse::tnbc {

// A ResultPages closes the granules of one call's result, and opens each when its calls are delivered.
// Thread-compatible: the call's lock guards it. Invariant: a granule is released once none of its calls is missing.
class ResultPages {
 public:
  // `record` gets the accesses to the pages; null: they are not recorded. All pointers must outlive this object.
  ResultPages(PageGuard* guard, const Fragmentation* fragmentation, RecordedCall* record)
      : guard_(guard), fragmentation_(fragmentation), record_(record) {}
  ResultPages(const ResultPages&) = delete;
  ResultPages& operator=(const ResultPages&) = delete;

  // Sets the granules that Close is to close, in place of those of an earlier attempt; `result` is the buffer's
  // address.
  void Set(const std::vector<Granule>& granules, uintptr_t result);
  std::vector<Range> ranges() const;
  // Makes the granules inaccessible. Returns false, with nothing closed, as PageGuard::Protect does.
  bool Close();
  uint64_t bytes() const;

  // Releases the granules for which only call `index`, whose data is delivered, was missing. The edges count as a call
  // after those of the fragmentation.
  void EndCall(uint32_t index);
  // Marks granules that are still missing calls as lost; they stay closed.
  void MarkLost();
  // Opens these granules, though their data has not arrived.
  void OpenAll();

  // Returns whether the call writes to the granule that contains `address`.
  bool Brings(uint32_t index, uintptr_t address) const;
  // Returns the number of granules that are still missing calls.
  size_t closed() const;

 private:
  struct Guarded {
    Range range;
    uint32_t missing;  // number of calls
  };

  std::vector<FirstAccess*> Record();
  void Open(uint32_t index);

  PageGuard* const guard_;
  const Fragmentation* const fragmentation_;
  RecordedCall* const record_;
  uintptr_t result_ = 0;
  std::vector<Guarded> guarded_;
  std::vector<std::vector<uint32_t>> of_call_;  // by call: indices of guarded_; the last entry is for the edges
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_RESULT_PAGES_H_
