// SPDX-License-Identifier: Apache-2.0
//
// Says in one line what Copse has brought a run, from what was measured in it.
#ifndef COPSE_CLIENT_MPI_SESSION_RUN_VERDICT_H_
#define COPSE_CLIENT_MPI_SESSION_RUN_VERDICT_H_

#include <cstdint>
#include <string>

#include "client/mpi/session/run_figures.h"
#include "client/mpi/session/settings.h"

namespace copse::mpi {

// A RunVerdict compares what collectives took with what they would have taken by MPI alone, as far as both paths were
// timed.
struct RunVerdict {
  enum class Outcome : uint8_t { kNoCalls, kNotOffloaded, kNotMeasured, kFaster, kAlike, kSlower };

  Outcome outcome = Outcome::kNoCalls;
  uint64_t calls = 0;              // all calls
  uint64_t offloaded = 0;          // calls that Copse has made
  uint64_t offloaded_ns = 0;       // and what they took this rank
  ComparedCalls by_copse, by_mpi;  // calls by either path, of kinds that were timed by both
  std::string text;                // one sentence, and what to try
};

// `worth_ns`: the time that a communicator's calls have to take before it gets a team.
RunVerdict VerdictOf(const RunFigures& figures, const Settings& settings, uint64_t worth_ns);

// Returns the name of an outcome, such as "not-offloaded".
const char* NameOf(RunVerdict::Outcome outcome);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_RUN_VERDICT_H_
