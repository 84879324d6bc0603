// SPDX-License-Identifier: Apache-2.0
//
// Decides which addresses may be used, and how connections are made. Authorizer decides which callers may call.
#ifndef COPSE_RPC_CREDENTIALS_H_
#define COPSE_RPC_CREDENTIALS_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/identity.h"

namespace copse::rpc {

struct CredentialsOptions {
  bool insecure = false;                           // allows connections without encryption beyond loopback
  std::shared_ptr<const Identity> identity;        // all connections but those to unix: have mutual TLS; null: none has
  std::vector<std::string> servers = {"planner"};  // with an identity: roles of servers that may be connected to
  // How the program's user sets them, for error texts.
  const char* identity_by = "tls_cert, tls_key and tls_ca";
  const char* insecure_by = "insecure: true";
};

// A CredentialsFactory makes all credentials of a program. Thread-safe.
class CredentialsFactory {
 public:
  explicit CredentialsFactory(CredentialsOptions options) : options_(std::move(options)) {}

  // Returns credentials for a server on `address` (HOST:PORT, [V6]:PORT, or unix:PATH). INVALID_ARGUMENT if it has
  // another form, or if it is not on loopback and there is neither an identity nor `insecure`: "listening beyond
  // loopback needs tls_cert, tls_key and tls_ca (copse-ca makes them), or insecure: true (address=0.0.0.0:7470)".
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Server(const std::string& address) const;

  // Returns credentials for a channel to `address`, with the same checks.
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Channel(const std::string& address) const;

  // These are the checks alone, which start nothing of gRPC.
  absl::Status CheckServer(const std::string& address) const;
  absl::Status CheckChannel(const std::string& address) const;

 private:
  CredentialsOptions options_;
};

// Returns whether the host of `address` (HOST:PORT) is in 127.0.0.0/8, [::1] or localhost, or `address` is unix:PATH.
// Other host names are not looked up and give false.
bool IsLoopback(std::string_view address);

// Returns the host of HOST:PORT or [V6]:PORT, without brackets. INVALID_ARGUMENT: the address is neither.
absl::StatusOr<std::string> HostOf(std::string_view address);

// Returns INVALID_ARGUMENT unless `address` is HOST:PORT or [V6]:PORT with a port in 0..65535, or unix:PATH.
absl::Status CheckAddress(std::string_view address);

// Returns the addresses of a list, "HOST:PORT[,HOST:PORT...]", without those that come again. INVALID_ARGUMENT: as
// CheckAddress, or more than kAddressesMax.
inline constexpr size_t kAddressesMax = 16;
absl::StatusOr<std::vector<std::string>> ParseAddresses(std::string_view list);

inline constexpr char kTokenMetadataKey[] = "copse-token";

// A planner that stands by names the leader, HOST:PORT, in this trailing metadata of the calls that it refuses.
inline constexpr char kLeaderMetadataKey[] = "copse-leader";

// Returns the tokens of a file, one per line, without blanks around them: one, or two while one replaces the other. A
// client sends the first; a server accepts both. Returns no tokens for an empty path. Errors: INVALID_ARGUMENT if there
// is no token, a third, one longer than 256 bytes, or a file of 4 KiB or more; NOT_FOUND if the file cannot be read;
// FAILED_PRECONDITION if its group or other users may read or write it.
absl::StatusOr<std::vector<std::string>> ReadTokenFile(const std::string& path);

}  // namespace copse::rpc

#endif  // COPSE_RPC_CREDENTIALS_H_
