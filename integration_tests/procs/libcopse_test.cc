// SPDX-License-Identifier: Apache-2.0
//
// libcopse's habits that a real daemon has to put up with.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/copse.h"
#include "integration_tests/procs/cluster_fixture.h"

namespace copse::procs {
namespace {

// Ports that a daemon has mapped, each of a client.
int PortsOf(pid_t daemon) {
  std::ifstream maps(absl::StrCat("/proc/", daemon, "/maps"));
  int ports = 0;
  for (std::string line; std::getline(maps, line);) ports += absl::StrContains(line, "memfd:copse-port") ? 1 : 0;
  return ports;
}

class LibcopseTest : public ClusterFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start({.nodes = 1}).ok());
    const std::string socket = cluster_.SocketOf(0);
    const copse_init_params_t params{.mask = COPSE_INIT_PARAM_FIELD_SOCKET, .socket = socket.c_str()};
    ASSERT_EQ(copse_init(&params, &context_), COPSE_OK) << copse_last_error();
  }
  void TearDown() override {
    if (context_ != nullptr) {
      EXPECT_EQ(copse_fini(context_), COPSE_OK) << copse_last_error();
    }
    ClusterFixture::TearDown();
  }

  copse_context_t* context_ = nullptr;
};

TEST_F(LibcopseTest, FreesAllItsBuffersInARow) {
  // Each is a region of its own, and there may be 256 of them.
  std::vector<void*> buffers(250);
  for (int round = 0; round < 4; ++round) {
    for (void*& buffer : buffers) {
      ASSERT_EQ(copse_alloc(context_, 600'000, &buffer), COPSE_OK) << copse_last_error();
    }
    for (void* const buffer : buffers) ASSERT_EQ(copse_free(context_, buffer), COPSE_OK) << copse_last_error();
    EXPECT_EQ(copse_ping(context_, -1), COPSE_OK) << round << ": " << copse_last_error();
  }
}

TEST_F(LibcopseTest, LeavesThoughAForkedChildLives) {
  const pid_t daemon = cluster_.DaemonPid(0);
  EXPECT_EQ(PortsOf(daemon), 1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {  // holds the socket until the test is over
    close(ends[1]);
    char byte;
    _exit(read(ends[0], &byte, 1) < 0);
  }
  EXPECT_EQ(copse_ping(context_, -1), COPSE_OK) << copse_last_error();
  EXPECT_EQ(copse_fini(std::exchange(context_, nullptr)), COPSE_OK);
  const absl::Time end = absl::Now() + absl::Seconds(10);
  while (PortsOf(daemon) > 0 && absl::Now() < end) cluster_.Pass(absl::Milliseconds(5));
  EXPECT_EQ(PortsOf(daemon), 0);
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
}

// The child's end, and that it takes leave of what it inherited, is nothing to the daemon.
TEST_F(LibcopseTest, AChildThatLetsGoTakesNothingFromItsParent) {
  const pid_t child = fork();
  if (child == 0) _exit(copse_fini(context_) == COPSE_OK ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(copse_ping(context_, -1), COPSE_OK) << copse_last_error();
}

}  // namespace
}  // namespace copse::procs
