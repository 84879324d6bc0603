// SPDX-License-Identifier: Apache-2.0
#include "testbed/cluster/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"

namespace copse::cluster {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeState, name, socket, data, control, enter)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClusterState, planner, folder, ppn, nodes, enter_switch, switch_namespace,
                                   remote_shell)

namespace {

using nlohmann::json;

constexpr size_t kNameBytesMax = 32;
// Killed processes may still write into the folder for a moment.
constexpr int kRemovals = 1000;

absl::Status WriteWhole(const std::string& path, const std::string& text) {
  return ReplaceFile(path, text) ? absl::OkStatus() : absl::ErrnoToStatus(errno, path);
}

// Whether `fd` is still the file of that name: another process may have removed it before it was locked.
bool IsStill(int fd, const std::string& path) {
  struct stat ours, named;
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino;
}

}  // namespace

absl::StatusOr<StateFolder> StateFolder::Open(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kNameBytesMax && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  });
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat("--name: letters, digits, - and _ wanted (value=", name, ", limit=", kNameBytesMax, ")"));
  }
  const char* set = getenv("COPSE_CLUSTER_DIR");
  const std::string base = set != nullptr ? set : absl::StrCat("/tmp/copse-cluster-", geteuid());
  struct stat info;
  if (mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) return absl::ErrnoToStatus(errno, base);
  if (lstat(base.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("state: not a folder that only this user may write (folder=", base, ")"));
  }
  return StateFolder(name, base);
}

Condition StateFolder::Look() const {
  const UniqueFd lock(open(lock_path_.c_str(), O_RDWR | O_CLOEXEC));
  std::error_code error;
  if (!lock.valid()) return std::filesystem::exists(path_, error) ? Condition::kCrashed : Condition::kAbsent;
  if (flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return Condition::kCrashed;
  return std::filesystem::exists(path_ + "/state.json", error) ? Condition::kUp : Condition::kHalfUp;
}

absl::StatusOr<UniqueFd> StateFolder::Claim() const {
  for (;;) {
    UniqueFd lock(open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.valid()) return absl::ErrnoToStatus(errno, lock_path_);
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (Look() == Condition::kUp) {
        return absl::AlreadyExistsError(absl::StrCat("up: a cluster is up already; `down` ends it (name=", name_, ")"));
      }
      return absl::FailedPreconditionError(absl::StrCat("up: a cluster is coming up or going down (name=", name_, ")"));
    }
    if (!IsStill(lock.get(), lock_path_)) continue;
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (!std::filesystem::create_directory(path_, error)) {
      return absl::InternalError(absl::StrCat("state: ", error.message(), " (folder=", path_, ")"));
    }
    return lock;
  }
}

absl::Status StateFolder::Remove() const {
  std::error_code error;
  for (int i = 0; i < kRemovals; ++i) {
    std::filesystem::remove_all(path_, error);
    if (!error) break;
  }
  if (error) return absl::InternalError(absl::StrCat("state: ", error.message(), " (folder=", path_, ")"));
  unlink(lock_path_.c_str());
  // The base goes with the last cluster, unless another program keeps it.
  if (getenv("COPSE_CLUSTER_DIR") == nullptr) rmdir(std::filesystem::path(path_).parent_path().c_str());
  return absl::OkStatus();
}

absl::Status StateFolder::WriteState(const ClusterState& state) const {
  return WriteWhole(path_ + "/state.json", json(state).dump(1));
}

absl::StatusOr<ClusterState> StateFolder::ReadState() const {
  const std::string path = path_ + "/state.json";
  std::ifstream file(path);
  try {
    return json::parse(file).get<ClusterState>();
  } catch (const json::exception&) {
    return absl::InternalError(absl::StrCat("state: cannot be read; `down` removes it (file=", path, ")"));
  }
}

absl::Status StateFolder::WritePid(pid_t pid) const { return WriteWhole(path_ + "/pid", absl::StrCat(pid)); }

absl::StatusOr<pid_t> StateFolder::ReadPid() const {
  pid_t pid = 0;
  if (!(std::ifstream(path_ + "/pid") >> pid)) {
    return absl::FailedPreconditionError(absl::StrCat("state: the cluster is not that far yet (name=", name_, ")"));
  }
  return pid;
}

}  // namespace copse::cluster
