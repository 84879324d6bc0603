// SPDX-License-Identifier: Apache-2.0
//
// Files that programs under measure read, such as topologies and rules.
#ifndef COPSE_BENCH_TEMPORARY_FILE_H_
#define COPSE_BENCH_TEMPORARY_FILE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace copse::bench {

// A file in `folder` (empty: /tmp), which is removed with this object.
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
