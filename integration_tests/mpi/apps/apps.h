// SPDX-License-Identifier: Apache-2.0
//
// MPI programs that others wrote, as Debian has them: how they are run, and what of their output are results.
#ifndef COPSE_INTEGRATION_TESTS_MPI_APPS_APPS_H_
#define COPSE_INTEGRATION_TESTS_MPI_APPS_APPS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::mpi_test {

struct App {
  std::string name;     // as tests are named: "nwchem_mpich"
  std::string library;  // that it was built with: "mpich", "openmpi"
  uint32_t ranks = 4;
  std::vector<std::string> command;  // the program's path first
  std::vector<std::string> inputs;   // files of this folder, which it finds where it runs
  std::vector<std::string> unpack;   // compressed files of its packages, likewise
  std::map<std::string, std::string> environment;
  std::string output;   // the file that has its results; empty: standard output
  std::string results;  // regular expression: the lines that have results
  // Numbers that are not whole ones may differ by this much, relatively. Infinite: they are times, or what
  // rounding left.
  double tolerance = 0;
  std::vector<std::string> offloaded;  // collectives of which at least some have to be
};

const std::vector<App>& Apps();

// Makes `folder` (which must not exist) with the program's inputs. Errors: NOT_FOUND if the program or a file of its
// packages is not installed.
absl::Status MakeAppFolder(const App& app, const std::string& folder);

// What stands before the program so that it runs in the folder, with what it needs in its environment.
std::vector<std::string> InFolder(const App& app, const std::string& folder);

// The lines with results, of what rank 0 wrote to standard output and of what it left in its folder. NOT_FOUND if there
// are none.
absl::StatusOr<std::vector<std::string>> ResultsOf(const App& app, const std::string& folder,
                                                   const std::vector<std::string>& out);

// The first pair of lines that differ by more than the tolerance; empty if none does.
std::string DescribeDifference(const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                               double tolerance);

}  // namespace copse::mpi_test

#endif  // COPSE_INTEGRATION_TESTS_MPI_APPS_APPS_H_
