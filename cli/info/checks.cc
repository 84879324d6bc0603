// SPDX-License-Identifier: Apache-2.0
#include "cli/info/checks.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace copse::info {
namespace {

constexpr int64_t kSharedMemoryMin = 64 << 20;
constexpr rlim_t kOpenFilesMin = 4096;
constexpr int64_t kMappingsMin = 65530;

Check Of(std::string check, std::string seen, std::string wanted, bool ok, std::string advice) {
  return {std::move(check), std::move(seen), std::move(wanted), ok, ok ? "" : std::move(advice)};
}

std::string Outcome(bool works) { return works ? "works" : std::strerror(errno); }

Check CheckMemoryFiles() {
  const UniqueFd fd(memfd_create("copse-info", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  return Of("memory files (memfd_create)", Outcome(fd.valid()), "works", fd.valid(),
            "allow it in the container's system-call filter: clients and daemon share memory by it");
}

Check CheckProcessDescriptors() {
  const UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  return Of("process descriptors (pidfd_open)", Outcome(fd.valid()), "works", fd.valid(),
            "Linux 5.3 or newer, and a system-call filter that allows it: the daemon learns by it that a client ended");
}

Check CheckSharedMemory() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) {
    return Of("/dev/shm", std::strerror(errno), "a file system", false,
              "mount a tmpfs there: daemons of one host use it");
  }
  const auto free = static_cast<int64_t>(status.f_bavail * status.f_frsize);
  return Of("/dev/shm, free", FormatBytes(free), absl::StrCat("at least ", FormatBytes(kSharedMemoryMin)),
            free >= kSharedMemoryMin, "remove what was left there, or mount it with a larger size=");
}

Check CheckOpenFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string seen = limit.rlim_max == RLIM_INFINITY ? "no limit" : absl::StrCat(limit.rlim_max);
  return Of("open files, hard limit", seen, absl::StrCat("at least ", kOpenFilesMin), limit.rlim_max >= kOpenFilesMin,
            "raise it (ulimit -Hn, LimitNOFILE= of a unit): a client takes up to four in the daemon");
}

Check CheckMappings() {
  int64_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  return Of("mappings of a process (vm.max_map_count)", absl::StrCat(limit), absl::StrCat("at least ", kMappingsMin),
            limit >= kMappingsMin, "raise it by sysctl: early returns protect pages, which divides mappings");
}

// Returns the names of libraries that the loader's cache has, a line each.
std::string LoaderCache() {
  std::string lines;
  FILE* const pipe = popen("PATH=/sbin:/usr/sbin:$PATH ldconfig -p 2>/dev/null", "r");
  if (pipe == nullptr) return lines;
  char buffer[4096];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) lines += buffer;
  pclose(pipe);
  return lines;
}

Check CheckMpi(const std::string& cache) {
  std::vector<std::string> found;
  for (const auto& [soname, name] : {std::pair("libmpi.so.40", "Open MPI"), {"libmpich.so.12", "MPICH"}}) {
    if (absl::StrContains(cache, absl::StrCat("\t", soname, " ")))
      found.push_back(absl::StrCat(name, " (", soname, ")"));
  }
  return Of("MPI libraries", found.empty() ? "none in the loader's cache" : absl::StrJoin(found, ", "),
            "libmpi.so.40 or libmpich.so.12", !found.empty(),
            "copse-run needs one; an MPI elsewhere is found by LD_LIBRARY_PATH, and libcopse needs none");
}

Check CheckUcx(const std::string& cache) {
  const bool is_there = absl::StrContains(cache, "\tlibucp.so.0 ");
  return Of("UCX", is_there ? "libucp.so.0" : "not in the loader's cache", "libucp.so.0", is_there,
            "install libucx0 where copsed is to run");
}

bool Answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::copy(path.begin(), path.end(), address.sun_path);
  if (path[0] == '@') address.sun_path[0] = '\0';
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (path[0] == '@' ? 0 : 1));
  const UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd.valid() && connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0;
}

}  // namespace

std::vector<Check> CheckSystem() {
  utsname kernel{};
  uname(&kernel);
  int major = 0, minor = 0;
  std::sscanf(kernel.release, "%d.%d", &major, &minor);
  const std::string cache = LoaderCache();
  return {
      Of("kernel", absl::StrCat(kernel.sysname, " ", kernel.release, " ", kernel.machine), "Linux 5.3 or newer, x86_64",
         std::pair(major, minor) >= std::pair(5, 3) && absl::string_view(kernel.machine) == "x86_64", "another kernel"),
      CheckMemoryFiles(),
      CheckProcessDescriptors(),
      CheckSharedMemory(),
      CheckOpenFiles(),
      CheckMappings(),
      CheckUcx(cache),
      CheckMpi(cache)};
}

Check CheckDaemonSocket() {
  const char* const given = std::getenv("COPSE_SOCKET");
  std::vector<std::string> places = {"@copse", "/run/copse/copsed.sock"};
  if (given != nullptr && *given != '\0') {
    char host[256] = {};
    gethostname(host, sizeof(host) - 1);
    std::string place = given;
    if (const size_t at = place.find("%h"); at != std::string::npos) place.replace(at, 2, host);
    places = {place};
  }
  for (const std::string& place : places) {
    if (Answers(place)) return Of("daemon's socket", absl::StrCat(place, " answers"), "one that answers", true, "");
  }
  return Of("daemon's socket", absl::StrCat("none of ", absl::StrJoin(places, ", "), " answers"), "one that answers",
            false, "start copsed (systemctl start copsed), or run programs by copse-run --daemons");
}

}  // namespace copse::info
