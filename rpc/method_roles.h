// SPDX-License-Identifier: Apache-2.0
//
// The table of which role may call which method of the services.
#ifndef COPSE_RPC_METHOD_ROLES_H_
#define COPSE_RPC_METHOD_ROLES_H_

#include <optional>
#include <string_view>

#include "absl/types/span.h"

namespace copse::rpc {

// People's roles come first: each may do what those before it may. Programs' roles stand apart.
enum class Role {
  kViewer,         // looks
  kOwner,          // a viewer who is known to the kernel, and may change the teams of the same user
  kOperator,       // changes what runs
  kAdministrator,  // changes what the cluster is
  kNode,           // copsed
  kPlanner,        // copse-planner
};
inline constexpr Role kRoles[] = {Role::kViewer,        Role::kOwner, Role::kOperator,
                                  Role::kAdministrator, Role::kNode,  Role::kPlanner};

std::string_view RoleName(Role role);
// Returns the role of a name as certificates spell it.
std::optional<Role> ParseRole(std::string_view name);

// A MethodRow says who may call a method.
struct MethodRow {
  std::string_view method;     // "/copse.v1.AdminService/BreakTeam"
  std::optional<Role> people;  // the lowest role of people; nothing: none
  bool node = false;
  bool planner = false;
  bool changes = false;  // it changes something, so a call is recorded
};

absl::Span<const MethodRow> MethodRows();
// Returns null if the method has no row: nobody may call it.
const MethodRow* FindMethod(std::string_view method);
bool MayCall(const MethodRow& row, Role role);

}  // namespace copse::rpc

#endif  // COPSE_RPC_METHOD_ROLES_H_
