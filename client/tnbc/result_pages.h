// SPDX-License-Identifier: Apache-2.0
//
// The pages of a result that are closed to the program, each until the calls that write there are delivered.
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

// Thread-compatible: the call's lock guards it. Invariant: a granule is open once none of its calls is missing.
class ResultPages {
 public:
  // `record`: gets the accesses to the pages; null: they are not recorded.
  ResultPages(PageGuard* guard, const Fragmentation* fragmentation, RecordedCall* record)
      : guard_(guard), fragmentation_(fragmentation), record_(record) {}
  ResultPages(const ResultPages&) = delete;
  ResultPages& operator=(const ResultPages&) = delete;

  // Takes the granules that are to be closed, in place of those of an attempt before; `result`: the buffer's address.
  void Set(const std::vector<Granule>& granules, uintptr_t result);
  std::vector<Range> ranges() const;
  // Makes them inaccessible. Returns false, changing nothing, as PageGuard.
  bool Close();
  uint64_t bytes() const;

  // Called when the data of call `index` is there, or the edges, as a call behind the fragmentation's. Opens granules
  // that missed nothing else.
  void EndCall(uint32_t index);
  // Closed granules stay so, and have lost their data.
  void MarkLost();
  // Opens closed granules.
  void OpenAll();

  // Returns whether the call brings data to the granule of this address.
  bool Brings(uint32_t index, uintptr_t address) const;
  // The number of granules that are closed.
  size_t closed() const;

 private:
  struct Guarded {
    Range range;
    uint32_t missing;  // calls
  };

  std::vector<FirstAccess*> Record();
  void Open(uint32_t index);

  PageGuard* const guard_;
  const Fragmentation* const fragmentation_;
  RecordedCall* const record_;
  uintptr_t result_ = 0;
  std::vector<Guarded> guarded_;
  std::vector<std::vector<uint32_t>> of_call_;  // indices of guarded_; the last: the edges
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_RESULT_PAGES_H_
