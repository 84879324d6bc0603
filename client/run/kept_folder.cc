// SPDX-License-Identifier: Apache-2.0
#include "client/run/kept_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::run {
namespace {

// Has the machine's name: machines that share the folder's file system need not see each other's locks.
constexpr char kMark[] = "kept";
constexpr char kTold[] = "told";

std::string In(const std::string& folder, const char* name) { return absl::StrCat(folder, "/", name); }

absl::Status Unavailable(const std::string& what, const std::string& path) {
  return absl::UnavailableError(absl::StrCat(what, " (path=", path, "): ", std::strerror(errno)));
}

std::string ThisMachine() {
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof(host) - 1);
  return host;
}

// Returns a new file that is locked before anything stands in it.
absl::StatusOr<UniqueFd> MakeLocked(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid() || flock(file.get(), LOCK_EX | LOCK_NB) != 0) return Unavailable("no lock can be made", path);
  return file;
}

absl::Status CheckOwn(const std::string& folder) {
  struct stat about;
  if (lstat(folder.c_str(), &about) != 0) {
    return errno == ENOENT ? absl::NotFoundError(folder) : Unavailable("no such folder", folder);
  }
  if (S_ISDIR(about.st_mode) && about.st_uid == geteuid() && (about.st_mode & 077) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the daemon's folder is not this user's alone (path=", folder, ", uid=", about.st_uid, ")"));
}

// Returns the mark, locked, of a folder whose keeper has ended; else an invalid descriptor.
UniqueFd TakeAbandoned(const std::string& folder) {
  if (!CheckOwn(folder).ok()) return UniqueFd();
  UniqueFd mark(open(In(folder, kMark).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  char host[HOST_NAME_MAX + 1];
  const ssize_t bytes = mark.valid() ? read(mark.get(), host, sizeof(host)) : 0;
  // A mark without a name is not locked yet.
  const bool here = bytes > 0 && std::string(host, static_cast<size_t>(bytes)) == ThisMachine();
  return here && flock(mark.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(mark) : UniqueFd();
}

}  // namespace

absl::StatusOr<KeptFolder> KeptFolder::Make(const std::string& folder, const std::string& draft) {
  if (mkdir(draft.c_str(), 0700) != 0) return Unavailable("no folder can be made", draft);
  const auto complete = [&]() -> absl::StatusOr<KeptFolder> {
    ASSIGN_OR_RETURN(UniqueFd told, MakeLocked(In(draft, kTold)));
    ASSIGN_OR_RETURN(UniqueFd mark, MakeLocked(In(draft, kMark)));
    const std::string host = ThisMachine();
    if (write(mark.get(), host.data(), host.size()) != static_cast<ssize_t>(host.size())) {
      return Unavailable("cannot write", In(draft, kMark));
    }
    if (rename(draft.c_str(), folder.c_str()) == 0) return KeptFolder(std::move(mark), std::move(told));
    if (errno == EEXIST || errno == ENOTEMPTY) return absl::AlreadyExistsError(folder);
    return Unavailable("no folder can be made", folder);
  };
  absl::StatusOr<KeptFolder> made = complete();
  if (!made.ok()) RemoveFolder(draft);
  return made;
}

void KeptFolder::Tell(std::string_view said) {
  [[maybe_unused]] const ssize_t written = pwrite(told_.get(), said.data(), said.size(), 0);
  flock(told_.get(), LOCK_UN);
}

absl::StatusOr<std::string> AwaitTold(const std::string& folder) {
  RETURN_IF_ERROR(CheckOwn(folder));
  const std::string path = In(folder, kTold);
  const UniqueFd told(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!told.valid()) return errno == ENOENT ? absl::NotFoundError(folder) : Unavailable("no such file", path);
  while (flock(told.get(), LOCK_SH) != 0) {
    if (errno != EINTR) return Unavailable("flock", path);
  }
  char said[4096];
  const ssize_t bytes = pread(told.get(), said, sizeof(said), 0);
  return bytes > 0 ? std::string(said, static_cast<size_t>(bytes)) : std::string();
}

void RemoveFolder(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (entry.path().filename() != kMark) std::filesystem::remove_all(entry.path(), ignored);
  }
  std::filesystem::remove_all(folder, error);
}

void RemoveAbandoned(const std::string& folder) {
  if (const UniqueFd mark = TakeAbandoned(folder); mark.valid()) {
    RemoveFolder(folder);
  } else {
    rmdir(folder.c_str());  // what is left if its mark was the last thing to be removed
  }
}

void RemoveAllAbandoned(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    if (!absl::StartsWith(entry.path().filename().string(), kFolderPrefix)) continue;
    if (const UniqueFd mark = TakeAbandoned(entry.path()); mark.valid()) RemoveFolder(entry.path());
  }
}

}  // namespace copse::run
