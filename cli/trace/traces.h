// SPDX-License-Identifier: Apache-2.0
//
// The traces of one launch (COPSE_TNBC_TRACE), and what they tell together.
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

// By rank; of a launch of `ranks`, some may be missing.
struct Traces {
  uint32_t ranks = 0;
  std::vector<tnbc::TraceFile> files;
};

// Reads all of a folder's traces.
// Errors: NOT_FOUND without folder or traces; INVALID_ARGUMENT names the file, and the line that is wrong, or says that
// files are of several launches.
absl::StatusOr<Traces> ReadTraces(const std::string& folder);

// Calls that share an order of parts.
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
// "over 256 KiB": the class of lengths, of a call's longest buffer.
std::string NameOfLength(uint32_t length);

// Means over those calls that had some, ns since calls returned.
struct PartTimes {
  uint64_t calls = 0, touched_calls = 0;
  double there = 0, touch = 0, waited = 0;
};

// What calls of one kind from one place have in common.
struct SiteSummary {
  KindKey kind;
  std::string site;
  uint32_t ranks = 0;             // that have called from there
  uint64_t calls = 0, early = 0;  // of all ranks
  uint64_t pieces = 0, untouched = 0;
  // Means over early calls, ns: the time in the call, and from its return until all was there; what the program waited
  // for what it touched; what it would have waited if its data had come in the order of touches, piece for piece at the
  // same times.
  double inside = 0, there = 0, waited = 0, waited_at_best = 0;
  std::vector<uint32_t> order;   // of first touches, by all; as for profiles
  std::vector<PartTimes> parts;  // by part
};
std::vector<SiteSummary> Summarize(const Traces& traces);

// By part, ns since the call returned; UINT64_MAX: it was not touched. Of a piece that several parts bring the touch
// counts only where a part has no piece of its own.
std::vector<uint64_t> FirstTouches(const tnbc::TraceCall& call);

// What most of some calls, of all ranks, touch first comes first: by the median of the places that a part has among the
// first touches. A call or a rank that does otherwise changes nothing, as long as they are few.
struct CommonOrder {
  std::vector<uint32_t> order;
  uint64_t calls = 0;     // that touched anything, of all ranks
  uint64_t in_order = 0;  // that touched all in this order
};

// What calls of a kind want first.
struct WantedOrder {
  CommonOrder all;
  // Of the calls that are made where the first call of a period is made, the second, and so on. Empty: places take no
  // turns, or want the same.
  struct Slot {
    std::string site;  // on ranks that call from others: all of them
    CommonOrder common;
  };
  std::vector<Slot> slots;
  uint64_t first = 1;    // the call, by its number of its kind, that has the first slot
  std::string why_none;  // why there are no slots, though calls are made at several places
};
std::map<KindKey, WantedOrder> WantedOrders(const Traces& traces);

// Kinds of more than one part. FAILED_PRECONDITION: a rank's trace is missing.
absl::StatusOr<tnbc::OrderProfile> ProfileOf(const Traces& traces);

// Where ranks do not agree on what they called and in which order it was brought, a line each; empty: they do.
std::vector<std::string> Disagreements(const Traces& traces);

}  // namespace copse::trace

#endif  // COPSE_CLI_TRACE_TRACES_H_
