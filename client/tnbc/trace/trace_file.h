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

// A TraceSite is a place in the program from which calls are made.
struct TraceSite {
  std::string object;    // name of the executable or library, without its folder
  uint64_t offset = 0;   // bytes from where the object is loaded
  std::string function;  // the exported symbol at or before it; empty: not known

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

// A TracePiece is memory that became accessible as a whole. Times are ns since the call returned.
struct TracePiece {
  uint64_t offset = 0, bytes = 0;  // in the receive buffer
  std::vector<uint32_t> parts;     // numbers of the fragments that it contains
  std::optional<uint64_t> there;   // when its data had arrived; nullopt: it never did
  std::optional<uint64_t> touch;   // when it was first accessed; nullopt: not while it was watched
  uint64_t waited = 0;             // ns, by all threads that accessed it
  bool by_call = false;            // a call of libc or MPI accessed it first

  bool operator==(const TracePiece&) const = default;
};

struct TraceCall {
  uint32_t kind = 0, site = 0;  // indices of TraceFile::kinds and sites
  uint64_t number = 0;          // within its kind, from 1; the same on all ranks
  bool early = false;           // it returned before its data had arrived
  uint64_t returned = 0;        // ns of CLOCK_MONOTONIC; 0 unless `early`
  uint64_t inside = 0;          // ns in the call
  uint32_t parts = 0;           // number of fragments
  std::vector<uint32_t> order;  // numbers of the fragments, first the one to be received first; empty: as numbered
  std::vector<TracePiece> pieces;

  bool operator==(const TraceCall&) const = default;
};

struct TraceFile {
  uint32_t rank = 0, ranks = 0;  // in MPI_COMM_WORLD
  std::string host;
  uint64_t pid = 0;
  uint64_t launch = 0;    // the same number on all ranks of one launch
  uint64_t left_out = 0;  // calls that were not recorded, for lack of room
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
