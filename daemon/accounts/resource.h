// SPDX-License-Identifier: Apache-2.0
//
// Lists what users of a node share, and have limits of.
#ifndef COPSE_DAEMON_ACCOUNTS_RESOURCE_H_
#define COPSE_DAEMON_ACCOUNTS_RESOURCE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace copse::daemon {

enum class Resource : uint8_t {
  kClients,       // connections, attached or not
  kTeams,         // teams, derived ones included, and ranks that wait for one
  kMemory,        // bytes of eager buffers, reserved in the engine
  kPosts,         // calls without an event yet
  kClientMemory,  // bytes of queues and data areas
  kRegions,       // registered regions
  kRegionBytes,   // and their bytes
  kSparseBytes,   // and those of regions that were registered before all their pages existed
};
inline constexpr size_t kResourceCount = 8;

using Amounts = std::array<uint64_t, kResourceCount>;  // by Resource
inline constexpr uint64_t kUnlimited = UINT64_MAX;

struct ResourceNames {
  std::string_view text;  // what there can be too many of
  std::string_view name;  // in counters, and in the configuration
};
inline constexpr std::array<ResourceNames, kResourceCount> kResourceNames = {
    {{"clients", "clients"},
     {"teams", "teams"},
     {"bytes for messages in transit", "memory"},
     {"posts", "posts"},
     {"bytes of queues and data areas", "client_memory"},
     {"regions", "regions"},
     {"bytes of regions", "region_bytes"},
     {"bytes of sparse regions", "sparse_bytes"}}};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_ACCOUNTS_RESOURCE_H_
