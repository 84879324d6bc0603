// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/mpi/apps/apps.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::mpi_test {
namespace {

using Words = std::vector<std::string>;

constexpr char kScalapack[] = "/usr/lib/x86_64-linux-gnu/scalapack";
constexpr char kSilicon[] = "/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz";
constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr absl::Duration kUnpack = absl::Seconds(20);

// Their own checks are the results. A line of numbers and "PASSED" for each case; sums: "2 tests completed and failed".
App Scalapack(const std::string& program, const std::string& input, const std::string& library) {
  return {.name = absl::StrCat("scalapack_", program, "_", library),
          .library = library,
          .command = {absl::StrCat(kScalapack, "/", library, "-tests/", program)},
          .inputs = {input},
          .results = "PASSED|FAIL|tests completed|END OF TESTS",
          .tolerance = kAny,
          .offloaded = {"MPI_Bcast"}};
}

// Between its collectives it works one-sidedly: with more ranks than cores MPI libraries, which poll, take minutes.
App NwChem(const std::string& library) {
  App app = {.name = absl::StrCat("nwchem_", library),
             .library = library,
             .ranks = 2,
             .command = {absl::StrCat("/usr/bin/nwchem.", library), "water.nw"},
             .inputs = {"water.nw"},
             // Debian's advice for MPICH's build (README.Debian): its windows give wrong results.
             .environment = {{"ARMCI_USE_WIN_ALLOCATE", "0"}},
             .results = "Total (SCF|DFT) energy|Nuclear repulsion energy|^ +[1-3] [OH] ( +-?[0-9]+\\.[0-9]+){6}",
             .tolerance = 1e-6,
             .offloaded = {"MPI_Barrier", "MPI_Bcast", "MPI_Allreduce"}};
  // Between nodes it crashes on what Open MPI takes by itself, which lacks an attribute of windows.
  if (library == "openmpi") app.environment["OMPI_MCA_osc"] = "pt2pt";
  return app;
}

std::vector<App> MakeApps() {
  std::vector<App> apps;
  apps.push_back({.name = "mpi4py",
                  .library = "openmpi",
                  .command = {"/usr/bin/python3", "mpi4py_demo.py", "3"},
                  .inputs = {"mpi4py_demo.py"},
                  .results = "^[0-9]+: ",
                  .offloaded = {"MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Gather", "MPI_Gatherv",
                                "MPI_Allgather", "MPI_Allgatherv"}});
  for (const char* library : {"openmpi", "mpich"}) {
    apps.push_back(Scalapack("xdlu", "LU.dat", library));
    apps.push_back(Scalapack("xdsep", "SEP.dat", library));
  }
  apps.push_back(NwChem("openmpi"));
  apps.push_back(NwChem("mpich"));
  apps.push_back({.name = "quantum_espresso",
                  .library = "openmpi",
                  .command = {"/usr/bin/pw.x", "-in", "silicon.in"},
                  .inputs = {"silicon.in"},
                  .unpack = {kSilicon},
                  .results = "^! +total energy|(one-electron|hartree|xc|ewald) contribution|Total force",
                  .tolerance = 1e-6,
                  .offloaded = {"MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Alltoall"}});
  apps.push_back({.name = "hpcc",
                  .library = "openmpi",
                  .command = {"/usr/bin/hpcc"},
                  .inputs = {"hpccinf.txt"},
                  .output = "hpccoutf.txt",
                  .results = "^WALL.*(PASSED|FAILED)|[.] (PASSED|FAILED)|errors in|tests completed|^Success",
                  .tolerance = kAny,
                  .offloaded = {"MPI_Barrier", "MPI_Bcast", "MPI_Allreduce"}});
  apps.push_back({.name = "lammps",
                  .library = "openmpi",
                  .command = {"/usr/bin/lmp", "-in", "melt.lmp", "-log", "none"},
                  .inputs = {"melt.lmp"},
                  .results = "^ +[0-9]+( +-?[0-9.]+){5} *$",
                  .tolerance = 1e-6,
                  .offloaded = {"MPI_Bcast", "MPI_Allreduce"}});
  for (App& app : apps) {
    app.environment.insert({{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}});
  }
  return apps;
}

absl::Status Installed(const App& app, const std::string& file) {
  if (access(file.c_str(), R_OK) == 0) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(app.name, ": not installed; tools/setup --all does (file=", file, ")"));
}

absl::Status Unpack(const std::string& file, const std::string& folder) {
  const std::string unpacked = absl::StrCat(folder, "/", std::filesystem::path(file).stem().string());
  ASSIGN_OR_RETURN(const auto child, procs::ChildProcess::Start(
                                         {.arguments = {"/bin/sh", "-c", "gzip -dc \"$0\" >\"$1\"", file, unpacked}}));
  RETURN_IF_ERROR(child->AwaitEnd(kUnpack));
  if (child->exit_code() == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("gzip: ", child->DescribeEnd(), " (file=", file, ")"));
}

// Fortran writes 1.0D-3.
bool ToNumber(const std::string& word, double* number) {
  return absl::SimpleAtod(absl::StrReplaceAll(word, {{"D", "e"}, {"d", "e"}}), number);
}

bool Same(const std::string& expected, const std::string& actual, double tolerance) {
  if (expected == actual) return true;
  double a = 0, b = 0;
  if (expected.find('.') == std::string::npos || !ToNumber(expected, &a) || !ToNumber(actual, &b)) return false;
  return std::isfinite(b) && std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

bool SameLine(const std::string& expected, const std::string& actual, double tolerance) {
  const Words a = absl::StrSplit(expected, ' ', absl::SkipEmpty()), b = absl::StrSplit(actual, ' ', absl::SkipEmpty());
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const auto& one, const auto& other) { return Same(one, other, tolerance); });
}

}  // namespace

const std::vector<App>& Apps() {
  static const auto* const apps = new std::vector<App>(MakeApps());
  return *apps;
}

absl::Status MakeAppFolder(const App& app, const std::string& folder) {
  RETURN_IF_ERROR(Installed(app, app.command[0]));
  std::error_code error;
  if (!std::filesystem::create_directory(folder, error)) {
    return absl::InternalError(absl::StrCat(app.name, ": cannot make its folder (folder=", folder, ")"));
  }
  for (const std::string& input : app.inputs) {
    ASSIGN_OR_RETURN(const std::string from, procs::FindFile(absl::StrCat("integration_tests/mpi/apps/", input)));
    std::filesystem::copy_file(from, absl::StrCat(folder, "/", input), error);
    if (error) return absl::InternalError(absl::StrCat(app.name, ": ", error.message(), " (file=", from, ")"));
  }
  for (const std::string& file : app.unpack) {
    RETURN_IF_ERROR(Installed(app, file));
    RETURN_IF_ERROR(Unpack(file, folder));
  }
  return absl::OkStatus();
}

std::vector<std::string> InFolder(const App& app, const std::string& folder) {
  Words words = {"/usr/bin/env", "-C", folder};
  for (const auto& [name, value] : app.environment) words.push_back(absl::StrCat(name, "=", value));
  words.insert(words.end(), app.command.begin(), app.command.end());
  return words;
}

absl::StatusOr<std::vector<std::string>> ResultsOf(const App& app, const std::string& folder,
                                                   const std::vector<std::string>& out) {
  Words lines = out;
  if (!app.output.empty()) {
    lines.clear();
    std::ifstream file(absl::StrCat(folder, "/", app.output));
    for (std::string line; std::getline(file, line);) lines.push_back(line);
  }
  const std::regex wanted(app.results);
  Words results;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(results),
               [&](const std::string& line) { return std::regex_search(line, wanted); });
  if (results.empty())
    return absl::NotFoundError(absl::StrCat(app.name, ": no results among ", lines.size(), " lines"));
  return results;
}

std::string DescribeDifference(const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                               double tolerance) {
  for (size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    const std::string a = i < expected.size() ? expected[i] : "no more", b = i < actual.size() ? actual[i] : "no more";
    if (!SameLine(a, b, tolerance)) return absl::StrCat("line ", i, " of results: expected\n", a, "\nfound\n", b);
  }
  return "";
}

}  // namespace copse::mpi_test
