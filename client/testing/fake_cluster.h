// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads of one test process, all clients of one FakeDaemon.
#ifndef COPSE_CLIENT_TESTING_FAKE_CLUSTER_H_
#define COPSE_CLIENT_TESTING_FAKE_CLUSTER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "client/copse.h"
#include "client/testing/fake_daemon.h"

namespace copse::client {

inline copse_status_t InitOn(const FakeDaemon& daemon, copse_context_t** context, uint32_t dq_entries = 0) {
  copse_init_params_t params{.mask = COPSE_INIT_PARAM_FIELD_SOCKET, .socket = daemon.socket().c_str()};
  if (dq_entries != 0) {
    params.mask |= COPSE_INIT_PARAM_FIELD_DQ_ENTRIES;
    params.dq_entries = dq_entries;
  }
  return copse_init(&params, context);
}

inline copse_status_t CreateNamed(copse_context_t* context, const std::string& name, uint32_t rank, uint32_t size,
                                  copse_team_t** team) {
  copse_team_params_t params{
      .mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE,
      .name = name.c_str(),
      .rank = rank,
      .size = size};
  return copse_team_create(context, &params, team);
}

struct FakeRank {
  uint32_t rank = 0;
  copse_context_t* context = nullptr;
  copse_team_t* team = nullptr;  // "world"
};

// Runs `body` on `size` ranks, each a thread with a context of its own, and takes everything down again.
inline void OnRanks(const FakeDaemon& daemon, uint32_t size, const std::function<void(FakeRank&)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      FakeRank self;
      self.rank = rank;
      ASSERT_EQ(InitOn(daemon, &self.context), COPSE_OK) << copse_last_error();
      ASSERT_EQ(CreateNamed(self.context, "world", rank, size, &self.team), COPSE_OK) << copse_last_error();
      body(self);
      EXPECT_EQ(copse_fini(self.context), COPSE_OK) << copse_last_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// One rank that is its own team, "solo".
class SoloTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(InitOn(daemon_, &context_), COPSE_OK) << copse_last_error();
    ASSERT_EQ(CreateNamed(context_, "solo", 0, 1, &team_), COPSE_OK) << copse_last_error();
  }
  void TearDown() override {
    if (context_ == nullptr) return;
    EXPECT_EQ(copse_fini(context_), COPSE_OK) << copse_last_error();
  }

  copse_request_t* Request(const copse_coll_args_t& args) {
    copse_request_t* request = nullptr;
    EXPECT_EQ(copse_collective_init(team_, &args, &request), COPSE_OK) << copse_last_error();
    return request;
  }
  copse_request_t* Barrier() { return Request({}); }
  copse_request_t* PostedBarrier() {
    copse_request_t* const request = Barrier();
    EXPECT_EQ(copse_post(request), COPSE_OK) << copse_last_error();
    return request;
  }
  // One that does not complete while calls are held.
  copse_request_t* HeldBarrier() {
    daemon_.HoldCalls(true);
    return PostedBarrier();
  }

  FakeDaemon daemon_;
  copse_context_t* context_ = nullptr;
  copse_team_t* team_ = nullptr;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_TESTING_FAKE_CLUSTER_H_
