// SPDX-License-Identifier: Apache-2.0
//
// Replaces itself by a command inside a node:
//
//   copse-enter PID COMMAND [ARGUMENT]...          in the node of process PID
//   copse-enter --table FILE [-OPTION]... HOST WORD...   in ssh's place: FILE has lines "HOST PID"; the words are
//                                                  joined for a shell, as ssh does; ssh's options are ignored, and
//                                                  the command gets no descriptors but standard input and outputs
//
// The working directory stays. A copy that belongs to root and has the set-user-ID bit runs the command as the user who
// calls it, as sshd does. Exit codes: the command's; 2 bad usage; 126, 127 as a shell's, if it cannot be run.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

int Refuse(const char* what, const std::string& why, const std::string& thing) {
  std::fprintf(stderr, "copse-enter: %s: %s (argument=%s)\n", what, why.c_str(), thing.c_str());
  return 2;
}

// Enters the namespaces of `pid`, in the same folder as before if it exists there too.
bool Enter(pid_t pid) {
  char folder[4096];
  if (getcwd(folder, sizeof(folder)) == nullptr) folder[0] = '\0';
  const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0 || setns(pidfd, CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS) != 0) return false;
  close(pidfd);
  const bool stays = folder[0] == '\0' || chdir(folder) == 0 || chdir("/") == 0;
  return stays && setuid(getuid()) == 0;
}

// Returns 0 if `host` is not in the table.
pid_t FindHost(const char* table, const std::string& host) {
  std::ifstream file(table);
  std::string name;
  for (pid_t pid; file >> name >> pid;) {
    if (name == host) return pid;
  }
  return 0;
}

int Run(char** command) {
  execvp(command[0], command);
  const int error = errno;
  std::fprintf(stderr, "copse-enter: command: %s (command=%s)\n", std::strerror(error), command[0]);
  return error == ENOENT ? 127 : 126;
}

int RunAsShell(int argc, char** argv) {
  int i = 3;
  while (i < argc && argv[i][0] == '-') ++i;
  if (i + 1 >= argc) return Refuse("usage", "HOST and a command wanted", argc > 2 ? argv[argc - 1] : "--table");
  const std::string host = argv[i];
  const pid_t pid = FindHost(argv[2], host);
  if (pid == 0) return Refuse("host", std::string("not in ") + argv[2], host);
  std::string words;
  for (++i; i < argc; ++i) words += std::string(words.empty() ? "" : " ") + argv[i];
  if (!Enter(pid)) return Refuse("node", std::strerror(errno), host);
  // A proxy of Hydra's that had the port of its mpiexec would stay when that is killed: the port would still listen.
  close_range(STDERR_FILENO + 1, ~0u, 0);
  std::string shell = "/bin/sh", option = "-c";
  char* command[] = {shell.data(), option.data(), words.data(), nullptr};
  return Run(command);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 2 && std::strcmp(argv[1], "--table") == 0) return RunAsShell(argc, argv);
  char* end = nullptr;
  const long pid = argc >= 3 ? std::strtol(argv[1], &end, 10) : 0;
  if (pid <= 0 || *end != '\0') return Refuse("usage", "PID and a command wanted", argc >= 2 ? argv[1] : "");
  if (!Enter(static_cast<pid_t>(pid))) return Refuse("node", std::strerror(errno), argv[1]);
  return Run(argv + 2);
}
