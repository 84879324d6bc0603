// SPDX-License-Identifier: Apache-2.0
//
// Writes temporary files for measured programs to read, such as topologies and rules.
#ifndef COPSE_BENCH_TEMPORARY_FILE_H_
#define COPSE_BENCH_TEMPORARY_FILE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace copse::bench {

// A TemporaryFile owns a file, which its destructor removes. The folder is `folder`, or /tmp if that is empty.
class TemporaryFile {
 public:
  static absl::StatusOr<TemporaryFile> Write(const std::string& text, const std::string& folder);
  TemporaryFile() = default;  // no file; the path is empty
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFile();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_TEMPORARY_FILE_H_
