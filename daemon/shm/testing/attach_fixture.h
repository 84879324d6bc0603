// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the attach server share.
#ifndef COPSE_DAEMON_SHM_TESTING_ATTACH_FIXTURE_H_
#define COPSE_DAEMON_SHM_TESTING_ATTACH_FIXTURE_H_

#include <gtest/gtest.h>  // tidy: allow(include) because only tests may depend on it (testonly)

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/testing/status_matchers.h"
#include "daemon/shm/testing/one_node_daemon.h"
#include "daemon/shm/testing/raw_client.h"

namespace copse::daemon {

// Values of copse_status_t.
inline constexpr int32_t kInvalidArgument = -1;
inline constexpr int32_t kVersionRefused = -3;
inline constexpr int32_t kNoResource = -4;
inline constexpr int32_t kTimedOut = -5;
inline constexpr int32_t kMemberLost = -6;
inline constexpr int32_t kNotSupported = -9;

// A daemon of one node, and clients of it, on the test's own thread.
class AttachFixture : public ::testing::Test {
 protected:
  void Start(AttachOptions options = {}, CoreOptions core_options = {}) {
    daemon_ = std::make_unique<OneNodeDaemon>(options, core_options);
  }
  RawClient Connect() { return RawClient(daemon_->socket(), daemon_->turn()); }
  std::unique_ptr<RawClient> Attached() {
    auto client = std::make_unique<RawClient>(daemon_->socket(), daemon_->turn());
    EXPECT_EQ(client->Attach().status, 0);
    return client;
  }
  // Two members of one team; their handles.
  std::pair<uint32_t, uint32_t> Team(RawClient* a, RawClient* b, const std::string& name = "team") {
    a->AskTeam(1, name, 0, 2);
    b->AskTeam(1, name, 1, 2);
    const attach::TeamReady first = a->AwaitTeam();
    const attach::TeamReady second = b->AwaitTeam();
    EXPECT_EQ(first.status, 0) << first.text;
    EXPECT_EQ(second.status, 0) << second.text;
    return {first.handle, second.handle};
  }
  bool AnswersNop(RawClient* client) {
    client->PostNop(77);
    const auto event = client->AwaitEvent();
    return event.has_value() && event->value == 77 && event->status == 0;
  }
  template <typename... Things>
  void ExpectDropped(RawClient* client, const Things&... things) {
    std::string text;
    EXPECT_TRUE(client->AwaitClose(&text));
    EXPECT_THAT(text, testing::Names(things...));
  }

  std::unique_ptr<OneNodeDaemon> daemon_ = std::make_unique<OneNodeDaemon>();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_TESTING_ATTACH_FIXTURE_H_
