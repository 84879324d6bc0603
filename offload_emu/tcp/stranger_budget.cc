// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/stranger_budget.h"

#include <netinet/in.h>

#include <cstring>

namespace copse::emu {

std::string SourceOf(const sockaddr_storage& address) {
  constexpr size_t kNetworkBytes = 8;
  if (address.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof(v4));
    return std::string(reinterpret_cast<const char*>(&v4.sin_addr), sizeof(v4.sin_addr));
  }
  if (address.ss_family != AF_INET6) return "";
  sockaddr_in6 v6;
  std::memcpy(&v6, &address, sizeof(v6));
  return std::string(reinterpret_cast<const char*>(&v6.sin6_addr), kNetworkBytes);
}

bool StrangerBudget::Take(const std::string& source, absl::Time now) {
  if (sources_.size() >= kSourcesMax && sources_.count(source) == 0) {
    std::erase_if(sources_, [now](const auto& entry) { return entry.second.LeftAt(now) >= kBurst; });
    if (sources_.size() >= kSourcesMax) sources_.clear();
  }
  Source& known = sources_.try_emplace(source, Source{.at = now}).first->second;
  known = {.left = known.LeftAt(now), .at = now};
  if (known.left < 1) return false;
  known.left -= 1;
  return true;
}

void StrangerBudget::GiveBack(const std::string& source) {
  const auto known = sources_.find(source);
  if (known != sources_.end()) known->second.left = std::min<double>(kBurst, known->second.left + 1);
}

}  // namespace copse::emu
