// SPDX-License-Identifier: Apache-2.0

#include "daemon/net_devices.h"

#include <arpa/inet.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace copse::daemon {
namespace {

// Returns the address as InterfaceAddresses spells it; empty if it is no numeric address.
std::string Canonical(const std::string& address) {
  uint8_t bytes[sizeof(in6_addr)];
  char text[INET6_ADDRSTRLEN];
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, address.c_str(), bytes) == 1) return inet_ntop(family, bytes, text, sizeof(text));
  }
  return "";
}

// Returns whether UCX may run over IP with this list of transports in UCX_TLS's format: names separated by commas, of
// which a "^" before the first excludes all. A pattern counts if it may mean tcp, and excludes it only by its name.
bool MayRunOverIp(absl::string_view ucx_tls) {
  const bool excludes = absl::ConsumePrefix(&ucx_tls, "^");
  const std::vector<std::string> names = absl::StrSplit(ucx_tls, ',');
  const auto says_tcp = [&](absl::string_view name) {
    name = absl::StripAsciiWhitespace(name);
    absl::ConsumePrefix(&name, "\\");  // a name that is no alias
    const std::string lower = absl::AsciiStrToLower(name);
    if (excludes) return name == "tcp";
    return lower == "all" || fnmatch(lower.c_str(), "tcp", 0) == 0;
  };
  return std::any_of(names.begin(), names.end(), says_tcp) != excludes;
}

}  // namespace

absl::StatusOr<std::string> ChooseNetDevices(const DataNetwork& network,
                                             const std::vector<InterfaceAddress>& interfaces) {
  const std::string address = network.data_listen == "localhost" ? "127.0.0.1" : Canonical(network.data_listen);
  if (address.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("data_listen: not an address (data_listen=", network.data_listen, ")"));
  }
  const bool everywhere = address == "0.0.0.0" || address == "::";
  const bool on_loopback = absl::StartsWith(address, "127.") || address == "::1";
  std::vector<std::string> devices = network.net_devices;
  if (devices.empty() && !everywhere) {
    for (const InterfaceAddress& each : interfaces) {
      const bool wanted = on_loopback ? each.loopback : each.address == address;
      if (wanted && std::find(devices.begin(), devices.end(), each.name) == devices.end()) {
        devices.push_back(each.name);
      }
    }
    if (devices.empty()) {
      return absl::UnavailableError(
          absl::StrCat("data_listen: no interface has this address (data_listen=", network.data_listen, ")"));
    }
  }
  const auto stays_here = [&](const std::string& device) {
    return std::any_of(interfaces.begin(), interfaces.end(),
                       [&](const InterfaceAddress& each) { return each.name == device && each.loopback; });
  };
  const bool local = !devices.empty() && std::all_of(devices.begin(), devices.end(), stays_here);
  if (!local && !network.insecure) {
    return absl::InvalidArgumentError(
        absl::StrCat("data_listen: listening beyond loopback needs insecure: true (data_listen=", network.data_listen,
                     ", net_devices=", absl::StrJoin(devices, ","), ")"));
  }
  return absl::StrJoin(devices, ",");
}

std::string ChooseTransports(const char* ucx_tls, const std::string& net_devices) {
  if (ucx_tls != nullptr && *ucx_tls != '\0') return "";
  const std::vector<std::string> devices = absl::StrSplit(net_devices, ',', absl::SkipEmpty());
  const auto is_verbs = [](const std::string& device) { return absl::StrContains(device, ':'); };
  const auto verbs = static_cast<size_t>(std::count_if(devices.begin(), devices.end(), is_verbs));
  if (verbs == 0) return "tcp";
  return verbs == devices.size() ? "ib" : "ib,tcp";
}

absl::StatusOr<TransportChoice> ChooseTransport(const TransportWishes& wishes, const char* ucx_tls,
                                                const std::vector<InterfaceAddress>& interfaces) {
  DataNetwork network = wishes.network;
  ASSIGN_OR_RETURN(network.data_listen, FindDataAddress(wishes.network.data_listen, interfaces));
  const bool may_be_insecure = network.insecure;
  const bool may_be_tcp = wishes.transport == "tcp" || (wishes.transport == "auto" && wishes.has_identity);
  network.insecure = network.insecure || may_be_tcp;
  TransportChoice choice;
  ASSIGN_OR_RETURN(choice.net_devices, ChooseNetDevices(network, interfaces));
  choice.ucx_tls = ChooseTransports(ucx_tls, choice.net_devices);
  const std::string ucx_uses = choice.ucx_tls.empty() ? ucx_tls : choice.ucx_tls;
  const bool is_over_ip = MayRunOverIp(ucx_uses);
  choice.uses_tcp = wishes.transport == "tcp" || (may_be_tcp && is_over_ip);
  if (!choice.uses_tcp) {
    if (wishes.has_identity && is_over_ip && !wishes.trust_network) {
      return absl::InvalidArgumentError(
          absl::StrCat("transport: UCX's TCP believes whoever can connect, so it is not used beside tls_cert unless "
                       "trust_network: true (transport=",
                       wishes.transport, ", net_devices=", choice.net_devices, ")"));
    }
    // `auto` was allowed to leave this machine by tcp alone.
    network.insecure = may_be_insecure;
    RETURN_IF_ERROR(ChooseNetDevices(network, interfaces).status());
    return choice;
  }
  if (!wishes.has_identity) {
    return absl::InvalidArgumentError("transport: tcp needs tls_cert, tls_key and tls_ca (transport=tcp)");
  }
  const std::string address = Canonical(network.data_listen == "localhost" ? "127.0.0.1" : network.data_listen);
  if (address == "0.0.0.0" || address == "::") {
    return absl::InvalidArgumentError(
        absl::StrCat("data_listen: tcp needs the address of one interface (data_listen=", network.data_listen, ")"));
  }
  choice.tcp_address =
      absl::StrContains(address, ":") ? absl::StrCat("[", address, "]:0") : absl::StrCat(address, ":0");
  return choice;
}

}  // namespace copse::daemon
