// SPDX-License-Identifier: Apache-2.0
#include "rpc/credentials.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::rpc {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kTokenBytesMax = 256;

// The host of HOST:PORT or [V6]:PORT, without brackets; nothing if it is neither.
std::optional<std::string> HostOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  uint32_t port = 0;
  const std::string_view digits = address.substr(colon + 1);
  if (digits.empty() || digits.size() > 5 || digits.find_first_not_of("0123456789") != std::string_view::npos ||
      !absl::SimpleAtoi(AbslView(digits), &port) || port > 65535) {
    return std::nullopt;
  }
  const std::string_view host = address.substr(0, colon);
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') return std::nullopt;
    return std::string(host.substr(1, host.size() - 2));
  }
  if (host.find(':') != std::string_view::npos) return std::nullopt;  // V6 without brackets
  return std::string(host);
}

absl::Status CheckAllowed(const std::string& address, bool insecure, const char* what) {
  RETURN_IF_ERROR(CheckAddress(address));
  if (insecure || IsLoopback(address)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what, " beyond loopback needs insecure: true (address=", address, ")"));
}

class TokenAuthorizer final : public Authorizer {
 public:
  explicit TokenAuthorizer(std::string token) : token_(std::move(token)) {}

  absl::Status Authorize(const Caller& caller, std::string_view method) const override {
    if (token_.empty() || SameSecret(token_, caller.token)) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(caller.token.empty() ? "no token" : "wrong token",
                                                    " (peer=", caller.peer, ", method=", AbslView(method), ")"));
  }

 private:
  const std::string token_;
};

}  // namespace

absl::Status CheckAddress(std::string_view address) {
  if (absl::StartsWith(AbslView(address), AbslView(kUnixPrefix)) && address.size() > kUnixPrefix.size()) {
    return absl::OkStatus();
  }
  if (HostOf(address).has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("not HOST:PORT (address=", AbslView(address), ")"));
}

bool IsLoopback(std::string_view address) {
  if (absl::StartsWith(AbslView(address), AbslView(kUnixPrefix))) return true;
  const std::optional<std::string> host = HostOf(address);
  if (!host.has_value()) return false;
  in_addr v4{};
  if (inet_pton(AF_INET, host->c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host->c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return *host == "localhost";
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> CredentialsFactory::Server(const std::string& address) const {
  RETURN_IF_ERROR(CheckAllowed(address, options_.insecure, "listening"));
  return grpc::InsecureServerCredentials();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFactory::Channel(
    const std::string& address) const {
  RETURN_IF_ERROR(CheckAllowed(address, options_.insecure, "connecting"));
  return grpc::InsecureChannelCredentials();
}

Caller CallerOf(const grpc::ServerContextBase& context) {
  Caller caller;
  caller.peer = context.peer();
  const auto it = context.client_metadata().find(kTokenMetadataKey);
  if (it != context.client_metadata().end()) caller.token.assign(it->second.data(), it->second.size());
  return caller;
}

std::unique_ptr<Authorizer> MakeTokenAuthorizer(std::string token) {
  return std::make_unique<TokenAuthorizer>(std::move(token));
}

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  if (path.empty()) return std::string();
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    return absl::NotFoundError(absl::StrCat("token file: ", std::strerror(errno), " (file=", path, ")"));
  }
  if ((info.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("token file: others may read or write it (file=", path, ")"));
  }
  std::ifstream in(path);
  std::string line;
  if (!in) return absl::NotFoundError(absl::StrCat("token file: cannot open (file=", path, ")"));
  std::getline(in, line);
  std::string token(absl::StripAsciiWhitespace(line));
  if (token.empty() || token.size() > kTokenBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("token file: first line is empty or too long (file=", path,
                                                   ", bytes=", token.size(), ", limit=", kTokenBytesMax, ")"));
  }
  return token;
}

}  // namespace copse::rpc
