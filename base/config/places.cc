// SPDX-License-Identifier: Apache-2.0
#include "base/config/places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::config {
namespace {

absl::Status Fail(std::string_view key, const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(AbslView(key), ": ", AbslView(why), " (", AbslView(key), "=", path, ")"));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::Status CheckFolder(std::string_view key, const std::string& path) {
  const std::string folder = FolderOf(path);
  struct stat found;
  if (stat(folder.c_str(), &found) != 0) return Fail(key, path, absl::StrCat("its folder: ", strerror(errno)));
  if (!S_ISDIR(found.st_mode)) return Fail(key, path, "its folder is none");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return Fail(key, path, absl::StrCat("its folder is not to be written by this user: ", strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status CheckWritable(std::string_view key, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  struct stat found;
  if (stat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? CheckFolder(key, path) : Fail(key, path, strerror(errno));
  }
  if (S_ISDIR(found.st_mode)) return Fail(key, path, "a folder, not a file");
  return access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : Fail(key, path, strerror(errno));
}

}  // namespace copse::config
