// SPDX-License-Identifier: Apache-2.0
#include "rpc/network_listener.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/testing/descriptor_limit.h"
#include "base/testing/loopback_socket.h"
#include "base/testing/status_matchers.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "rpc/credentials.h"

namespace copse::rpc {
namespace {

using testing::FailsWith;

constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;

TEST(ListenOnTest, SaysWhyAServerCannotListen) {
  EXPECT_TRUE(ListenOn("listen", "127.0.0.1:0").ok());
  EXPECT_TRUE(ListenOn("listen", "localhost:0").ok());
  EXPECT_TRUE(ListenOn("listen", "0.0.0.0:0").ok());
  EXPECT_TRUE(ListenOn("listen", "[::]:0").ok());
  for (const char* wrong : {"n1", "unix:/nonexistent/folder/s", "[::1:7"}) {
    EXPECT_THAT(ListenOn("listen", wrong),
                FailsWith(absl::StatusCode::kInvalidArgument, std::string("address=") + wrong));
  }
  // An address that no interface has (TEST-NET-1).
  EXPECT_THAT(ListenOn("admin_listen", "192.0.2.1:0"), FailsWith(kUnavailable, "admin_listen=192.0.2.1:0"));
}

class NetworkListenerTest : public ::testing::Test {
 protected:
  // A server without services on loopback.
  void Start(const NetworkListenerOptions& options = {}) {
    grpc::ServerBuilder builder;
    auto opened = NetworkListener::Open("listen", "127.0.0.1:0", CredentialsFactory({}), options, &builder);
    ASSERT_TRUE(opened.ok()) << opened.status();
    listener_ = *std::move(opened);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_TRUE(listener_->Serve(server_.get()).ok());
  }

  void Connect(const UniqueFd& fd) const { copse::testing::ConnectTo(listener_->address(), fd); }
  // HTTP/2 begins with a frame of the server's.
  static bool IsServed(const UniqueFd& fd) {
    char first = 0;
    return recv(fd.get(), &first, 1, 0) == 1;
  }

  grpc::CallbackGenericService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<NetworkListener> listener_;
};

TEST_F(NetworkListenerTest, AnAddressIsListenedOnOnce) {
  Start();
  grpc::ServerBuilder builder;
  EXPECT_THAT(NetworkListener::Open("listen", listener_->address(), CredentialsFactory({}), {}, &builder),
              FailsWith(kUnavailable, "listen=" + listener_->address()));
  EXPECT_THAT(NetworkListener::Open("listen", "0.0.0.0:0", CredentialsFactory({}), {}, &builder),
              FailsWith(absl::StatusCode::kInvalidArgument, "address=0.0.0.0:0"));
}

TEST_F(NetworkListenerTest, WithoutDescriptorsConnectionsWait) {
  Start();
  const UniqueFd early = copse::testing::LoopbackSocket(), late = copse::testing::LoopbackSocket(),
                 later = copse::testing::LoopbackSocket();
  Connect(early);
  EXPECT_TRUE(IsServed(early));
  {
    const DescriptorLimit famine(0);
    Connect(late);
    absl::SleepFor(absl::Milliseconds(150));  // tidy: allow(sleep) because a failed accept shows nowhere
  }
  EXPECT_TRUE(IsServed(late));
  Connect(later);
  EXPECT_TRUE(IsServed(later));
}

TEST_F(NetworkListenerTest, StrangersLeaveDescriptorsToOthers) {
  constexpr int kStrangers = 64;
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < kStrangers; ++i) strangers.push_back(copse::testing::LoopbackSocket());
  const DescriptorLimit limit(160);
  const DescriptorBounds bounds = ConnectionDescriptors();
  EXPECT_LT(bounds.network, bounds.local);
  Start();
  int served = 0;
  for (const UniqueFd& stranger : strangers) {
    Connect(stranger);
    served += IsServed(stranger) ? 1 : 0;
  }
  EXPECT_GT(served, 0);
  EXPECT_LT(served, kStrangers);
  EXPECT_LE(DescriptorLimit::LowestFree(), static_cast<rlim_t>(bounds.network));
  strangers.clear();
  // The server sees a moment later that they have gone.
  bool is_served = false;
  for (const absl::Time end = absl::Now() + absl::Seconds(20); !is_served && absl::Now() < end;) {
    const UniqueFd other = copse::testing::LoopbackSocket();
    Connect(other);
    is_served = IsServed(other);
  }
  EXPECT_TRUE(is_served);
}

// Returns what the server's first frame, its settings (RFC 9113, section 6.5), say of the one with this number; 0:
// nothing.
uint32_t SettingIn(const UniqueFd& fd, uint8_t number) {
  uint8_t frame[512];
  const auto receive = [&](size_t bytes) { return recv(fd.get(), frame, bytes, MSG_WAITALL) == ssize_t(bytes); };
  if (!receive(9) || frame[3] != 4) return 0;
  const size_t bytes = std::min<size_t>(sizeof(frame), frame[1] << 8 | frame[2]);
  if (!receive(bytes)) return 0;
  for (const uint8_t* each = frame; each + 6 <= frame + bytes; each += 6) {
    if (each[1] == number) return uint32_t{each[2]} << 24 | each[3] << 16 | each[4] << 8 | each[5];
  }
  return 0;
}

TEST_F(NetworkListenerTest, AConnectionHasFewCallsAtATime) {
  Start();
  const UniqueFd client = copse::testing::LoopbackSocket();
  Connect(client);
  constexpr uint8_t kMaxConcurrentStreams = 3;
  EXPECT_EQ(SettingIn(client, kMaxConcurrentStreams), uint32_t{kCallsAtOnceMax});
}

TEST_F(NetworkListenerTest, AConnectionWithoutACallEnds) {
  Start({.idle = absl::Milliseconds(100)});
  const auto channel = grpc::CreateChannel(listener_->address(), grpc::InsecureChannelCredentials());
  const auto patience = [] { return absl::ToChronoTime(absl::Now() + absl::Seconds(20)); };
  ASSERT_TRUE(channel->WaitForConnected(patience()));
  EXPECT_TRUE(channel->WaitForStateChange(GRPC_CHANNEL_READY, patience()));
  EXPECT_TRUE(channel->WaitForConnected(patience())) << "the next call connects anew";
}

}  // namespace
}  // namespace copse::rpc
