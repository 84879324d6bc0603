// SPDX-License-Identifier: Apache-2.0
//
// In which order the parts of early calls are brought, and what is recorded of them: COPSE_TNBC_ORDER,
// COPSE_TNBC_PROFILE and COPSE_TNBC_TRACE.
#ifndef COPSE_CLIENT_MPI_EARLY_SETTINGS_H_
#define COPSE_CLIENT_MPI_EARLY_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "client/tnbc/trace/order_profile.h"
#include "client/tnbc/trace/trace_file.h"

namespace copse::mpi {

// COPSE_TNBC_ORDER. Where ranks differ, the least holds.
enum class EarlyOrder : uint8_t { kOff, kLearnt, kProfile };

// What a process's environment says. Ranks have to agree on an order, so what they make of it they settle together, at
// MPI_Init.
struct EarlySettings {
  EarlyOrder order = EarlyOrder::kLearnt;
  std::optional<tnbc::OrderProfile> profile;
  std::string profile_file;
  std::string profile_error;  // why there is none though there should be
  std::string trace_folder;   // empty: no traces
  std::string trace_error;    // why there is none though there should be
  uint64_t launch = 0;        // as traces have it

  // Reads the file, and makes the folder. `may_speak`: about values that are ignored, alike on all ranks.
  static EarlySettings FromEnvironment(bool may_speak);

  // What the ranks compare, by the least of each number.
  static constexpr int kNumbers = 6;
  void Tell(int rank, int size, long long numbers[kNumbers]) const;
  // `least`: of all ranks. One rank says what is ignored.
  void Settle(int rank, int size, const long long least[kNumbers]);
};

// Writes the file of a process at the end; says why if that fails.
void WriteTrace(const std::string& folder, const tnbc::TraceFile& trace);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_EARLY_SETTINGS_H_
