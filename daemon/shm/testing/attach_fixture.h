// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the attach server share.
#ifndef COPSE_DAEMON_SHM_TESTING_ATTACH_FIXTURE_H_
#define COPSE_DAEMON_SHM_TESTING_ATTACH_FIXTURE_H_

#include <gtest/gtest.h>  // tidy: allow(include) because only tests may depend on it (testonly)

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/testing/status_matchers.h"
#include "daemon/shm/packet_socket.h"
#include "daemon/shm/testing/one_node_daemon.h"
#include "daemon/shm/testing/raw_client.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

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
  std::unique_ptr<RawClient> Attached(const attach::AttachRequest& request = RawClient::Request()) {
    auto client = std::make_unique<RawClient>(daemon_->socket(), daemon_->turn());
    EXPECT_EQ(client->Attach(request).status, 0);
    return client;
  }
  bool AwaitClients(size_t count) {
    return daemon_->TurnUntil([&] { return daemon_->server().client_count() == count; });
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
  static void AskDestroy(RawClient* client, uint64_t request, uint32_t handle) {
    auto destroy = NewMessage<attach::TeamDestroy>(attach::MessageType::kTeamDestroy, request);
    destroy.handle = handle;
    EXPECT_TRUE(client->Send(destroy));
  }
  // The client's next event. The test fails if none comes.
  static ring::EqEntry EventOf(RawClient* client) {
    const auto event = client->AwaitEvent();
    EXPECT_TRUE(event.has_value());
    return event.value_or(ring::EqEntry{});
  }
  // The client's next message. The test fails if that is none of this type.
  template <typename T>
  static T MessageTo(RawClient* client, attach::MessageType type) {
    const auto message = client->Receive<T>(type);
    EXPECT_TRUE(message.has_value());
    return message.value_or(T{});
  }
  static attach::Done DoneOf(RawClient* client) { return MessageTo<attach::Done>(client, attach::MessageType::kDone); }
  // The first element of the client's data area.
  static uint64_t& FirstOf(const RawClient* client) { return *reinterpret_cast<uint64_t*>(client->data()); }
  bool AnswersNop(RawClient* client) {
    client->PostNop(77);
    const ring::EqEntry event = EventOf(client);
    return event.value == 77 && event.status == 0;
  }
  template <typename... Things>
  void ExpectDropped(RawClient* client, const Things&... things) {
    std::string text;
    EXPECT_TRUE(client->AwaitClose(&text));
    EXPECT_THAT(text, testing::Names(things...));
  }

  // How many calls have returned early, of all clients.
  uint64_t EarlyCalls() const {
    std::map<std::string, uint64_t> counters;
    daemon_->server().early_totals().AppendCounters(&counters);
    return counters.at("early.calls");
  }

  std::unique_ptr<OneNodeDaemon> daemon_ = std::make_unique<OneNodeDaemon>();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_TESTING_ATTACH_FIXTURE_H_
