// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/testing/mpi_job.h"

#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "client/port/file_descriptor.h"
#include "client/testing/fake_daemon.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

using client::FakeDaemon;
using client::FileDescriptor;

// The socket of the commands, by which a rank also knows that it is one.
constexpr char kControl[] = "COPSE_TEST_CONTROL";

void Require(bool condition, const char* what) {
  if (condition) return;
  perror(what);
  abort();
}

// --- The first process ---

uint64_t Obey(const Command& command, FakeDaemon* daemon) {
  switch (command.kind) {
    case Command::Kind::kCountCalls:
      return daemon->calls_completed();
    case Command::Kind::kCountTeams:
      return daemon->teams();
    case Command::Kind::kHoldCalls:
      daemon->HoldCalls(command.value != 0);
      break;
    case Command::Kind::kHoldQueues:
      daemon->HoldQueues(command.value != 0);
      break;
    case Command::Kind::kFailNext:
      daemon->FailNextCall(command.value, "node=n7");
      break;
    case Command::Kind::kKill:
      daemon->Kill();
      break;
  }
  return 0;
}

// Obeys the ranks, which all send each command, until one of them ends, or until the job has ended without them.
void Serve(int listener, FakeDaemon* daemon) {
  FileDescriptor ranks[kJobRanks];
  for (FileDescriptor& rank : ranks) rank = FileDescriptor(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  for (;;) {
    Command command;
    for (const FileDescriptor& rank : ranks) {
      if (!rank.valid() || read(rank.get(), &command, sizeof(command)) != sizeof(command)) return;
    }
    const uint64_t answer = Obey(command, daemon);
    for (const FileDescriptor& rank : ranks) {
      if (send(rank.get(), &answer, sizeof(answer), MSG_NOSIGNAL) < 0) return;
    }
  }
}

std::string PathOf(const char* file) {
  char path[PATH_MAX];
  Require(realpath(file, path) != nullptr, file);
  return path;
}

// `folder` is for the launcher's files: those of jobs in other sandboxes may have the same names.
std::vector<std::string> LauncherOf(const std::string& library, const std::string& preload, const char* folder) {
  const std::string ranks = std::to_string(kJobRanks);
  if (library == "mpich")
    return {"/usr/bin/mpiexec.mpich", "-launcher", "fork", "-n", ranks, "-env", "LD_PRELOAD", preload};
  std::vector<std::string> words = {
      "/usr/bin/mpiexec.openmpi", "-n", ranks, "--bind-to", "none", "--host", "localhost:" + ranks, "-x",
      "LD_PRELOAD=" + preload};
  if (geteuid() == 0) words.push_back("--allow-run-as-root");
  for (const char* word : {"--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1", "--mca", "btl", "self,vader",
                           "--mca", "orte_tmpdir_base", folder, "--mca", "btl_vader_backing_directory", folder}) {
    words.push_back(word);
  }
  return words;
}

// Starts the job and returns its exit code.
int Launch(const std::string& library, const std::string& program) {
  FakeDaemon daemon({.data_bytes = 4 << 20, .message_bytes_max = 1 << 20});
  const std::string control = "@copse-job-" + std::to_string(getpid());
  const FileDescriptor listener = client::ListenAt(control, 0);
  std::thread server(Serve, listener.get(), &daemon);
  setenv(kControl, control.c_str(), 1);
  setenv("COPSE_SOCKET", daemon.socket().c_str(), 0);
  char folder[] = "/tmp/copse-job-XXXXXX";
  Require(mkdtemp(folder) != nullptr, folder);
  std::vector<std::string> words = LauncherOf(library, PathOf("client/mpi/libcopse-mpi.so"), folder);
  words.push_back(program);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t job = -1;
  Require(posix_spawn(&job, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0, arguments[0]);
  int status = 0;
  Require(waitpid(job, &status, 0) == job, "waitpid");
  shutdown(listener.get(), SHUT_RDWR);  // wakes a server that no rank has called
  server.join();
  std::filesystem::remove_all(folder);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// --- A rank ---

FileDescriptor Connect() {
  FileDescriptor made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const std::string name = getenv(kControl);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  Require(connect(made.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, "connect");
  return made;
}

int RunTests(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    // Rank 0 writes the report. gtest has read XML_OUTPUT_FILE before main(), so unsetting it would be too late.
    GTEST_FLAG_SET(output, "");
    unsetenv("TEST_PREMATURE_EXIT_FILE");
  }
  ::testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}

}  // namespace

uint64_t Ask(Command::Kind kind, int32_t value) {
  static const FileDescriptor socket = Connect();
  const Command command = {kind, value};
  uint64_t answer = 0;
  Require(write(socket.get(), &command, sizeof(command)) == sizeof(command), "command");
  Require(read(socket.get(), &answer, sizeof(answer)) == sizeof(answer), "answer");
  return answer;
}

}  // namespace copse::mpi

int main(int argc, char** argv) {
  using namespace copse::mpi;  // NOLINT: the parts of this function
  if (getenv(kControl) != nullptr) return RunTests(argc, argv);
  Require(argc == 2, "usage: PROGRAM mpich|openmpi");
  return Launch(argv[1], PathOf(argv[0]));
}
