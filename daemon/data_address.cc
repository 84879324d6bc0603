// SPDX-License-Identifier: Apache-2.0

#include "daemon/data_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace copse::daemon {
namespace {

constexpr uint32_t kBitsAByte = 8;

struct HostAddress {
  int family = 0;
  std::array<uint8_t, sizeof(in6_addr)> bytes{};
};

std::optional<HostAddress> ParseAddress(const std::string& text) {
  for (const int family : {AF_INET, AF_INET6}) {
    HostAddress address{.family = family};
    if (inet_pton(family, text.c_str(), address.bytes.data()) == 1) return address;
  }
  return std::nullopt;
}

struct Network {
  HostAddress address;
  uint32_t bits = 0;

  bool Has(const HostAddress& other) const {
    if (other.family != address.family) return false;
    for (uint32_t bit = 0; bit < bits; bit += kBitsAByte) {
      const uint32_t byte = bit / kBitsAByte, rest = bits - bit;
      const uint32_t mask = rest >= kBitsAByte ? 0xff : 0xff << (kBitsAByte - rest) & 0xff;
      if (((other.bytes[byte] ^ address.bytes[byte]) & mask) != 0) return false;
    }
    return true;
  }
};

std::optional<Network> ParseNetwork(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  Network network;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &network.bits)) return std::nullopt;
  const std::optional<HostAddress> address = ParseAddress(parts[0]);
  if (!address.has_value()) return std::nullopt;
  network.address = *address;
  const uint32_t bits_max = address->family == AF_INET ? 32 : 128;
  return network.bits <= bits_max ? std::optional(network) : std::nullopt;
}

bool MayNameAnInterface(const std::string& text) {
  return !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
         text.find_first_of("/: \t") == std::string::npos;
}

absl::Status Missing(const char* what, const std::string& data_listen) {
  return absl::UnavailableError(absl::StrCat("data_listen: ", what, " (data_listen=", data_listen, ")"));
}

absl::StatusOr<std::string> AddressOf(const std::string& name, const std::vector<InterfaceAddress>& interfaces) {
  std::string v6;
  for (const InterfaceAddress& each : interfaces) {
    if (each.name != name) continue;
    if (!absl::StrContains(each.address, ":")) return each.address;
    if (v6.empty() && !absl::StartsWith(each.address, "fe80:")) v6 = each.address;
  }
  if (v6.empty()) return Missing("no interface of this name has an address", name);
  return v6;
}

// Addresses of loopback count only if the network is there.
absl::StatusOr<std::string> AddressIn(const Network& network, const std::string& data_listen,
                                      const std::vector<InterfaceAddress>& interfaces) {
  std::string found;
  std::set<std::string> names;
  const bool on_loopback = absl::StartsWith(data_listen, "127.") || absl::StartsWith(data_listen, "::1/");
  for (const InterfaceAddress& each : interfaces) {
    const std::optional<HostAddress> address = ParseAddress(each.address);
    if (each.loopback != on_loopback || !address.has_value() || !network.Has(*address)) continue;
    if (found.empty()) found = each.address;
    names.insert(each.name);
  }
  if (found.empty()) return Missing("no interface has an address in this network", data_listen);
  if (names.size() == 1) return found;
  return absl::InvalidArgumentError(absl::StrCat("data_listen: several interfaces are in this network (data_listen=",
                                                 data_listen, ", interfaces=", absl::StrJoin(names, ","), ")"));
}

}  // namespace

std::vector<InterfaceAddress> InterfaceAddresses() {
  std::vector<InterfaceAddress> result;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return result;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    const void* bytes = nullptr;
    if (family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    if (family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
    char text[INET6_ADDRSTRLEN];
    if (bytes == nullptr || inet_ntop(family, bytes, text, sizeof(text)) == nullptr) continue;
    result.push_back({each->ifa_name, text, (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(first);
  return result;
}

absl::StatusOr<std::string> FindDataAddress(const std::string& data_listen,
                                            const std::vector<InterfaceAddress>& interfaces) {
  if (data_listen == "localhost" || ParseAddress(data_listen).has_value()) return data_listen;
  if (const std::optional<Network> network = ParseNetwork(data_listen); network.has_value()) {
    return AddressIn(*network, data_listen, interfaces);
  }
  if (MayNameAnInterface(data_listen)) return AddressOf(data_listen, interfaces);
  return absl::InvalidArgumentError(absl::StrCat(
      "data_listen: neither an address nor an interface nor a network such as 10.1.0.0/16 (data_listen=", data_listen,
      ")"));
}

uint64_t LeastMtu(const std::string& net_devices) {
  uint64_t least = 0;
  for (const absl::string_view device : absl::StrSplit(net_devices, ',', absl::SkipEmpty())) {
    uint64_t mtu = 0;
    std::ifstream(absl::StrCat("/sys/class/net/", device, "/mtu")) >> mtu;
    if (mtu > 0) least = least == 0 ? mtu : std::min(least, mtu);
  }
  return least;
}

}  // namespace copse::daemon
