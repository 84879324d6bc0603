// SPDX-License-Identifier: Apache-2.0
//
// Defines the settings that decide which calls are offloaded and how ranks wait. They come from the environment, and
// all ranks agree on them.
#ifndef COPSE_CLIENT_MPI_SESSION_SETTINGS_H_
#define COPSE_CLIENT_MPI_SESSION_SETTINGS_H_

#include <cstdint>
#include <string>

#include "client/mpi/session/agreement.h"
#include "client/mpi/session/complaints.h"

namespace copse::mpi {

// Settings holds the settings of one process. After Apply, those that decide the path of calls are equal on all ranks.
struct Settings {
  // A communicator gets a team after at least this many collective calls.
  uint64_t calls_before = 0;
  uint64_t calls_before_of_world = 0;
  // If true, a communicator gets a team only after its calls have cost much more than forming one.
  bool weighs_teams = true;
  // If true, calls that are faster by MPI go to MPI.
  bool chooses_path = true;
  // Limits a call's longest buffer, in bytes.
  uint64_t message_bytes_max = 0;

  // These may differ between ranks.
  double timeout_s = -1;  // COPSE_TIMEOUT; < 0: none
  enum class StatsForm : uint8_t { kNone, kText, kJson };
  StatsForm stats = StatsForm::kNone;  // COPSE_MPI_STATS
  std::string stats_file;              // COPSE_MPI_STATS_FILE, which gets the statistics as JSON; empty: none
  uint64_t time_slice_ns = 0;          // COPSE_MPI_TIME_SLICE; 0: the kernel's

  // Reads the environment. Invalid values are ignored, and add a line to `*complaints` each.
  static Settings FromEnvironment(Complaints* complaints);

  bool keeps_times() const { return stats != StatsForm::kNone || !stats_file.empty(); }

  void AddTo(Agreement* agreement) const;
  void Apply(Agreement* agreement);

  // Returns whether a call that began at `since` (of NowSeconds) has exceeded COPSE_TIMEOUT.
  bool IsOver(double since) const;
  // Returns the error text of a call that has exceeded COPSE_TIMEOUT.
  std::string TimeIsOverText() const;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_SETTINGS_H_
