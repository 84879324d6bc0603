// SPDX-License-Identifier: Apache-2.0
#include "rpc/local_sockets.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server_builder.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/testing/descriptor_limit.h"
#include "base/testing/status_matchers.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "rpc/status.h"

namespace copse::rpc {
namespace {

using testing::FailsWith;

// Answers each call with who made it, as an error.
class Mirror final : public grpc::CallbackGenericService {
 public:
  explicit Mirror(LocalSockets sockets, absl::Duration idle = absl::Minutes(10))
      : authorizer_(nullptr, std::move(sockets)) {
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(absl::ToInt64Milliseconds(idle)));
    builder.RegisterCallbackGenericService(this);
    server = builder.BuildAndStart();
  }
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    class Answer final : public grpc::ServerGenericBidiReactor {
     public:
      explicit Answer(const grpc::Status& status) { Finish(status); }
      void OnDone() override { delete this; }
    };
    peers.push_back(context->peer());
    const absl::StatusOr<Principal> caller = authorizer_.Authorize(*context, context->method());
    if (!caller.ok()) return new Answer(ToGrpc(caller.status()));
    return new Answer(ToGrpc(absl::AlreadyExistsError(
        absl::StrCat(caller->who, " ", caller->peer, " ", std::string(RoleName(caller->role))))));
  }
  std::unique_ptr<grpc::Server> server;
  std::vector<std::string> peers;  // gRPC's names of the callers

 private:
  const Authorizer authorizer_;
};

absl::Status Call(const std::string& path, const std::string& method) {
  grpc::GenericStub stub(grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const grpc::Slice empty;
  grpc::ByteBuffer request(&empty, 1), reply;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, method, {}, &request, &reply, [&](grpc::Status status) { ended.set_value(status); });
  return FromGrpc(ended.get_future().get());
}

// A socket's path must be short, so the folder is not the test's own.
class LocalSocketsTest : public ::testing::Test {
 protected:
  LocalSocketsTest() { EXPECT_NE(mkdtemp(folder_), nullptr); }
  ~LocalSocketsTest() override { std::filesystem::remove_all(folder_); }
  static mode_t ModeOf(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
  }
  char folder_[32] = "/tmp/copse-socketsXXXXXX";
};

TEST_F(LocalSocketsTest, TheKernelSaysWhoCalls) {
  const LocalSockets sockets = LocalSocketsIn(folder_);
  Mirror mirror(sockets);
  auto listener = LocalListener::Open(sockets);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(ModeOf(sockets.admin), 0660u);
  EXPECT_EQ(ModeOf(sockets.view), 0666u);
  (*listener)->Serve(mirror.server.get(), mirror.server.get());
  const std::string us = absl::StrCat("uid ", getuid(), " pid ", getpid());
  EXPECT_THAT(Call(sockets.admin, "/copse.v1.AdminService/DrainNode"),
              FailsWith(absl::StatusCode::kAlreadyExists, us + " operator"));
  EXPECT_THAT(Call(sockets.view, "/copse.v1.AdminService/ListNodes"),
              FailsWith(absl::StatusCode::kAlreadyExists, us + " owner"));
  EXPECT_THAT(Call(sockets.view, "/copse.v1.AdminService/DrainNode"),
              FailsWith(absl::StatusCode::kPermissionDenied, "role=owner", "wanted=operator"));
  EXPECT_THAT(Call(sockets.admin, "/copse.v1.DaemonService/Attach"),
              FailsWith(absl::StatusCode::kPermissionDenied, "wanted=node"));
}

// An RPC whose connection has ended meanwhile must not be taken for the next connection's.
TEST_F(LocalSocketsTest, NoDescriptorComesAgainSoon) {
  const LocalSockets sockets = LocalSocketsIn(folder_);
  Mirror mirror(sockets);
  auto listener = LocalListener::Open(sockets);
  ASSERT_TRUE(listener.ok()) << listener.status();
  (*listener)->Serve(mirror.server.get(), mirror.server.get());
  for (int i = 0; i < 8; ++i) (void)Call(sockets.view, "/copse.v1.AdminService/Ping");
  EXPECT_EQ(std::set<std::string>(mirror.peers.begin(), mirror.peers.end()).size(), 8u);
}

// Returns a connection to a socket that this user has made, or an invalid descriptor if the server has closed it.
// `*may_be`, unless it is null, is false if this process may not be that user.
UniqueFd Connection(const std::string& path, uid_t uid, bool* may_be = nullptr) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // To the kernel, a user is a thread's.
  std::thread([&] {
    const bool is_user = uid == getuid() || syscall(SYS_setresuid, uid, uid, uid) == 0;
    if (may_be != nullptr) *may_be = is_user;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }).join();
  char first = 0;
  return recv(fd.get(), &first, 1, 0) == 1 ? std::move(fd) : UniqueFd();  // HTTP/2 begins with a frame of the server's
}

TEST_F(LocalSocketsTest, AUserWhoKeepsConnectionsLeavesSomeForOthers) {
  constexpr uid_t kOther = 12345;
  const LocalSockets sockets = LocalSocketsIn(folder_);
  Mirror mirror(sockets);
  std::vector<UniqueFd> kept;
  const DescriptorLimit limit(400);
  auto listener = LocalListener::Open(sockets);
  ASSERT_TRUE(listener.ok()) << listener.status();
  (*listener)->Serve(mirror.server.get(), mirror.server.get());
  while (kept.empty() || kept.back().valid()) kept.push_back(Connection(sockets.view, getuid()));
  EXPECT_GT(kept.size(), 8u);
  EXPECT_LT(kept.size(), 40u);
  ASSERT_EQ(chmod(folder_, 0755), 0);
  bool may_be = false;
  const UniqueFd other = Connection(sockets.view, kOther, &may_be);
  EXPECT_EQ(other.valid(), may_be) << "in a sandbox there is no other user";
  kept.clear();
  // The server sees a moment later that they have gone.
  for (const absl::Time end = absl::Now() + absl::Seconds(20); kept.empty() || !kept.back().valid();) {
    ASSERT_LT(absl::Now(), end);
    kept.push_back(Connection(sockets.view, getuid()));
  }
}

TEST_F(LocalSocketsTest, AUserHasFewConnectionsHoweverManyThereMayBe) {
  const LocalSockets sockets = LocalSocketsIn(folder_);
  Mirror mirror(sockets);
  std::vector<UniqueFd> kept;
  const DescriptorLimit limit(8 * 8 * kUserConnectionsMax);
  auto listener = LocalListener::Open(sockets);
  ASSERT_TRUE(listener.ok()) << listener.status();
  (*listener)->Serve(mirror.server.get(), mirror.server.get());
  while (kept.empty() || kept.back().valid()) kept.push_back(Connection(sockets.view, getuid()));
  EXPECT_EQ(kept.size(), size_t{kUserConnectionsMax} + 1);
}

TEST_F(LocalSocketsTest, AConnectionThatSaysNothingEnds) {
  const LocalSockets sockets = LocalSocketsIn(folder_);
  Mirror mirror(sockets, absl::Milliseconds(100));
  auto listener = LocalListener::Open(sockets);
  ASSERT_TRUE(listener.ok()) << listener.status();
  (*listener)->Serve(mirror.server.get(), mirror.server.get());
  const UniqueFd silent = Connection(sockets.view, getuid());
  const timeval patience = {.tv_sec = 20, .tv_usec = 0};
  setsockopt(silent.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  char bytes[4096];
  ssize_t received = 1;
  while (received > 0) received = recv(silent.get(), bytes, sizeof(bytes), 0);
  EXPECT_EQ(received, 0) << "it stays connected";
}

TEST_F(LocalSocketsTest, TheOneThatListensKeepsThePathAndALeftOneIsReplaced) {
  const LocalSockets sockets = LocalSocketsIn(folder_);
  auto first = LocalListener::Open(sockets);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(LocalListener::Open(sockets), FailsWith(absl::StatusCode::kUnavailable, "path=" + sockets.admin));
  first->reset();
  EXPECT_FALSE(std::filesystem::exists(sockets.admin));
  ASSERT_TRUE(std::filesystem::create_directory(std::string(folder_) + "/old"));
  {
    auto left = LocalListener::Open(LocalSocketsIn(std::string(folder_) + "/old"));
    ASSERT_TRUE(left.ok());
    std::filesystem::rename(std::string(folder_) + "/old/admin.sock", sockets.admin);
  }
  EXPECT_TRUE(std::filesystem::exists(sockets.admin)) << "nobody listens there";
  EXPECT_TRUE(LocalListener::Open(sockets).ok());
}

TEST_F(LocalSocketsTest, APathThatCannotBeIsNamed) {
  EXPECT_THAT(LocalListener::Open(LocalSocketsIn("/nonexistent")),
              FailsWith(absl::StatusCode::kNotFound, "path=/nonexistent/admin.sock"));
  EXPECT_THAT(LocalListener::Open(LocalSocketsIn("/" + std::string(200, 'x'))),
              FailsWith(absl::StatusCode::kInvalidArgument, "limit=107"));
}

}  // namespace
}  // namespace copse::rpc
