// SPDX-License-Identifier: Apache-2.0
#include "bench/measures/script_rounds.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

// A Folder is removed with all that is in it.
class Folder {
 public:
  explicit Folder(const std::string& parent) : path_(absl::StrCat(parent.empty() ? "/tmp" : parent, "/rounds.XXXXXX")) {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~Folder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

}  // namespace

absl::Status RunScript(const Script& script, const std::string& parent, absl::Duration patience,
                       const std::function<void(const std::string&)>& on_round) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindFile(script.file));
  std::vector<std::string> arguments = {"/usr/bin/python3", program};
  for (const std::string& label : script.programs) {
    ASSIGN_OR_RETURN(arguments.emplace_back(), procs::FindProgram(label));
  }
  for (const std::string& label : script.files) {
    ASSIGN_OR_RETURN(arguments.emplace_back(), procs::FindFile(label));
  }
  const Folder folder(parent);
  arguments.insert(arguments.end(), script.arguments.begin(), script.arguments.end());
  arguments.push_back(folder.path());
  ASSIGN_OR_RETURN(const auto child, procs::ChildProcess::Start({.arguments = arguments, .stdout_pipe = true}));
  while (true) {
    ASSIGN_OR_RETURN(const std::string line, child->ReadLine(patience));
    if (line == "end") return absl::OkStatus();
    if (!absl::StartsWith(line, "round ")) return absl::UnavailableError(line);
    on_round(line);
  }
}

}  // namespace copse::bench
