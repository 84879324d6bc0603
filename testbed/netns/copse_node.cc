// SPDX-License-Identifier: Apache-2.0
//
// copse-node NAME HOSTS-FILE: creates the namespaces of one node, prints "ready", and holds them until it is killed.
//
// Network, host name, System V IPC and mounts are the node's own: /sys shows its network devices (UCX reads it),
// /dev/shm is empty, /etc/hosts is HOSTS-FILE. IPv6 is off, so that nothing is sent on the links unasked.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace {

// Prints the failed call and the reason; returns the exit code.
int Failed(const char* what, const char* thing) {
  std::fprintf(stderr, "copse-node: %s: %s (thing=%s)\n", what, std::strerror(errno), thing);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "copse-node: usage: copse-node NAME HOSTS-FILE (arguments=%d, limit=2)\n", argc - 1);
    return 2;
  }
  if (unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS) != 0) return Failed("namespaces", argv[1]);
  if (sethostname(argv[1], std::strlen(argv[1])) != 0) return Failed("host name", argv[1]);
  // Mounts made here stay here; the machine's later mounts and unmounts reach this namespace.
  if (mount("", "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) return Failed("mount", "/");
  // A /sys that shows another network's devices would lie underneath.
  umount2("/sys", MNT_DETACH);
  if (mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) return Failed("mount", "/sys");
  if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) return Failed("mount", "/dev/shm");
  if (mount(argv[2], "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) return Failed("mount", argv[2]);
  for (const char* device : {"all", "default"}) {
    // A kernel without IPv6 has no such file.
    std::ofstream(std::string("/proc/sys/net/ipv6/conf/") + device + "/disable_ipv6") << "1";
  }
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
}
