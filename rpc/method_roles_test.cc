// SPDX-License-Identifier: Apache-2.0
#include "rpc/method_roles.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "rpc/testing/method_calls.h"

namespace copse::rpc {
namespace {

TEST(MethodRolesTest, EachMethodOfEachServiceHasOneRow) {
  const std::set<std::string> methods = MethodsOfServices();
  EXPECT_GT(methods.size(), 30u);
  std::set<std::string> rows;
  for (const MethodRow& row : MethodRows()) EXPECT_TRUE(rows.insert(std::string(row.method)).second) << row.method;
  EXPECT_EQ(rows, methods) << "rpc/method_roles.cc needs a row for each method";
}

TEST(MethodRolesTest, PeopleMayDoWhatThoseBelowMay) {
  for (const MethodRow& row : MethodRows()) {
    for (const Role low : {Role::kViewer, Role::kOwner, Role::kOperator}) {
      const Role high = static_cast<Role>(static_cast<int>(low) + 1);
      EXPECT_LE(MayCall(row, low), MayCall(row, high)) << row.method << " " << RoleName(low);
    }
    EXPECT_EQ(MayCall(row, Role::kAdministrator), row.people.has_value()) << row.method;
  }
}

// What a role must not be able to do, whatever the table's reasons.
TEST(MethodRolesTest, TheWallsStand) {
  EXPECT_EQ(FindMethod("/copse.v1.AdminService/Nothing"), nullptr);
  EXPECT_EQ(FindMethod(""), nullptr);
  for (const MethodRow& row : MethodRows()) {
    const bool is_stream_of_daemons = row.method.starts_with("/copse.v1.DaemonService/");
    EXPECT_EQ(MayCall(row, Role::kAdministrator), !is_stream_of_daemons) << row.method;
    EXPECT_FALSE(row.changes && MayCall(row, Role::kViewer)) << row.method;
    EXPECT_FALSE(row.changes && MayCall(row, Role::kNode)) << row.method;
    EXPECT_FALSE(row.changes && MayCall(row, Role::kPlanner)) << row.method;
    if (row.method.ends_with("/Attach") || row.method.ends_with("/AttachBriefly")) {
      for (const Role role : kRoles) EXPECT_EQ(MayCall(row, role), role == Role::kNode) << RoleName(role);
    }
  }
}

// Whatever more than a viewer is wanted for, and who is wanted.
TEST(MethodRolesTest, WhoMayChangeThingsStaysAsItIs) {
  const std::map<std::string_view, Role> wanted = {{"/copse.v1.AdminService/ImportTopology", Role::kAdministrator},
                                                   {"/copse.v1.AdminService/RemoveNode", Role::kAdministrator},
                                                   {"/copse.v1.AdminService/SaveState", Role::kAdministrator},
                                                   {"/copse.v1.AdminService/AdoptState", Role::kAdministrator},
                                                   {"/copse.v1.AdminService/DrainNode", Role::kOperator},
                                                   {"/copse.v1.AdminService/ReplanTeam", Role::kOperator},
                                                   {"/copse.v1.AdminService/ProbeTopology", Role::kOperator},
                                                   {"/copse.v1.AdminService/StopProbe", Role::kOperator},
                                                   {"/copse.v1.AdminService/ListAudit", Role::kOperator},
                                                   {"/copse.v1.AdminService/GetTrace", Role::kOwner},
                                                   {"/copse.v1.NodeAdminService/BeginJob", Role::kOperator},
                                                   {"/copse.v1.NodeAdminService/EndJob", Role::kOperator},
                                                   {"/copse.v1.AdminService/BreakTeam", Role::kOwner}};
  std::map<std::string_view, Role> found;
  for (const MethodRow& row : MethodRows()) {
    if (row.people.has_value() && *row.people != Role::kViewer) found[row.method] = *row.people;
    EXPECT_TRUE(!row.changes || wanted.contains(row.method)) << row.method;
  }
  EXPECT_EQ(found, wanted);
}

TEST(MethodRolesTest, CertificatesNameRoles) {
  for (const Role role : kRoles) {
    EXPECT_EQ(ParseRole(RoleName(role)), role == Role::kOwner ? std::nullopt : std::optional(role));
  }
  EXPECT_FALSE(ParseRole("admin").has_value());
}

}  // namespace
}  // namespace copse::rpc
