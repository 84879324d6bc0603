// SPDX-License-Identifier: Apache-2.0
//
// Calls each method of each service of a running planner and daemon: in each role, with certificates of copse-ca or on
// the program's sockets, and as callers who prove nothing.
#include <grpcpp/security/credentials.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/config/tls_files.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "rpc/method_roles.h"
#include "rpc/testing/method_calls.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::procs {
namespace {

using rpc::MethodRow;
using rpc::Role;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr Role kRolesOfCertificates[] = {Role::kViewer, Role::kOperator, Role::kAdministrator, Role::kNode,
                                         Role::kPlanner};

class EachMethodTest : public ClusterFixture {
 protected:
  EachMethodTest() : ClusterFixture({.transport = "tcp"}) {}

  void SetUp() override {
    ASSERT_TRUE(cluster_.Start({.nodes = 1}).ok());
    const auto nodes = cluster_.admin().ListNodes(kPatience);
    ASSERT_TRUE(nodes.ok()) << nodes.status();
    daemon_ = nodes->nodes(0).address();
    authority_ = cluster_.folder() + "/ca";
  }

  // Runs copse-ca: a certificate for `caller`, or `init`.
  static void Issue(const std::string& folder, const std::string& verb) {
    const auto program = FindProgram("cli/ca/copse-ca");
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<std::string> command = {*program, "--dir", folder, verb};
    if (verb != "init") command.push_back("caller");
    const auto child = ChildProcess::Start({.arguments = command});
    ASSERT_TRUE(child.ok()) << child.status();
    ASSERT_TRUE((*child)->AwaitEnd(kPatience).ok());
    ASSERT_EQ((*child)->exit_code(), 0) << verb;
  }
  static config::TlsFiles FilesOf(const std::string& folder, Role role) {
    const std::string name = absl::StrCat(folder, "/", std::string(rpc::RoleName(role)), "/caller");
    return {.certificate = name + ".pem", .key = name + ".key", .authorities = folder + "/ca.pem"};
  }
  std::shared_ptr<grpc::Channel> ChannelAs(Role role, const std::string& address) const {
    return rpc::ChannelOfItsOwn(address, rpc::CarelessCredentials(FilesOf(authority_, role)));
  }
  static std::shared_ptr<grpc::Channel> OnSocket(const std::string& path) {
    return rpc::ChannelOfItsOwn("unix:" + path, grpc::InsecureChannelCredentials());
  }

  // Expects that the server lets the role call what the table says, of the services that it serves, and nothing else.
  static void ExpectTable(const std::shared_ptr<grpc::Channel>& channel, Role role,
                          const std::set<std::string>& services) {
    for (const std::string& method : rpc::MethodsOfServices()) {
      const MethodRow* const row = rpc::FindMethod(method);
      ASSERT_NE(row, nullptr) << method;
      const absl::Status ended = rpc::CallEmpty(channel, method);
      const std::string text = absl::StrCat(method, " as ", std::string(rpc::RoleName(role)), ": ", ended.ToString());
      if (!services.contains(method.substr(0, method.rfind('/')))) {
        EXPECT_EQ(ended.code(), absl::StatusCode::kUnimplemented) << text;
        continue;
      }
      EXPECT_FALSE(absl::IsUnauthenticated(ended) || absl::IsUnavailable(ended) || absl::IsDeadlineExceeded(ended) ||
                   absl::IsUnimplemented(ended))
          << text;
      EXPECT_EQ(absl::IsPermissionDenied(ended), !rpc::MayCall(*row, role)) << text;
    }
  }
  // Expects that whoever has these credentials gets no connection for any method.
  void ExpectNoConnection(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    for (const std::string& address : {cluster_.planner_address(), daemon_}) {
      for (const std::string& method : rpc::MethodsOfServices()) {
        const absl::Status ended = rpc::CallEmpty(rpc::ChannelOfItsOwn(address, credentials), method);
        EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable) << method << ": " << ended;
      }
    }
  }

  const std::set<std::string> planners_ = {"/copse.v1.AdminService", "/copse.v1.DaemonService"};
  const std::set<std::string> daemons_ = {"/copse.v1.NodeAdminService"};
  std::string daemon_, authority_;
};

TEST_F(EachMethodTest, IsForTheRolesOfTheTable) {
  for (const char* const verb : {"viewer", "operator", "admin", "node", "planner"}) Issue(authority_, verb);
  for (const Role role : kRolesOfCertificates) {
    ExpectTable(ChannelAs(role, cluster_.planner_address()), role, planners_);
    ExpectTable(ChannelAs(role, daemon_), role, daemons_);
  }
  ExpectTable(OnSocket(cluster_.SocketOf(0) + ".admin"), Role::kOperator, daemons_);
  ExpectTable(OnSocket(cluster_.folder() + "/view.sock"), Role::kOwner, {"/copse.v1.AdminService"});
  const std::shared_ptr<grpc::Channel> operators = OnSocket(cluster_.folder() + "/admin.sock");
  ExpectTable(operators, Role::kOperator, planners_);
  // Refused calls have changed nothing.
  grpc::ClientContext context;
  v1::ListAuditReply audit;
  ASSERT_TRUE(v1::AdminService::NewStub(operators)->ListAudit(&context, {}, &audit).ok());
  EXPECT_GT(audit.rows_size(), 0);
  for (const v1::AuditRow& row : audit.rows()) {
    EXPECT_TRUE(absl::StartsWith(row.who(), "operator/") || absl::StartsWith(row.who(), "administrator/") ||
                absl::StartsWith(row.who(), "uid "))
        << row.ShortDebugString();
  }
}

TEST_F(EachMethodTest, IsForNobodyWhoProvesNothing) {
  const std::string stranger = cluster_.folder() + "/stranger";
  Issue(stranger, "init");
  Issue(stranger, "admin");
  ExpectNoConnection(grpc::InsecureChannelCredentials());
  ExpectNoConnection(rpc::CarelessCredentials({}));
  ExpectNoConnection(rpc::CarelessCredentials(FilesOf(stranger, Role::kAdministrator)));
}

}  // namespace
}  // namespace copse::procs
