// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the record of one process's asynchronous calls as a file (docs/reference/copse-trace.md).
#ifndef COPSE_CLIENT_TNBC_TRACE_TRACE_FILE_H_
#define COPSE_CLIENT_TNBC_TRACE_TRACE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace copse::tnbc {

inline constexpr uint64_t kTraceVersion = 1;
// The file of rank 3 is "3.copse-trace".
inline constexpr char kTraceSuffix[] = ".copse-trace";

// A place in the program from which calls are made.
struct TraceSite {
  std::string object;    // the file that has it, without its folder
  uint64_t offset = 0;   // in it, bytes
  std::string function;  // the symbol before it; empty: not known

  bool operator==(const TraceSite&) const = default;
};

// TraceKind identifies calls that share an order of fragments. All members but `rank` are equal on all ranks of the
// communicator.
struct TraceKind {
  uint64_t communicator = 0;  // hash of the members' ranks in MPI_COMM_WORLD (HashOf)
  uint32_t size = 0, rank = 0;
  std::string collective;
  uint32_t length = 0;  // length class of the longest buffer; copse-trace.md lists the values

  bool operator==(const TraceKind&) const = default;
};

// Memory that became accessible as a whole. Times are ns since the call returned.
struct TracePiece {
  uint64_t offset = 0, bytes = 0;  // in the receive buffer
  std::vector<uint32_t> parts;     // that bring it
  std::optional<uint64_t> there;   // none: its data never came
  std::optional<uint64_t> touch;   // the first access; none while it was watched
  uint64_t waited = 0;             // by all threads that accessed it
  bool by_call = false;            // first accessed by a call of libc or MPI

  bool operator==(const TracePiece&) const = default;
};

struct TraceCall {
  uint32_t kind = 0, site = 0;  // indices
  uint64_t number = 0;          // of its kind, from 1; the same on all ranks
  bool early = false;           // else it waited for its data, and has no pieces
  uint64_t returned = 0;        // ns of CLOCK_MONOTONIC
  uint64_t inside = 0;          // ns in the call
  uint32_t parts = 0;
  std::vector<uint32_t> order;  // in which they were brought; empty: as they are numbered
  std::vector<TracePiece> pieces;

  bool operator==(const TraceCall&) const = default;
};

struct TraceFile {
  uint32_t rank = 0, ranks = 0;  // in MPI_COMM_WORLD
  std::string host;
  uint64_t pid = 0;
  uint64_t launch = 0;    // a number that all ranks of one launch have
  uint64_t left_out = 0;  // calls for which there was no room
  std::vector<TraceSite> sites;
  std::vector<TraceKind> kinds;
  std::vector<TraceCall> calls;

  bool operator==(const TraceFile&) const = default;
};

std::string FormatTrace(const TraceFile& trace);
// Returns an empty string, or an error that names the line and, where there are any, key and value. `*trace` is valid
// only if there is no error.
std::string ParseTrace(std::string_view text, TraceFile* trace);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TRACE_TRACE_FILE_H_
