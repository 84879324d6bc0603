// SPDX-License-Identifier: Apache-2.0
//
// Decides which addresses may be used and which callers may call: the two seams that every RPC passes. Mutual TLS and
// roles will be added here.
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
  const char* insecure_by = "insecure: true";  // the program's way to set it
};

// Makes all credentials of a program. Thread-safe.
class CredentialsFactory {
 public:
  explicit CredentialsFactory(CredentialsOptions options) : options_(options) {}

  // Returns credentials for a server on `address` (HOST:PORT, [V6]:PORT, or unix:PATH). INVALID_ARGUMENT if it is not
  // on loopback and `insecure` is not set: "listening beyond loopback needs insecure: true (address=0.0.0.0:7470)".
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Server(const std::string& address) const;

  // Returns credentials for a channel to `address`, with the same checks.
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Channel(const std::string& address) const;

 private:
  CredentialsOptions options_;
};

// Whether the address is 127.0.0.0/8, [::1], localhost or a unix: socket. A host name is never looked up.
bool IsLoopback(std::string_view address);

// INVALID_ARGUMENT unless `address` is HOST:PORT with a port in 0..65535, or unix:PATH.
absl::Status CheckAddress(std::string_view address);

// Returns UNAVAILABLE unless a server can listen on `address`: "listen: cannot listen there: Address already in use
// (listen=127.0.0.1:7470)" for `key` "listen". Call it before gRPC listens, which only logs the error, over several
// lines. Binds the address for a moment; unix: sockets are not checked. Looks up host names.
absl::Status CheckListen(std::string_view key, const std::string& address);

// The caller of an RPC, as far as it is known.
struct Caller {
  std::string peer;   // gRPC's format: "ipv4:127.0.0.1:40312"
  std::string token;  // from the metadata key below; empty if none
};
inline constexpr char kTokenMetadataKey[] = "copse-token";
Caller CallerOf(const grpc::ServerContextBase& context);

// Called at the start of every RPC. Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // `method`: "/copse.v1.AdminService/BreakTeam". PERMISSION_DENIED if the caller may not call it.
  virtual absl::Status Authorize(const Caller& caller, std::string_view method) const = 0;
};

// Returns an authorizer that allows every call if `token` is empty, else the calls with that token.
std::unique_ptr<Authorizer> MakeTokenAuthorizer(std::string token);

// Reads the tokens of a file, one per line, without blanks around them: one, or two while one replaces the other. A
// client sends the first; a server accepts each. INVALID_ARGUMENT if there is none, a third, or one longer than 256
// bytes; NOT_FOUND if the file cannot be read, FAILED_PRECONDITION if others than its owner may read or write it. An
// empty path: none.
absl::StatusOr<std::vector<std::string>> ReadTokenFile(const std::string& path);

}  // namespace copse::rpc

#endif  // COPSE_RPC_CREDENTIALS_H_
