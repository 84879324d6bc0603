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
// The longest period, in calls, after which orders come again; learning finds as long ones.
inline constexpr uint32_t kProfilePeriodMax = 16;

// The calls that share an order: the same on all ranks, and in all launches of a program on as many ranks.
struct ProfileKey {
  uint64_t communicator = 0;  // by its members
  std::string collective;
  uint32_t length = 0;  // a class of lengths
  uint32_t parts = 0;

  auto operator<=>(const ProfileKey&) const = default;
};

// The orders of calls of a kind: permutations of 0 to parts - 1.
struct ProfileOrders {
  std::vector<uint32_t> order;  // of calls before `first`, and of all if there are no slots
  uint64_t first = 1;           // the call, by its number of its kind, that has the first slot's
  // The orders of as many calls one after the other, over and over; at most kProfilePeriodMax.
  std::vector<std::vector<uint32_t>> slots;

  // `call`: its number of its kind, from 1.
  const std::vector<uint32_t>& Of(uint64_t call) const;

  bool operator==(const ProfileOrders&) const = default;
};

struct OrderProfile {
  std::map<ProfileKey, ProfileOrders> orders;

  // Returns the order of a call, by its number of its kind, from 1; null if it is not known.
  const std::vector<uint32_t>* Find(const ProfileKey& key, uint64_t call) const;
  // Returns a number that is not 0, less than 2^62, and equal for profiles of the same contents.
  uint64_t Hash() const;
};

// Returns a hash of numbers, equal on all machines: for a communicator, of its members' ranks in MPI_COMM_WORLD.
uint64_t HashOf(const std::vector<int>& numbers);

std::string FormatProfile(const OrderProfile& profile);
// Returns an error that names line, key and value, or nothing.
std::string ParseProfile(std::string_view text, OrderProfile* profile);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TRACE_ORDER_PROFILE_H_
