// SPDX-License-Identifier: Apache-2.0
//
// Clients in processes of their own, which die.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/testing/status_matchers.h"
#include "daemon/shm/testing/attach_fixture.h"
#include "daemon/shm/testing/raw_client.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;

class AttachServerDeathTest : public AttachFixture {
 protected:
  // Rank 1 of the team "team", in a process that runs `then` once it is a member.
  pid_t Fork(const std::function<void(RawClient&, uint32_t handle)>& then) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "victim");
    RawClient client(daemon_->socket(), [] { sched_yield(); });
    client.Attach();
    client.AskTeam(1, "team", 1, 2);
    const attach::TeamReady ready = client.AwaitTeam();
    if (ready.status != 0 || ready.handle == 0) _exit(9);
    then(client, ready.handle);
    _exit(0);
  }
  // Rank 0 joins, and waits in a call.
  void Join() {
    client_ = Attached();
    client_->AskTeam(1, "team", 0, 2);
    const attach::TeamReady ready = client_->AwaitTeam();
    ASSERT_EQ(ready.status, 0) << ready.text;
    client_->Post(AllreduceSlot(ready.handle, 1, 1));
  }
  std::string AwaitBreak() {
    const ring::EqEntry event = EventOf(client_.get());
    EXPECT_EQ(event.status, kMemberLost);
    return client_->Text(event);
  }

  std::unique_ptr<RawClient> client_;
};

TEST_F(AttachServerDeathTest, AKillIsNoticedAtOnceAndNamed) {
  const pid_t pid = Fork([](RawClient&, uint32_t) { pause(); });
  Join();
  for (int i = 0; i < 20; ++i) daemon_->Turn();
  kill(pid, SIGKILL);
  const absl::Time killed = absl::Now();
  const std::string text = AwaitBreak();
  EXPECT_LT(absl::Now() - killed, absl::Milliseconds(100));
  EXPECT_THAT(text, Names("rank 1 on node n1", absl::StrCat("process ", pid), "(victim)", "signal 9"));
  waitpid(pid, nullptr, 0);
}

TEST_F(AttachServerDeathTest, AnExitWithALiveTeamIsADeath) {
  const pid_t pid = Fork([](RawClient&, uint32_t) { _exit(3); });
  Join();
  EXPECT_THAT(AwaitBreak(), Names(absl::StrCat("process ", pid), "(victim)", "status 3"));
  waitpid(pid, nullptr, 0);
}

TEST_F(AttachServerDeathTest, ASocketThatAChildKeepsDoesNotHideTheDeath) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = Fork([&](RawClient&, uint32_t) {
    if (fork() == 0) {  // holds socket and memory until the test is over
      close(ends[1]);
      char byte;
      _exit(read(ends[0], &byte, 1) < 0);
    }
    raise(SIGKILL);
  });
  Join();
  EXPECT_THAT(AwaitBreak(), Names("signal 9"));
  waitpid(pid, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(AttachServerDeathTest, WhatADyingProcessStillSaidCounts) {
  const pid_t pid = Fork([](RawClient& client, uint32_t handle) {
    AskDestroy(&client, 2, handle);
    _exit(0);
  });
  Join();
  ASSERT_TRUE(AwaitClients(1));
  // It took leave, so the call that was made without it names a leaver, not a death.
  EXPECT_EQ(EventOf(client_.get()).cause, static_cast<uint8_t>(FailureCause::kMemberLeft));
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace copse::daemon
