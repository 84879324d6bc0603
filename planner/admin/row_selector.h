// SPDX-License-Identifier: Apache-2.0
//
// Selects rows of lists for administrators.
#ifndef COPSE_PLANNER_ADMIN_ROW_SELECTOR_H_
#define COPSE_PLANNER_ADMIN_ROW_SELECTOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/copse/v1/admin.pb.h"
#include "protocol/control.h"

namespace copse::planner {

// SelectableBy says by what the rows of a list can be selected, beside nodes.
struct SelectableBy {
  bool owner = false;               // a user or job
  std::vector<std::string> states;  // empty: the rows have no state
};

// A RowSelector holds for the rows that an administrator asks for. Immutable.
class RowSelector {
 public:
  // Errors: INVALID_ARGUMENT, which names the value and what is allowed, for a text that is no host list, an unknown
  // state, and what rows of the list cannot be selected by; RESOURCE_EXHAUSTED for too long a host list.
  static absl::StatusOr<RowSelector> Create(const v1::RowSelector& proto, const SelectableBy& by);

  bool HasNode(const std::string& name) const { return nodes_.empty() || nodes_.count(name) != 0; }
  bool HasState(std::string_view state) const { return state_.empty() || state == state_; }
  // Returns whether the team is its user's and job's, and has a member on one of the nodes.
  bool HasTeam(const schedule::TeamLayout& layout) const;
  // Returns whether some teams may not be selected.
  bool selects_teams() const { return uid_.has_value() || !job_.empty() || !nodes_.empty(); }
  const std::set<std::string>& nodes() const { return nodes_; }  // empty: all

 private:
  RowSelector() = default;

  std::set<std::string> nodes_;
  std::optional<uint32_t> uid_;
  std::string job_;
  std::string state_;
};

// A selector is shared by the steps of a list, since it may be long.
using SharedSelector = std::shared_ptr<const absl::StatusOr<RowSelector>>;
inline SharedSelector Shared(absl::StatusOr<RowSelector> selector) {
  return std::make_shared<const absl::StatusOr<RowSelector>>(std::move(selector));
}

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_ROW_SELECTOR_H_
