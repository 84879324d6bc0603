// SPDX-License-Identifier: Apache-2.0
//
// Reads what --stats prints.
#ifndef COPSE_INTEGRATION_TESTS_MPI_STATISTICS_TEXT_H_
#define COPSE_INTEGRATION_TESTS_MPI_STATISTICS_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace copse::mpi_test {

// What is said of one collective: "copse-mpi: MPI_Bcast: offloaded 3 in 0.1 s, by MPI 5 in 0.1 s (first calls: 4, too
// long: 1)".
struct CollectiveCounts {
  uint64_t offloaded = 0;
  uint64_t by_mpi = 0;
  std::map<std::string, uint64_t> reasons;
};

// By MPI's name of the collective, of all that `lines` say. INVALID_ARGUMENT with a line that says it otherwise.
absl::StatusOr<std::map<std::string, CollectiveCounts>> ParseStatisticsText(const std::vector<std::string>& lines);

}  // namespace copse::mpi_test

#endif  // COPSE_INTEGRATION_TESTS_MPI_STATISTICS_TEXT_H_
