// SPDX-License-Identifier: Apache-2.0
#include "planner/server/standby.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/testing/status_matchers.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/credentials.h"
#include "rpc/identity.h"
#include "rpc/status.h"
#include "rpc/testing/identity_files.h"

namespace copse::planner {
namespace {

using copse::testing::FailsWith;

// A WatchLeader call of a node.
struct Watch {
  Watch(const std::string& address, const config::TlsFiles& files)
      : stub(v1::DaemonService::NewStub(grpc::CreateChannel(
            address, *rpc::CredentialsFactory({.identity = *rpc::Identity::Open(files, {"node"})}).Channel(address)))),
        reader(stub->WatchLeader(&context, {})) {}
  // Returns whether the standby has told another leader.
  bool Read() { return reader->Read(&leader); }

  grpc::ClientContext context;
  std::unique_ptr<v1::DaemonService::Stub> stub;
  std::unique_ptr<grpc::ClientReader<v1::Leader>> reader;
  v1::Leader leader;
};

TEST(StandbyTest, ARevokedNodesWatchEnds) {
  const emu::TestAuthority authority;
  config::TlsFiles files = rpc::WriteRole(authority, "planner", "p1");
  files.revoked = std::string(getenv("TEST_TMPDIR")) + "/revoked";
  std::filesystem::create_directory(files.revoked);
  rpc::WriteSecretFile(files.revoked + "/list.pem", authority.Revoke({}));
  const auto identity = rpc::Identity::Open(files, {"planner"});
  ASSERT_TRUE(identity.ok()) << identity.status();
  const rpc::Authorizer authorizer(*identity);
  const auto standby = Standby::Start("127.0.0.1:0", rpc::CredentialsFactory({.identity = *identity}), &authorizer, {});
  ASSERT_TRUE(standby.ok()) << standby.status();

  Watch good((*standby)->address(), rpc::WriteRole(authority, "node", "n1"));
  Watch bad((*standby)->address(),
            rpc::WriteIdentity(authority, "bad", {.uri = "spiffe://test/node/n2", .serial = 66}));
  ASSERT_TRUE(good.Read());
  ASSERT_TRUE(bad.Read());
  (*standby)->CheckPeers();
  rpc::WriteSecretFile(files.revoked + "/list.pem", authority.Revoke({66}));
  (*identity)->Reread();
  (*standby)->CheckPeers();
  EXPECT_FALSE(bad.Read());
  EXPECT_THAT(rpc::FromGrpc(bad.reader->Finish()),
              FailsWith(absl::StatusCode::kUnauthenticated, "spiffe://test/node/n2", "is revoked"));
  (*standby)->SetLeader("127.0.0.1:7", 3);
  EXPECT_TRUE(good.Read()) << "the other call goes on";
  EXPECT_EQ(good.leader.number(), 3u);
  good.context.TryCancel();
}

}  // namespace
}  // namespace copse::planner
