// SPDX-License-Identifier: Apache-2.0
//
// The traces of one launch (COPSE_TNBC_TRACE), and their combined results.
#ifndef COPSE_CLI_TRACE_TRACES_H_
#define COPSE_CLI_TRACE_TRACES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/tnbc/trace/order_profile.h"
#include "client/tnbc/trace/trace_file.h"

namespace copse::trace {

// Traces are by rank; of a launch of `ranks`, some may be missing.
struct Traces {
  uint32_t ranks = 0;
  std::vector<tnbc::TraceFile> files;
};

// Reads all of a folder's traces.
// Errors: NOT_FOUND without folder or traces; INVALID_ARGUMENT names the file, and the invalid line, or reports that
// files belong to several launches.
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
std::string NameOf(const tnbc::TraceSite& site);
// Names the class of lengths of a call's longest buffer: "over 256 KiB".
std::string NameOfLength(uint32_t length);

// PartTimes are a fragment's means over the calls that have the value, ns since calls returned.
struct PartTimes {
  uint64_t calls = 0, touched_calls = 0;
  double there = 0, touch = 0, waited = 0;
};

// SiteSummary combines the calls of one kind from one place.
struct SiteSummary {
  KindKey kind;
  std::string site;
  uint32_t ranks = 0;             // ranks that have called from there
  uint64_t calls = 0, early = 0;  // over all ranks
  uint64_t pieces = 0, untouched = 0;
  // Means over calls with asynchronous completion, ns: the time in the call, and from its return until all data had
  // arrived; the program's wait for accessed data; its wait if data had arrived in the order of accesses, range by
  // range at the same times.
  double inside = 0, there = 0, waited = 0, waited_at_best = 0;
  std::vector<uint32_t> order;   // of first accesses, over all ranks; the order for profiles
  std::vector<PartTimes> parts;  // by fragment
};
std::vector<SiteSummary> Summarize(const Traces& traces);

// Returns the first accesses by fragment, ns since the call returned; UINT64_MAX: not accessed. The access of a memory
// range that several fragments fill counts only for fragments without a range of their own.
std::vector<uint64_t> FirstTouches(const tnbc::TraceCall& call);

// CommonOrder is the order in which most of some calls, over all ranks, access fragments first: by the median of a
// fragment's places among the first accesses. A few exceptional calls or ranks change nothing.
struct CommonOrder {
  std::vector<uint32_t> order;
  uint64_t calls = 0;     // calls with any access, over all ranks
  uint64_t in_order = 0;  // calls that accessed all in this order
};

// WantedOrder is the order in which calls of a kind first access their fragments.
struct WantedOrder {
  CommonOrder all;
  // Slot is the order of one place in a period of calls. There are none if places do not take turns, or if all have
  // the same order.
  struct Slot {
    std::string site;  // all places, if ranks call from different ones
    CommonOrder common;
  };
  std::vector<Slot> slots;
  uint64_t first = 1;    // number, within its kind, of the call with the first slot
  std::string why_none;  // reason for having no slots, though calls are made at several places
};
std::map<KindKey, WantedOrder> WantedOrders(const Traces& traces);

// Makes profiles for kinds of more than one fragment. FAILED_PRECONDITION: a rank's trace is missing.
absl::StatusOr<tnbc::OrderProfile> ProfileOf(const Traces& traces);

// Lists, a line each, where ranks differ in their calls or in the order of arrival; empty: they agree.
std::vector<std::string> Disagreements(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_TRACES_H_
