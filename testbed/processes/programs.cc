// SPDX-License-Identifier: Apache-2.0
#include "testbed/processes/programs.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/string_view.h"

namespace copse::procs {
namespace {

// Returns the first place with a file that `mode` can access. `kind` is for the error.
absl::StatusOr<std::string> Find(std::string_view label, const char* kind, int mode) {
  const std::string name(label.substr(label.rfind('/') + 1));
  std::vector<std::string> places;
  if (const char* folder = getenv("COPSE_BIN_DIR")) places.push_back(absl::StrCat(folder, "/", name));
  for (const char* variable : {"TEST_SRCDIR", "RUNFILES_DIR"}) {
    if (const char* root = getenv(variable)) places.push_back(absl::StrCat(root, "/copse/", AbslView(label)));
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  places.push_back(absl::StrCat(self.string(), ".runfiles/copse/", AbslView(label)));
  for (const std::string& place : places) {
    if (access(place.c_str(), mode) == 0) return std::filesystem::absolute(place).string();
  }
  return absl::NotFoundError(absl::StrCat("no ", kind, " ", name, " (places=", absl::StrJoin(places, ", "), ")"));
}

}  // namespace

absl::StatusOr<std::string> FindProgram(std::string_view label) { return Find(label, "program", X_OK); }

absl::StatusOr<std::string> FindFile(std::string_view label) { return Find(label, "file", R_OK); }

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();  // an iterator would throw where a process ends while its file in /proc is read
  return text.str();
}

}  // namespace copse::procs
