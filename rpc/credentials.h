// SPDX-License-Identifier: Apache-2.0
//
// Who may listen, connect and call: the two seams that every RPC passes. Mutual TLS and roles will come in here.
#ifndef COPSE_RPC_CREDENTIALS_H_
#define COPSE_RPC_CREDENTIALS_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::rpc {

struct CredentialsOptions {
  bool insecure = false;                       // plain text beyond loopback is allowed
  const char* insecure_by = "insecure: true";  // how the program's user says so
};

// Makes all credentials of a program. Thread-safe.
class CredentialsFactory {
 public:
  explicit CredentialsFactory(CredentialsOptions options) : options_(options) {}

  // For a server on `address` (HOST:PORT, [V6]:PORT, or unix:PATH). INVALID_ARGUMENT if it is not on loopback and
  // `insecure` is not set: "listening beyond loopback needs insecure: true (address=0.0.0.0:7470)".
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Server(const std::string& address) const;

  // For a channel to `address`; likewise.
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Channel(const std::string& address) const;

 private:
  CredentialsOptions options_;
};

// True for 127.0.0.0/8, [::1], localhost and unix: sockets. A host name is never looked up.
bool IsLoopback(std::string_view address);

// INVALID_ARGUMENT unless `address` is HOST:PORT with a port in 0..65535, or unix:PATH.
absl::Status CheckAddress(std::string_view address);

// UNAVAILABLE unless a server can listen on `address`: "listen: cannot listen there: Address already in use
// (listen=127.0.0.1:7470)" for `key` "listen". Asked before gRPC is, which says so in several lines of its own, and not
// to us. Binds the address for a moment; of a unix: socket nothing is said. Looks up host names.
absl::Status CheckListen(std::string_view key, const std::string& address);

// The caller of an RPC, as far as it is known.
struct Caller {
  std::string peer;   // gRPC's: "ipv4:127.0.0.1:40312"
  std::string token;  // from the metadata key below; empty if none
};
inline constexpr char kTokenMetadataKey[] = "copse-token";
Caller CallerOf(const grpc::ServerContextBase& context);

// Asked at every RPC before it does anything. Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // `method`: "/copse.v1.AdminService/BreakTeam". PERMISSION_DENIED if not allowed.
  virtual absl::Status Authorize(const Caller& caller, std::string_view method) const = 0;
};

// Allows everything if `token` is empty, else what carries that token.
std::unique_ptr<Authorizer> MakeTokenAuthorizer(std::string token);

// The tokens of a file, one a line, without blanks around them: one, or two while one takes the other's place. The
// first is to be shown; who asks for tokens accepts each. INVALID_ARGUMENT if there is none, a third, or one longer
// than 256 bytes; NOT_FOUND if the file cannot be read, FAILED_PRECONDITION if others than its owner may read or write
// it. An empty path: none.
absl::StatusOr<std::vector<std::string>> ReadTokenFile(const std::string& path);

}  // namespace copse::rpc

#endif  // COPSE_RPC_CREDENTIALS_H_
