// SPDX-License-Identifier: Apache-2.0
//
// Decides who a caller is, and whether it may call a method.
#ifndef COPSE_RPC_AUTHORIZER_H_
#define COPSE_RPC_AUTHORIZER_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/identity.h"
#include "rpc/method_roles.h"

namespace copse::rpc {

// A LocalUser is a process of this machine on one of the program's Unix sockets; the kernel says so.
struct LocalUser {
  uint32_t uid = 0;
  int32_t pid = 0;
  Role role = Role::kOwner;  // of the socket
};

// A Caller holds what the server knows about the caller of an RPC.
struct Caller {
  std::string peer;  // gRPC's format: "ipv4:127.0.0.1:40312"
  PeerCertificate certificate;
  std::optional<LocalUser> local;
};

// LocalSockets says what the names of the program's Unix sockets mean (rpc/local_sockets.h).
struct LocalSockets {
  std::string admin;  // operators
  std::string view;   // owners, who are viewers of others' teams
};

// Returns what the other end of a connection has shown; empty for a null or a plain one.
PeerCertificate ShownBy(const grpc::AuthContext* proven);
Caller CallerOf(const grpc::ServerContextBase& context, const LocalSockets& sockets = {});

// A Principal is a caller that was let in.
struct Principal {
  std::string who;  // "operator/alice", "uid 1000", or gRPC's peer
  std::string peer;
  Role role = Role::kAdministrator;
  bool is_known = false;  // false: nothing says who it is, and it may do everything
  std::optional<SpiffeId> id;
  PeerCertificate certificate;
  std::optional<uint32_t> uid;
  absl::Time ends = absl::InfiniteFuture();  // of its certificate

  // Returns whether it may change the teams of all users, and see all that these do.
  bool MayChangeAll() const { return role == Role::kOperator || role == Role::kAdministrator; }
  // Returns whether it may change the teams of this user.
  bool MayChange(uint32_t owner) const { return MayChangeAll() || uid == owner; }
};

// An Authorizer is asked at the start of every RPC. Thread-safe.
class Authorizer {
 public:
  // Without an identity every caller over the network may do everything.
  explicit Authorizer(std::shared_ptr<const Identity> identity = nullptr, LocalSockets sockets = {});
  ~Authorizer();

  // Returns who calls. `method` is, for example, "/copse.v1.AdminService/BreakTeam". UNAUTHENTICATED if the caller does
  // not prove who it is, PERMISSION_DENIED if its role may not call the method; both are logged, once in a while for
  // each peer.
  absl::StatusOr<Principal> Authorize(const grpc::ServerContextBase& context, std::string_view method) const;
  absl::StatusOr<Principal> Authorize(const Caller& caller, std::string_view method) const;

  const std::shared_ptr<const Identity>& identity() const { return identity_; }
  // Writes a refusal to the log, unless it did so for this peer and reason a short while ago.
  void LogRefusal(const std::string& peer, const absl::Status& why) const;

 private:
  class RefusalLog;

  absl::StatusOr<Principal> Identify(const Caller& caller) const;

  const std::shared_ptr<const Identity> identity_;
  const LocalSockets sockets_;
  const std::unique_ptr<RefusalLog> log_;
};

}  // namespace copse::rpc

#endif  // COPSE_RPC_AUTHORIZER_H_
