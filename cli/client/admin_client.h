// SPDX-License-Identifier: Apache-2.0
//
// Connects copsectl to the administrators' services of the planner and the daemons.
#ifndef COPSE_CLI_CLIENT_ADMIN_CLIENT_H_
#define COPSE_CLI_CLIENT_ADMIN_CLIENT_H_

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/config/tls_files.h"
#include "grpcpp/security/credentials.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/node_admin_service.grpc.pb.h"
#include "rpc/identity.h"

namespace copse::ctl {

using PlannerAdmin = v1::AdminService::Stub;
using DaemonAdmin = v1::NodeAdminService::Stub;

struct AdminClientOptions {
  // HOST:PORT or unix:PATH: the planner's, or of all planners, with commas; for DaemonAdmin a daemon's.
  std::string endpoint;
  bool insecure = false;           // plain text beyond loopback
  std::string token_file;          // empty: no token
  config::TlsFiles tls;            // none: no TLS
  std::string server = "planner";  // with TLS: the role that the server must have
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

  // Calls a method, such as &PlannerAdmin::ListNodes.
  template <typename Stub, typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                             const std::type_identity_t<Request>& request) {
    while (true) {
      grpc::ClientContext context;
      SetUp(&context);
      Reply reply;
      const grpc::Status status = ((*std::get<std::unique_ptr<Stub>>(stubs_)).*method)(&context, request, &reply);
      if (status.ok()) {
        untried_ = others_;
        return reply;
      }
      if (!FindAnother(context, status)) return Explain(status);
    }
  }

  // Calls a method that answers in pieces, such as &PlannerAdmin::StreamNodes, and merges them. A planner of 0.2.0 or
  // before has only `whole`, and selects no rows: UNIMPLEMENTED for a request that has a selector.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> CallForRows(
      std::unique_ptr<grpc::ClientReader<Reply>> (PlannerAdmin::*method)(grpc::ClientContext*, const Request&),
      grpc::Status (PlannerAdmin::*whole)(grpc::ClientContext*, const Request&, Reply*),
      const std::type_identity_t<Request>& request) {
    while (true) {
      grpc::ClientContext context;
      SetUp(&context);
      const auto reader = ((*std::get<std::unique_ptr<PlannerAdmin>>(stubs_)).*method)(&context, request);
      Reply reply, piece;
      while (reader->Read(&piece)) reply.MergeFrom(piece);
      const grpc::Status status = reader->Finish();
      if (status.ok()) {
        untried_ = others_;
        return reply;
      }
      if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && !request.has_selector()) {
        return Call(whole, request);
      }
      if (!FindAnother(context, status)) return Explain(status);
    }
  }

  // Extends the deadline, for time in which a verb waits on purpose.
  void Extend(absl::Duration more) { deadline_ += more; }
  // Begins the time anew, for a verb that is run again.
  void Renew() { deadline_ = absl::Now() + options_.timeout; }

  // Returns the time that the server may wait for answers of daemons, so that its reply arrives before the deadline.
  absl::Duration TimeForOthers() const { return std::min(absl::Seconds(2), options_.timeout * 0.7); }

 private:
  AdminClient(const AdminClientOptions& options, std::string token, std::vector<std::string> endpoints,
              std::shared_ptr<const rpc::Identity> identity);
  absl::Status Connect(const std::string& endpoint);
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
  std::tuple<std::unique_ptr<PlannerAdmin>, std::unique_ptr<DaemonAdmin>> stubs_;
};

}  // namespace copse::ctl

#endif  // COPSE_CLI_CLIENT_ADMIN_CLIENT_H_
