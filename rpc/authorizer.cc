// SPDX-License-Identifier: Apache-2.0
#include "rpc/authorizer.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::rpc {
namespace {

constexpr absl::Duration kLogEvery = absl::Minutes(5);  // the same refusal of the same peer
constexpr size_t kLoggedMax = 1024;                     // refusals that are remembered

constexpr char kSocketPeer[] = "fd:";  // gRPC's name of a connection that was given to it as a descriptor

std::string Property(const grpc::AuthContext& context, const char* name) {
  const std::vector<grpc::string_ref> values = context.FindPropertyValues(name);
  return values.empty() ? "" : std::string(values.front().data(), values.front().size());
}

// Asks the kernel about the other end of a connection that is open while its RPC runs.
std::optional<LocalUser> LocalUserOf(const std::string& peer, const LocalSockets& sockets) {
  int fd = -1;
  if (!absl::SimpleAtoi(peer.substr(sizeof(kSocketPeer) - 1), &fd)) return std::nullopt;
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  sockaddr_un name = {};
  size = sizeof(name);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0 || name.sun_family != AF_UNIX) {
    return std::nullopt;
  }
  LocalUser user{.uid = credentials.uid, .pid = credentials.pid};
  if (!sockets.admin.empty() && sockets.admin == name.sun_path) {
    user.role = Role::kOperator;
  } else if (sockets.view.empty() || sockets.view != name.sun_path) {
    return std::nullopt;
  }
  return user;
}

// Returns the peer without its port, which changes with each connection.
std::string HostOf(const std::string& peer) {
  if (!absl::StartsWith(peer, "ipv4:") && !absl::StartsWith(peer, "ipv6:")) return peer;
  return peer.substr(0, peer.rfind(':'));
}

}  // namespace

// A RefusalLog writes a line for a refusal, and then none for the same one for a while.
class Authorizer::RefusalLog {
 public:
  void Write(const std::string& peer, const absl::Status& why) {
    const absl::Time now = absl::Now();
    {
      const MutexLock lock(&mutex_);
      if (next_.size() >= kLoggedMax) std::erase_if(next_, [&](const auto& each) { return each.second <= now; });
      const auto known = next_.find({HostOf(peer), std::string(why.message())});
      if (known != next_.end() && now < known->second) return;
      if (known == next_.end() && next_.size() >= kLoggedMax) return;
      next_[{HostOf(peer), std::string(why.message())}] = now + kLogEvery;
    }
    COPSE_LOG(kWarning, "a caller is refused: ", why.message(), " (peer=", peer, ")");
  }

 private:
  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, absl::Time> next_ ABSL_GUARDED_BY(mutex_);
};

PeerCertificate ShownBy(const grpc::AuthContext* proven) {
  if (proven == nullptr) return {};
  return {.certificate = Property(*proven, "x509_pem_cert"), .chain = Property(*proven, "x509_pem_cert_chain")};
}

Caller CallerOf(const grpc::ServerContextBase& context, const LocalSockets& sockets) {
  Caller caller;
  caller.peer = context.peer();
  if (absl::StartsWith(caller.peer, kSocketPeer)) caller.local = LocalUserOf(caller.peer, sockets);
  caller.certificate = ShownBy(context.auth_context().get());
  return caller;
}

Authorizer::Authorizer(std::shared_ptr<const Identity> identity, LocalSockets sockets)
    : identity_(std::move(identity)), sockets_(std::move(sockets)), log_(std::make_unique<RefusalLog>()) {}

Authorizer::~Authorizer() = default;

void Authorizer::LogRefusal(const std::string& peer, const absl::Status& why) const { log_->Write(peer, why); }

absl::StatusOr<Principal> Authorizer::Identify(const Caller& caller) const {
  Principal principal{.who = caller.peer, .peer = caller.peer};
  if (caller.local.has_value()) {
    principal.who = absl::StrCat("uid ", caller.local->uid);
    principal.peer = absl::StrCat("pid ", caller.local->pid);
    principal.role = caller.local->role;
    principal.uid = caller.local->uid;
    principal.is_known = true;
    return principal;
  }
  if (absl::StartsWith(caller.peer, kSocketPeer)) {
    return absl::UnauthenticatedError("the socket's user cannot be found out");
  }
  if (identity_ == nullptr) return principal;
  ASSIGN_OR_RETURN(const CheckedPeer checked, identity_->Check(caller.certificate, /*as_client=*/true));
  const std::optional<Role> role = ParseRole(checked.id.role);
  if (!role.has_value()) {
    return absl::PermissionDeniedError(absl::StrCat("certificate ", checked.id.ToUri(),
                                                    " has an unknown role (role=", checked.id.role,
                                                    ", known=viewer operator administrator node planner)"));
  }
  principal.who = absl::StrCat(checked.id.role, "/", checked.id.name);
  principal.role = *role;
  principal.id = checked.id;
  principal.certificate = caller.certificate;
  principal.ends = checked.ends;
  principal.is_known = true;
  return principal;
}

absl::StatusOr<Principal> Authorizer::Authorize(const Caller& caller, std::string_view method) const {
  const auto judge = [&]() -> absl::StatusOr<Principal> {
    ASSIGN_OR_RETURN(Principal principal, Identify(caller));
    if (!principal.is_known) return principal;
    const MethodRow* const row = FindMethod(method);
    if (row != nullptr && MayCall(*row, principal.role)) return principal;
    std::string wanted = "none";
    if (row != nullptr) {
      wanted = row->people.has_value() ? std::string(RoleName(*row->people)) : "node";
    }
    const std::string_view short_name = method.substr(method.rfind('/') + 1);
    return absl::PermissionDeniedError(absl::StrCat(principal.who, " may not call ", AbslView(short_name), " (role=",
                                                    AbslView(RoleName(principal.role)), ", wanted=", wanted, ")"));
  };
  absl::StatusOr<Principal> judged = judge();
  if (!judged.ok()) LogRefusal(caller.peer, judged.status());
  return judged;
}

absl::StatusOr<Principal> Authorizer::Authorize(const grpc::ServerContextBase& context, std::string_view method) const {
  return Authorize(CallerOf(context, sockets_), method);
}

}  // namespace copse::rpc
