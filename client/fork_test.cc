// SPDX-License-Identifier: Apache-2.0
//
// What a forked child may do with its parent's handles.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "base/testing/status_matchers.h"
#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"

namespace copse::client {
namespace {

using copse::testing::Names;

// Runs `body` in a forked child; true if it returned true there.
bool InChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

using ForkTest = SoloTest;

TEST_F(ForkTest, TheChildGetsErrorsAndTheParentGoesOn) {
  double value = 2;
  copse_coll_args_t args{
      .collective = COPSE_COLL_ALLREDUCE, .type = COPSE_DT_DOUBLE, .send = COPSE_IN_PLACE, .recv = &value, .count = 1};
  copse_request_t* const request = Request(args);
  daemon_.HoldCalls(true);
  ASSERT_EQ(copse_post(request), COPSE_OK);
  void* memory = nullptr;

  EXPECT_TRUE(InChild([&] {
    EXPECT_EQ(copse_barrier(team_), COPSE_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(copse_last_error(), Names("copse: barrier: ", "copse_init"));
    return !::testing::Test::HasFailure() && copse_test(request) == COPSE_ERR_INVALID_ARGUMENT &&
           copse_wait(request, -1) == COPSE_ERR_INVALID_ARGUMENT && copse_post(request) == COPSE_ERR_INVALID_ARGUMENT &&
           copse_cancel(request) == COPSE_ERR_INVALID_ARGUMENT &&
           copse_finalize(request) == COPSE_ERR_INVALID_ARGUMENT &&
           copse_team_destroy(team_) == COPSE_ERR_INVALID_ARGUMENT &&
           copse_alloc(context_, 64, &memory) == COPSE_ERR_INVALID_ARGUMENT &&
           copse_ping(context_, -1) == COPSE_ERR_INVALID_ARGUMENT && copse_fini(context_) == COPSE_OK &&
           copse_fini(context_) == COPSE_ERR_INVALID_ARGUMENT;
  }));

  daemon_.HoldCalls(false);
  EXPECT_EQ(copse_wait(request, -1), COPSE_OK) << copse_last_error();
  EXPECT_EQ(copse_barrier(team_), COPSE_OK) << copse_last_error();
  EXPECT_EQ(daemon_.calls_completed(), 2u);
}

TEST_F(ForkTest, TheChildMayAttachItself) {
  EXPECT_TRUE(InChild([&] {
    copse_context_t* own = nullptr;
    copse_team_t* team = nullptr;
    return InitOn(daemon_, &own) == COPSE_OK && CreateNamed(own, "child", 0, 1, &team) == COPSE_OK &&
           copse_barrier(team) == COPSE_OK && copse_fini(own) == COPSE_OK;
  }));
  EXPECT_EQ(copse_ping(context_, -1), COPSE_OK);
}

}  // namespace
}  // namespace copse::client
