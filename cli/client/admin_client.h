// SPDX-License-Identifier: Apache-2.0
//
// Connects copsectl to the administrators' services of the planner and the daemons.
#ifndef COPSE_CLI_CLIENT_ADMIN_CLIENT_H_
#define COPSE_CLI_CLIENT_ADMIN_CLIENT_H_

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/config/tls_files.h"
#include "base/status_macros.h"
#include "proto/copse/v1/admin_service.methods.h"
#include "proto/copse/v1/node_admin_service.methods.h"

namespace google::protobuf {
class Message;
}
namespace grpc {
class ClientContext;
class Status;
}  // namespace grpc
namespace copse::rpc {
class Identity;
}

namespace copse::ctl {

using PlannerAdmin = v1::AdminServiceMethods;
using DaemonAdmin = v1::NodeAdminServiceMethods;

struct AdminClientOptions {
  // HOST:PORT or unix:PATH: the planner's, or of all planners, with commas; for DaemonAdmin a daemon's.
  std::string endpoint;
  bool insecure = false;           // plain text beyond loopback
  std::string token_file;          // empty: no token
  config::TlsFiles tls;            // none: no TLS
  std::string server = "planner";  // with TLS: the role that the server must have
  bool by_keys = false;            // errors name keys of a configuration, not copsectl's options
  absl::Duration timeout = absl::Seconds(5);
};

// An AdminClient makes calls, one at a time, all of which share a deadline: `timeout` after the client's creation. Of
// several planners it calls the one that leads.
//
// Errors of calls: UNAVAILABLE if no server answers at the endpoint, DEADLINE_EXCEEDED after the deadline,
// UNIMPLEMENTED if the server lacks the method; these name the endpoint. Others are the server's, one line each.
class AdminClient {
 public:
  // Creates the client without connecting. Errors: INVALID_ARGUMENT for a malformed endpoint, or one that needs
  // `insecure`; those of rpc::ReadTokenFile and rpc::Identity::Open.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(const AdminClientOptions& options);

  ~AdminClient();

  // Calls a method, such as PlannerAdmin::ListNodes. An answer in pieces is merged.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(const v1::Method<Request, Reply>& method, const std::type_identity_t<Request>& request) {
    Reply reply;
    RETURN_IF_ERROR(CallPath(method.path, nullptr, request, &reply));
    return reply;
  }

  // Calls a method that answers in pieces, such as PlannerAdmin::StreamNodes. A planner of 0.2.0 or before has only
  // `whole`, and selects no rows: UNIMPLEMENTED for a request that has a selector.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> CallForRows(const v1::Method<Request, Reply>& method, const v1::Method<Request, Reply>& whole,
                                    const std::type_identity_t<Request>& request) {
    Reply reply;
    RETURN_IF_ERROR(CallPath(method.path, request.has_selector() ? nullptr : whole.path, request, &reply));
    return reply;
  }

  // Extends the deadline, for time in which a verb waits on purpose.
  void Extend(absl::Duration more) { deadline_ += more; }
  // Begins the time anew, for a verb that is run again.
  void Renew() { deadline_ = absl::Now() + options_.timeout; }

  // Returns the time that the server may wait for answers of daemons, so that its reply arrives before the deadline.
  absl::Duration TimeForOthers() const { return std::min(absl::Seconds(2), options_.timeout * 0.7); }

 private:
  class Connection;

  AdminClient(const AdminClientOptions& options, std::string token, std::vector<std::string> endpoints,
              std::shared_ptr<const rpc::Identity> identity);
  absl::Status Connect(const std::string& endpoint);
  // Sets `*reply`, which must be empty. Calls `otherwise`, if not null, at a server without the method `path`.
  absl::Status CallPath(const char* path, const char* otherwise, const google::protobuf::Message& request,
                        google::protobuf::Message* reply);
  // Connects to the leader that a planner has named, or to the next endpoint. Returns false if the status is another
  // than that of a planner which does not lead, or that cannot be reached, or if all were tried.
  bool FindAnother(const grpc::ClientContext& context, const grpc::Status& status);
  void SetUp(grpc::ClientContext* context) const;
  absl::Status Explain(const grpc::Status& status) const;

  const AdminClientOptions options_;
  const std::string token_;
  const std::shared_ptr<const rpc::Identity> identity_;  // null: no TLS
  absl::Time deadline_;
  const std::vector<std::string> others_;  // the endpoints after the first
  std::vector<std::string> untried_;       // those of them that were not tried by this call
  bool follows_ = false;                   // the server was named by another one
  std::unique_ptr<Connection> connection_;
};

}  // namespace copse::ctl

#endif  // COPSE_CLI_CLIENT_ADMIN_CLIENT_H_
