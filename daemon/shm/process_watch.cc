// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/process_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/accounts/job_of_cgroup.h"

namespace copse::daemon {
namespace {

// Debian 12's headers lack these: SO_PEERPIDFD came with Linux 6.5, and the exit code of a process that is not a child
// with 6.15.
constexpr int kSoPeerPidfd = 77;
constexpr int kSoPeerGroups = 59;  // Linux 4.13
constexpr size_t kGroupsUsual = 64;
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup;
  uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);
constexpr uint64_t kPidfdInfoExit = 1u << 3;

// exit_code has this position in /proc/PID/stat, counted after the command's closing parenthesis (field 52 of all).
constexpr size_t kStatExitCode = 52 - 3;

// Users that have no number in this process's user namespace all have this one here.
constexpr uint32_t kOverflowUid = 65534;

std::string ReadFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  char text[8192];  // with cgroup v1, a line of /proc/PID/cgroup for each controller
  const ssize_t bytes = read(fd.get(), text, sizeof(text));
  return bytes > 0 ? std::string(text, static_cast<size_t>(bytes)) : "";
}

std::string ReadProc(int64_t pid, const char* file) { return ReadFile(absl::StrCat("/proc/", pid, "/", file)); }

// Returns whether all users of the machine have their own numbers here, as they do outside of user namespaces.
bool MapsAllUsers() {
  static const bool all = [] {
    const std::string map = ReadFile("/proc/self/uid_map");
    const std::vector<std::string> words = absl::StrSplit(map, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    return words == std::vector<std::string>{"0", "0", "4294967295"};
  }();
  return all;
}

std::string CommandOf(int64_t pid) {
  std::string name = ReadProc(pid, "comm");
  absl::StripAsciiWhitespace(&name);
  for (char& c : name) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return name;
}

UniqueFd PidfdOf(int socket, int64_t pid) {
  int pidfd = -1;
  socklen_t bytes = sizeof(pidfd);
  if (getsockopt(socket, SOL_SOCKET, kSoPeerPidfd, &pidfd, &bytes) == 0) return UniqueFd(pidfd);
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// Returns the groups that the process had when it connected.
std::set<uint32_t> GroupsOf(int socket, uint32_t group) {
  std::vector<gid_t> groups(kGroupsUsual);
  auto bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  int got = getsockopt(socket, SOL_SOCKET, kSoPeerGroups, groups.data(), &bytes);
  if (got != 0 && errno == ERANGE) {  // the kernel says how many there are
    groups.resize(bytes / sizeof(gid_t));
    got = getsockopt(socket, SOL_SOCKET, kSoPeerGroups, groups.data(), &bytes);
  }
  std::set<uint32_t> all;
  if (got == 0) all.insert(groups.begin(), groups.begin() + bytes / sizeof(gid_t));
  all.insert(group);
  return all;
}

std::string JobOf(const PeerProcess& process) {
  const std::string cgroup = ReadProc(process.pid, "cgroup");
  return JobOfCgroup(HasDied(process) ? "" : cgroup, process.uid);
}

// Returns the status of a dead process as waitpid would; std::nullopt if it is unknown. /proc has it until the process
// is reaped; a newer kernel's pidfd has it also later.
std::optional<int> WaitStatusOf(const PeerProcess& process) {
  const std::string stat = ReadProc(process.pid, "stat");
  const size_t after_name = stat.rfind(')');
  if (after_name != std::string::npos && after_name + 2 < stat.size()) {
    const std::vector<std::string> fields = absl::StrSplit(absl::string_view(stat).substr(after_name + 2), ' ');
    int status;
    if ((fields[0] == "Z" || fields[0] == "X") && fields.size() > kStatExitCode &&
        absl::SimpleAtoi(absl::StripAsciiWhitespace(fields[kStatExitCode]), &status)) {
      return status;
    }
  }
  PidfdInfo info{};
  info.mask = kPidfdInfoExit;
  if (process.pidfd.valid() && ioctl(process.pidfd.get(), kPidfdGetInfo, &info) == 0 &&
      (info.mask & kPidfdInfoExit) != 0) {
    return info.exit_code;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<PeerProcess> PeerOf(int socket) {
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return absl::ErrnoToStatus(errno, "SO_PEERCRED");
  }
  if (credentials.uid == kOverflowUid && !MapsAllUsers()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the user has no number in the daemon's user namespace, and could not be told from others (uid=", kOverflowUid,
        ")"));
  }
  PeerProcess process;
  process.uid = credentials.uid;
  process.pid = credentials.pid;
  process.gid = credentials.gid;
  if (process.pid != 0) process.pidfd = PidfdOf(socket, process.pid);
  return process;
}

void LookUp(int socket, PeerProcess* process) {
  process->groups = GroupsOf(socket, process->gid);
  process->job = JobOfCgroup("", process->uid);
  if (process->pid == 0) return;
  process->name = CommandOf(process->pid);
  process->job = JobOf(*process);
}

bool HasDied(const PeerProcess& process) {
  pollfd dead{process.pidfd.get(), POLLIN, 0};
  return !process.pidfd.valid() || poll(&dead, 1, 0) != 0;
}

std::string DescribeProcess(const PeerProcess& process) {
  if (process.pid == 0) return absl::StrCat("a process of uid ", process.uid);
  return process.name.empty() ? absl::StrCat("process ", process.pid)
                              : absl::StrCat("process ", process.pid, " (", process.name, ")");
}

std::string DescribeDeath(const PeerProcess& process) {
  const std::string who = DescribeProcess(process);
  const std::optional<int> status = WaitStatusOf(process);
  if (!status.has_value()) return absl::StrCat(who, " ended");
  if (WIFSIGNALED(*status)) {
    const int signal = WTERMSIG(*status);
    const char* const name = sigdescr_np(signal);
    return absl::StrCat(who, " was killed by signal ", signal, name == nullptr ? "" : absl::StrCat(" (", name, ")"));
  }
  return absl::StrCat(who, " exited with status ", WEXITSTATUS(*status));
}

}  // namespace copse::daemon
