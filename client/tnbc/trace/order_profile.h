// SPDX-License-Identifier: Apache-2.0
//
// Orders of parts that are known before a program starts, by kind of call and a call's number of its kind, as a file:
// docs/reference/copse-trace.md has the format.
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
// Of calls after which orders come again; as many as are found by learning.
inline constexpr uint32_t kProfilePeriodMax = 16;

// Which calls have an order: the same on all ranks, and in all launches of a program on as many.
struct ProfileKey {
  uint64_t communicator = 0;  // by its members
  std::string collective;
  uint32_t length = 0;  // a class of lengths
  uint32_t parts = 0;

  auto operator<=>(const ProfileKey&) const = default;
};

// What calls of a kind have: permutations of 0 to parts - 1.
struct ProfileOrders {
  std::vector<uint32_t> order;  // of those before `first`, and of all if there are no slots
  uint64_t first = 1;           // the call, by its number of its kind, that has the first slot's
  // Of as many calls one after the other, over and over; at most kProfilePeriodMax.
  std::vector<std::vector<uint32_t>> slots;

  // `call`: its number of its kind, from 1.
  const std::vector<uint32_t>& Of(uint64_t call) const;

  bool operator==(const ProfileOrders&) const = default;
};

struct OrderProfile {
  std::map<ProfileKey, ProfileOrders> orders;

  // The order of a call, by its number of its kind, from 1. Null: not known.
  const std::vector<uint32_t>* Find(const ProfileKey& key, uint64_t call) const;
  // Not 0, and less than 2^62: equal for profiles that say the same.
  uint64_t Hash() const;
};

// A hash of numbers, equal on all machines: that of a communicator, by the ranks of its members in MPI_COMM_WORLD.
uint64_t HashOf(const std::vector<int>& numbers);

std::string FormatProfile(const OrderProfile& profile);
// Returns an error that names line, key and value, or nothing.
std::string ParseProfile(std::string_view text, OrderProfile* profile);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TRACE_ORDER_PROFILE_H_
