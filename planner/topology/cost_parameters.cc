// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/cost_parameters.h"

#include "absl/strings/str_cat.h"

namespace copse::topology {

absl::Span<const CostParameterField> CostParameterFields() {
  static constexpr CostParameterField kFields[] = {
      {"wake_ns", &CostParameters::wake_ns},
      {"takeover_ns", &CostParameters::takeover_ns},
      {"spin_ns", &CostParameters::spin_ns},
      {"client_hop_ns", &CostParameters::client_hop_ns},
      {"arm_ns", &CostParameters::arm_ns},
      {"send_ps_per_byte", &CostParameters::send_ps_per_byte},
      {"receive_ps_per_byte", &CostParameters::receive_ps_per_byte},
      {"copy_ps_per_byte", &CostParameters::copy_ps_per_byte},
      {"alu_ps_per_byte", &CostParameters::alu_ps_per_byte},
  };
  return kFields;
}

absl::Status CheckCostParameters(const CostParameters& parameters) {
  for (const CostParameterField& field : CostParameterFields()) {
    const int64_t value = parameters.*field.member;
    if (value < 0 || value > kCostParameterMax) {
      return absl::InvalidArgumentError(absl::StrCat("cost parameter ", field.name, ": out of range (value=", value,
                                                     ", limit=", kCostParameterMax, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::topology
