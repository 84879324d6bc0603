// SPDX-License-Identifier: Apache-2.0
//
// Serves processes of this machine on Unix sockets, where the kernel says who they are.
#ifndef COPSE_RPC_LOCAL_SOCKETS_H_
#define COPSE_RPC_LOCAL_SOCKETS_H_

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "rpc/accept_loop.h"
#include "rpc/authorizer.h"

namespace copse::rpc {

// Sockets of this group may be used by its members, if it exists.
inline constexpr char kAdminGroup[] = "copse-admin";

inline constexpr int kUserConnectionsMax = 64;

// Returns the names of the sockets in a folder: admin.sock and view.sock. Empty for an empty folder.
LocalSockets LocalSocketsIn(const std::string& folder);

// A LocalListener accepts connections and gives them to gRPC servers, whose Authorizer asks the kernel about them.
// gRPC itself tells nothing of a Unix socket's peer. A user has an eighth of all such connections at most (8 at least),
// and at most kUserConnectionsMax; further ones are closed.
class LocalListener {
 public:
  // Listens on those that have names: admin.sock has mode 0660 and group copse-admin, view.sock 0666. Files that no
  // program listens on are replaced. Errors name the path: UNAVAILABLE if another program listens there, else errno's.
  static absl::StatusOr<std::unique_ptr<LocalListener>> Open(const LocalSockets& sockets);
  // Removes the sockets. Connections stay with the server.
  ~LocalListener();

  // Accepts from now on: `*server` has the connections to admin.sock, `*view_server` those to view.sock. They must
  // outlive this object.
  void Serve(grpc::Server* server, grpc::Server* view_server);

 private:
  class Numbers;
  LocalListener() = default;

  struct Listener {
    UniqueFd fd;
    std::string path;
    bool is_view;
  };
  std::vector<Listener> listeners_;
  std::unique_ptr<AcceptLoop> loop_;  // the first to end
};

}  // namespace copse::rpc

#endif  // COPSE_RPC_LOCAL_SOCKETS_H_
