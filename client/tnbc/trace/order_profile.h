// SPDX-License-Identifier: Apache-2.0
//
// An order profile is a file with the orders of fragments that calls use from the start of a program
// (docs/reference/copse-trace.md). It gives an order for each kind of call and the call's number within its kind.
#ifndef COPSE_CLIENT_TNBC_TRACE_ORDER_PROFILE_H_
#define COPSE_CLIENT_TNBC_TRACE_ORDER_PROFILE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace copse::tnbc {

inline constexpr uint64_t kProfileVersion = 1;
// Orders repeat with a period of at most this many calls. The limit is equal to AccessOrder::kPeriodMax, the longest
// period that is learned at run time.
inline constexpr uint32_t kProfilePeriodMax = 16;

// ProfileKey identifies the calls that share an order. It is equal on all ranks of the communicator, and in all
// launches of a program on the same number of ranks.
struct ProfileKey {
  uint64_t communicator = 0;  // hash of the members' ranks in MPI_COMM_WORLD (HashOf)
  std::string collective;
  uint32_t length = 0;  // length class of the longest buffer; copse-trace.md lists the values
  uint32_t parts = 0;   // number of fragments

  auto operator<=>(const ProfileKey&) const = default;
};

// ProfileOrders holds the orders of the calls of one kind, each a permutation of 0 to ProfileKey::parts - 1.
struct ProfileOrders {
  std::vector<uint32_t> order;  // the order of calls before `first`; of all calls if `slots` is empty
  uint64_t first = 1;           // number, within its kind, of the first call that uses `slots`
  // Call c >= `first` has the order slots[(c - first) % slots.size()]. `slots` has at most kProfilePeriodMax entries.
  std::vector<std::vector<uint32_t>> slots;

  // Returns the order of the call with number `call` within its kind, from 1.
  const std::vector<uint32_t>& Of(uint64_t call) const;

  bool operator==(const ProfileOrders&) const = default;
};

struct OrderProfile {
  std::map<ProfileKey, ProfileOrders> orders;

  // Returns the order of the call with number `call` within its kind, from 1; null if the profile has none for `key`.
  const std::vector<uint32_t>* Find(const ProfileKey& key, uint64_t call) const;
  // Returns a number that is not 0, less than 2^62, and equal for profiles of the same contents.
  uint64_t Hash() const;
};

// Returns a hash of numbers, equal on all machines: for a communicator, of its members' ranks in MPI_COMM_WORLD.
uint64_t HashOf(const std::vector<int>& numbers);

std::string FormatProfile(const OrderProfile& profile);
// Returns an empty string, or an error that names the line and, where there are any, key and value. `*profile` is
// valid only if there is no error.
std::string ParseProfile(std::string_view text, OrderProfile* profile);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TRACE_ORDER_PROFILE_H_
