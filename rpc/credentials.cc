// SPDX-License-Identifier: Apache-2.0
#include "rpc/credentials.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::rpc {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kTokenBytesMax = 256;
constexpr size_t kTokensMax = 2;
constexpr uint32_t kPortMax = 65535;

absl::Status CheckAllowed(const std::string& address, const CredentialsOptions& options, const char* what) {
  RETURN_IF_ERROR(CheckAddress(address));
  if (options.insecure || options.identity != nullptr || IsLoopback(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " beyond loopback needs ", options.identity_by,
                                                 " (copse-ca makes them), or ", options.insecure_by,
                                                 " (address=", address, ")"));
}

// The kernel says who connects to a unix: address.
bool UsesTls(const std::string& address, const CredentialsOptions& options) {
  return options.identity != nullptr && !absl::StartsWith(address, AbslView(kUnixPrefix));
}

}  // namespace

absl::StatusOr<std::string> HostOf(std::string_view address) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(why), " (address=", AbslView(address), ")"));
  };
  const size_t colon = address.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? "" : address.substr(colon + 1);
  if (colon == 0 || digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return refuse("not HOST:PORT");
  }
  uint32_t port = 0;
  if (!absl::SimpleAtoi(AbslView(digits), &port) || port > kPortMax) {
    return refuse(absl::StrCat("not HOST:PORT with a port of at most ", kPortMax));
  }
  const std::string_view host = address.substr(0, colon);
  if (host.front() == '[' && host.size() > 2 && host.back() == ']') return std::string(host.substr(1, host.size() - 2));
  if (host.find_first_of(":[]") == std::string_view::npos) return std::string(host);
  return refuse("not HOST:PORT, where an IPv6 host is in brackets, as [::1]:7470");
}

absl::Status CheckAddress(std::string_view address) {
  if (absl::StartsWith(AbslView(address), AbslView(kUnixPrefix)) && address.size() > kUnixPrefix.size()) {
    return absl::OkStatus();
  }
  return HostOf(address).status();
}

absl::StatusOr<std::vector<std::string>> ParseAddresses(std::string_view list) {
  std::vector<std::string> addresses;
  for (const absl::string_view part : absl::StrSplit(AbslView(list), ',')) {
    std::string address(absl::StripAsciiWhitespace(part));
    RETURN_IF_ERROR(CheckAddress(address));
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(std::move(address));
  }
  if (addresses.size() > kAddressesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("too many addresses (addresses=", addresses.size(), ", limit=", kAddressesMax, ")"));
  }
  return addresses;
}

bool IsLoopback(std::string_view address) {
  if (absl::StartsWith(AbslView(address), AbslView(kUnixPrefix))) return true;
  const absl::StatusOr<std::string> host = HostOf(address);
  if (!host.ok()) return false;
  in_addr v4{};
  if (inet_pton(AF_INET, host->c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host->c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return *host == "localhost";
}

absl::Status CredentialsFactory::CheckServer(const std::string& address) const {
  return CheckAllowed(address, options_, "listening");
}

absl::Status CredentialsFactory::CheckChannel(const std::string& address) const {
  return CheckAllowed(address, options_, "connecting");
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> CredentialsFactory::Server(const std::string& address) const {
  RETURN_IF_ERROR(CheckServer(address));
  if (UsesTls(address, options_)) return options_.identity->ForServer();
  return grpc::InsecureServerCredentials();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFactory::Channel(
    const std::string& address) const {
  RETURN_IF_ERROR(CheckChannel(address));
  if (UsesTls(address, options_)) return options_.identity->ForChannel(options_.servers);
  return grpc::InsecureChannelCredentials();
}

absl::StatusOr<std::vector<std::string>> ReadTokenFile(const std::string& path) {
  std::vector<std::string> tokens;
  if (path.empty()) return tokens;
  const std::unique_ptr<FILE, decltype(&fclose)> file(fopen(path.c_str(), "re"), &fclose);
  struct stat info = {};
  char text[4096];
  const absl::Cleanup wipe = [&text] { explicit_bzero(text, sizeof(text)); };
  size_t bytes = 0;
  const bool is_open = file != nullptr && fstat(fileno(file.get()), &info) == 0;
  if (is_open) setvbuf(file.get(), nullptr, _IONBF, 0);
  if (is_open) bytes = fread(text, 1, sizeof(text), file.get());
  if (!is_open || ferror(file.get()) != 0) {
    return absl::NotFoundError(absl::StrCat("token file: ", std::strerror(errno), " (file=", path, ")"));
  }
  if ((info.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("token file: others than its owner may read or write it (file=", path,
                     absl::StrFormat(", mode=%04o, limit=0600)", info.st_mode & 07777u)));
  }
  size_t longest = 0;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text, bytes), '\n')) {
    const absl::string_view token = absl::StripAsciiWhitespace(line);
    longest = std::max(longest, token.size());
    if (!token.empty()) tokens.emplace_back(token);
  }
  const bool whole = bytes < sizeof(text);
  if (whole && !tokens.empty() && tokens.size() <= kTokensMax && longest <= kTokenBytesMax) return tokens;
  return absl::InvalidArgumentError(absl::StrCat("token file: not one or two lines with a token each (file=", path,
                                                 ", lines=", tokens.size(), ", bytes=", longest,
                                                 ", limit=", kTokenBytesMax, ")"));
}

}  // namespace copse::rpc
