// SPDX-License-Identifier: Apache-2.0
//
// MPI libraries with Copse in front of them and T-NBC off or on, as systems of contests.
#ifndef COPSE_BENCH_TNBC_SYSTEMS_H_
#define COPSE_BENCH_TNBC_SYSTEMS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/bench.h"
#include "bench/site.h"

namespace copse::bench {

inline constexpr const char* kTnbcLibraries[] = {"openmpi", "mpich"};

// Behind the name of an MPI library. All calls go to the daemons, so that two of these differ in nothing else.
inline constexpr char kBlocking[] = "+copse-blocking";    // COPSE_TNBC=off
inline constexpr char kTnbc[] = "+copse-tnbc";            // on, and the rest by default
inline constexpr char kUnordered[] = "+copse-unordered";  // on, without priorities
inline constexpr char kLearnt[] = "+copse-learnt";        // on, priorities of what calls before have shown
inline constexpr char kProfile[] = "+copse-profile";      // on, priorities of a file

// "openmpi" of "openmpi+copse-tnbc".
std::string LibraryOf(const std::string& system);

// As Site::StartMpi; an MPI library's name without one of these is the library alone.
absl::StatusOr<RankProcesses> StartTnbc(const std::string& system, Site::MpiRanks ranks, Site* site);

// Applications and calls of megabytes on slow links take longer than the cells of other contests.
Options WithTimeForTnbc(Options options);

}  // namespace copse::bench

#endif  // COPSE_BENCH_TNBC_SYSTEMS_H_
