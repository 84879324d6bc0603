// SPDX-License-Identifier: Apache-2.0
//
// Writes archives of small files.
#ifndef COPSE_CLI_CTL_TAR_H_
#define COPSE_CLI_CTL_TAR_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace copse::ctl {

// A TarWriter makes an archive in POSIX's ustar format. Calls follow Add* Finish.
class TarWriter {
 public:
  // Adds a file that its owner alone can read. Requires a name of 1 to 99 bytes, and less than 8 GiB (CHECK).
  void Add(const std::string& name, std::string_view text, absl::Time changed);
  // Returns the archive.
  std::string Finish() &&;

 private:
  std::string archive_;
};

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TAR_H_
