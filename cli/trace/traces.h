// SPDX-License-Identifier: Apache-2.0
//
// Reads the traces of one launch (COPSE_TNBC_TRACE) and combines their results.
#ifndef COPSE_CLI_TRACE_TRACES_H_
#define COPSE_CLI_TRACE_TRACES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/tnbc/trace/order_profile.h"
#include "client/tnbc/trace/trace_file.h"

namespace copse::trace {

// Traces holds the traces of one launch in the order of ranks. Those of some of its `ranks` ranks may be missing.
struct Traces {
  uint32_t ranks = 0;
  std::vector<tnbc::TraceFile> files;
};

// Reads all of a folder's traces.
// Errors: NOT_FOUND without folder or traces. INVALID_ARGUMENT if a file cannot be read or parsed (the message names
// it, and the line), or if files belong to several launches or two to one rank.
absl::StatusOr<Traces> ReadTraces(const std::string& folder);

// KindKey identifies calls that share an order of fragments.
struct KindKey {
  uint64_t communicator = 0;
  uint32_t size = 0;
  std::string collective;
  uint32_t length = 0;
  uint32_t parts = 0;

  auto operator<=>(const KindKey&) const = default;
};
KindKey KeyOf(const tnbc::TraceKind& kind, const tnbc::TraceCall& call);
// Returns "OBJECT+0xOFFSET (FUNCTION)"; the last part only if the function is known.
std::string NameOf(const tnbc::TraceSite& site);
// Returns the name of KindKey::length, the class of a call's longest buffer: "over 256 KiB".
std::string NameOfLength(uint32_t length);

// PartTimes holds a fragment's mean times in ns: its arrival since the call returned and the program's wait, over
// `calls`; its first access since the call returned, over `touched_calls`. Calls in which the fragment has no memory
// range of its own are left out.
struct PartTimes {
  uint64_t calls = 0, touched_calls = 0;
  double there = 0, touch = 0, waited = 0;
};

// A SiteSummary combines the calls of one kind from one place (call site).
struct SiteSummary {
  KindKey kind;
  std::string site;
  uint32_t ranks = 0;                  // ranks that have called from there
  uint64_t calls = 0, early = 0;       // over all ranks; `early` with asynchronous completion
  uint64_t pieces = 0, untouched = 0;  // memory ranges that became accessible as a whole; those never accessed
  // These are means over `early` calls, ns. `there`: from the call's return until all data had arrived;
  // `waited_at_best`: the wait that would have resulted if the data had arrived in the order of accesses, at the
  // recorded arrival times.
  double inside = 0, there = 0, waited = 0, waited_at_best = 0;
  std::vector<uint32_t> order;   // fragments by the median place of their first accesses, over all ranks
  std::vector<PartTimes> parts;  // by fragment
};
std::vector<SiteSummary> Summarize(const Traces& traces);

// Returns the times of the first accesses by fragment, ns since the call returned; UINT64_MAX: not accessed. The access
// of a memory range that several fragments fill counts only for fragments without a range of their own.
std::vector<uint64_t> FirstTouches(const tnbc::TraceCall& call);

// A CommonOrder sums up the orders in which a set of calls, over all ranks, first access their fragments. It sorts the
// fragments by the median of their places in these orders, so a few exceptional calls or ranks change nothing.
struct CommonOrder {
  std::vector<uint32_t> order;
  uint64_t calls = 0;     // calls with any access, over all ranks
  uint64_t in_order = 0;  // calls whose accesses had exactly this order (fragments without access come last)
};

// A WantedOrder holds the orders in which the calls of a kind first access their fragments: that of all calls, and, if
// the places (call sites) of the calls repeat with a period, one for each call of the period.
struct WantedOrder {
  CommonOrder all;
  // A Slot is the order of the calls at one position of the period. There are no slots without a period, or if each
  // would have the order of `all`.
  struct Slot {
    std::string site;  // place; joined by "or" if ranks call from different ones
    CommonOrder common;
  };
  std::vector<Slot> slots;
  uint64_t first = 1;    // number, within the kind, of the first call that has the order slots[0]
  std::string why_none;  // reason why there is no period although calls come from several places; else empty
};
// Returns the orders of the kinds with at least two fragments and at least one recorded access.
std::map<KindKey, WantedOrder> WantedOrders(const Traces& traces);

// Makes a profile of WantedOrders. Errors: FAILED_PRECONDITION if a rank's trace is missing.
absl::StatusOr<tnbc::OrderProfile> ProfileOf(const Traces& traces);

// Lists, one line each, missing traces, calls that some of their ranks have not made, and calls whose fragments were
// received in different orders or numbers. The list ends after 20 lines with a count of the rest. Empty: ranks agree.
std::vector<std::string> Disagreements(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_TRACES_H_
