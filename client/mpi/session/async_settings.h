// SPDX-License-Identifier: Apache-2.0
//
// Reads the settings of asynchronous completion from the environment (COPSE_TNBC, COPSE_TNBC_*): whether calls complete
// asynchronously, how memory is protected, in which order fragments arrive, and where traces are written.
#ifndef COPSE_CLIENT_MPI_SESSION_ASYNC_SETTINGS_H_
#define COPSE_CLIENT_MPI_SESSION_ASYNC_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "client/mpi/session/agreement.h"
#include "client/mpi/session/complaints.h"
#include "client/tnbc/trace/order_profile.h"
#include "client/tnbc/trace/trace_file.h"

namespace copse::mpi {

// AsyncMode is the value of COPSE_TNBC. If ranks have different values, the one listed first here holds for all.
enum class AsyncMode : uint8_t { kOff, kAuto, kOn };

// Returns kOff if COPSE_TNBC is not set. An unknown value also gives kOff, and is added to `*complaints`.
AsyncMode AsyncModeFromEnvironment(Complaints* complaints);

// AsyncMeans says how this process protects memory; ranks may differ.
struct AsyncMeans {
  bool snapshots_at_once = false;   // COPSE_TNBC_SNAPSHOT=copy
  bool remaps = true;               // COPSE_TNBC_ADOPT
  bool stops_system_calls = false;  // COPSE_TNBC_SYSCALLS=strict, which the preload implements if the kernel allows

  static AsyncMeans FromEnvironment(Complaints* complaints);
};

// FragmentOrder is the value of COPSE_TNBC_ORDER. If ranks have different values, the one listed first here holds for
// all.
enum class FragmentOrder : uint8_t { kOff, kLearned, kProfile };

// AsyncSettings holds one process's settings from its environment. All ranks need the same order, so they agree in
// MPI_Init: each adds its settings to an Agreement and applies the answers.
struct AsyncSettings {
  FragmentOrder order = FragmentOrder::kLearned;
  std::optional<tnbc::OrderProfile> profile;
  std::string profile_file;
  std::string profile_error;  // empty: the profile was read, or is not used
  std::string trace_folder;   // empty: no traces
  std::string trace_error;    // empty: the folder can be used, or none is set
  uint64_t launch = 0;        // identifies the launch in traces: the least start time of its ranks, ns

  // Reads the variables and the profile, and makes the folder of traces. Errors are kept in profile_error and
  // trace_error. Values that are ignored are printed if `may_print`, which is true on one rank.
  static AsyncSettings FromEnvironment(bool may_print);

  void AddTo(Agreement* agreement) const;
  // Takes the answers. The order is the least of all ranks'. If it is kProfile, but not all ranks have read the same
  // profile, orders are learned instead, and one rank prints why. A rank that cannot use its folder of traces writes
  // none; the first such rank prints why.
  void Apply(int rank, int size, Agreement* agreement);
};

// Writes the trace file of this process. Prints a line if that fails, or if calls were left out.
void WriteTrace(const std::string& folder, const tnbc::TraceFile& trace);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_ASYNC_SETTINGS_H_
