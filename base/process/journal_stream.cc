// SPDX-License-Identifier: Apache-2.0
#include "base/process/journal_stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace copse {

bool StderrIsJournal() {
  const char* const stream = getenv("JOURNAL_STREAM");
  struct stat status = {};
  return stream != nullptr && fstat(STDERR_FILENO, &status) == 0 &&
         stream == absl::StrCat(status.st_dev, ":", status.st_ino);
}

}  // namespace copse
