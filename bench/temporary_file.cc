// SPDX-License-Identifier: Apache-2.0
#include "bench/temporary_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace copse::bench {

absl::StatusOr<TemporaryFile> TemporaryFile::Write(const std::string& text, const std::string& folder) {
  std::string path = absl::StrCat(folder.empty() ? "/tmp" : folder, "/copse-bench-XXXXXX");
  const int fd = mkstemp(path.data());
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  TemporaryFile file(path);
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(fd) != 0 || !written) return absl::ErrnoToStatus(errno, path);
  return file;
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace copse::bench
