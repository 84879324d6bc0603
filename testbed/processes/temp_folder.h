// SPDX-License-Identifier: Apache-2.0
//
// A folder for a test's files.
#ifndef COPSE_TESTBED_PROCESSES_TEMP_FOLDER_H_
#define COPSE_TESTBED_PROCESSES_TEMP_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace copse::procs {

// A TempFolder makes a new folder in /tmp, whose path is short enough for sockets, and removes it with its content.
class TempFolder {
 public:
  TempFolder() { CHECK(mkdtemp(path_.data()) != nullptr); }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  // Returns the path of the file `name` in the folder.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/copse-XXXXXX";
};

}  // namespace copse::procs

#endif  // COPSE_TESTBED_PROCESSES_TEMP_FOLDER_H_
