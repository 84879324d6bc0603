// SPDX-License-Identifier: Apache-2.0
//
// Which calls are offloaded, and how ranks wait: what the environment asks for, and what all ranks agree on.
#ifndef COPSE_CLIENT_MPI_SESSION_SETTINGS_H_
#define COPSE_CLIENT_MPI_SESSION_SETTINGS_H_

#include <cstdint>
#include <string>

#include "client/mpi/session/agreement.h"
#include "client/mpi/session/complaints.h"

namespace copse::mpi {

// The settings of one process; equal on all ranks after Apply, as far as calls have to go the same way on all of them.
struct Settings {
  // Collective calls that a communicator sees before it gets a team.
  uint64_t calls_before = 0;
  uint64_t calls_before_of_world = 0;
  // A communicator gets a team only once its calls have taken so long that one is worth its while.
  bool weighs_teams = true;
  // Calls that are faster by MPI go there.
  bool chooses_path = true;
  // The limit of a call's longest buffer.
  uint64_t message_bytes_max = 0;

  // These may differ between ranks.
  double timeout_s = -1;       // COPSE_TIMEOUT; < 0: none
  bool keeps_times = false;    // COPSE_MPI_STATS
  uint64_t time_slice_ns = 0;  // COPSE_MPI_TIME_SLICE; 0: the kernel's

  // Values that make no sense are ignored, and get a line of `complaints` each.
  static Settings FromEnvironment(Complaints* complaints);

  void AddTo(Agreement* agreement) const;
  void Apply(Agreement* agreement);

  // Returns whether a call that began at `since` (seconds, of NowSeconds) has used up COPSE_TIMEOUT.
  bool IsOver(double since) const;
  // The error text of such a call.
  std::string TimeIsOverText() const;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_SETTINGS_H_
