// SPDX-License-Identifier: Apache-2.0
//
// Defines strong integer types: an index of one kind does not convert to an index of another kind, or to int.

#ifndef COPSE_BASE_IDS_H_
#define COPSE_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <utility>

namespace copse {

// A StrongInt is a T with a meaning, which Tag names. It can be compared, incremented, hashed and printed, but there is
// no arithmetic: use value() for that, and for absl::StrCat. The default is 0.
template <typename Tag, typename T>
class StrongInt {
 public:
  using ValueType = T;

  constexpr StrongInt() = default;
  constexpr explicit StrongInt(T value) : value_(value) {}

  constexpr T value() const { return value_; }

  constexpr auto operator<=>(const StrongInt&) const = default;

  constexpr StrongInt& operator++() {
    ++value_;
    return *this;
  }
  constexpr StrongInt operator++(int) { return StrongInt(value_++); }

  template <typename H>
  friend H AbslHashValue(H state, const StrongInt& id) {
    return H::combine(std::move(state), id.value_);
  }

  friend std::ostream& operator<<(std::ostream& out, const StrongInt& id) { return out << +id.value_; }

 private:
  T value_ = 0;
};

// A Rank is a member's index in its team.
using Rank = StrongInt<struct RankTag, uint32_t>;
// A NodeIndex is a node's index within a team; several ranks may share it. It does not identify the node, which a name
// and an incarnation do.
using NodeIndex = StrongInt<struct NodeIndexTag, uint32_t>;
using TeamId = StrongInt<struct TeamIdTag, uint64_t>;
using PlanId = StrongInt<struct PlanIdTag, uint64_t>;
// An EpochId is the version of a team's plans.
using EpochId = StrongInt<struct EpochIdTag, uint32_t>;
// A CallSeq is the number of a call within its team, the same on all ranks.
using CallSeq = StrongInt<struct CallSeqTag, uint64_t>;
// An Incarnation identifies one run of a daemon: every start has a new one.
using Incarnation = StrongInt<struct IncarnationTag, uint64_t>;

}  // namespace copse

template <typename Tag, typename T>
struct std::hash<copse::StrongInt<Tag, T>> {
  size_t operator()(const copse::StrongInt<Tag, T>& id) const { return std::hash<T>()(id.value()); }
};

#endif  // COPSE_BASE_IDS_H_
