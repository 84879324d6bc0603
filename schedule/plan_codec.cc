// SPDX-License-Identifier: Apache-2.0
//
// Encodes and decodes the plan format, version 1: little-endian, fixed widths, lists with a count before them
// (docs/reference/plan-format.md).
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/version.h"
#include "schedule/plan.h"

namespace copse::schedule {
namespace {

constexpr uint32_t kPlanMagic = 0x4c505043;  // "CPPL"
constexpr size_t kEncodedIdBegin = 8;        // after magic and version
constexpr uint32_t kAlgorithmBytesMax = 64;

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("plan: malformed: ", absl::string_view(what.data(), what.size())));
}

}  // namespace

std::string EncodePlan(const Plan& plan) {
  ByteWriter out;
  out.Put(kPlanMagic);
  out.Put(static_cast<uint32_t>(kPlanFormatVersion));
  out.Put(plan.id.value());
  out.Put(static_cast<uint8_t>(plan.collective));
  out.Put(static_cast<uint8_t>(plan.kind));
  out.Put(plan.priority);
  out.Put(uint8_t{0});
  out.Put(plan.bytes_min);
  out.Put(plan.bytes_max);
  out.PutText(plan.algorithm);
  out.Put(plan.node_count);
  out.Put(plan.segment_bytes);
  out.Put(plan.root_node.value());
  out.Put(std::bit_cast<uint64_t>(plan.predicted_us));
  out.Put(static_cast<uint32_t>(plan.neighbors.size()));
  for (const auto& list : plan.neighbors) {
    out.Put(static_cast<uint32_t>(list.size()));
    for (const uint32_t v : list) out.Put(v);
  }
  out.Put(static_cast<uint32_t>(plan.steps.size()));
  for (const auto& list : plan.steps) {
    out.Put(static_cast<uint32_t>(list.size()));
    for (const ExchangeStep& step : list) {
      out.Put(step.round);
      out.Put(static_cast<uint16_t>(step.combine ? 1 : 0));
      out.Put(step.send_to);
      out.Put(step.receive_from);
    }
  }
  return out.Take();
}

PlanId PlanIdIn(std::string_view encoded) {
  CHECK_GE(encoded.size(), kEncodedIdEnd);
  return PlanId(ByteReader(encoded.substr(kEncodedIdBegin)).Get<uint64_t>());
}

void SetPlanIdIn(PlanId id, std::string* encoded) {
  CHECK_GE(encoded->size(), kEncodedIdEnd);
  ByteWriter out;
  out.Put(id.value());
  encoded->replace(kEncodedIdBegin, kEncodedIdEnd - kEncodedIdBegin, out.Take());
}

absl::StatusOr<Plan> DecodePlan(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.Get<uint32_t>() != kPlanMagic) return Malformed("magic");
  const auto version = in.Get<uint32_t>();
  if (in.ok() && !Compatible(kPlanFormatVersion, version)) {
    return absl::FailedPreconditionError(
        absl::StrCat("plan: format ", version, " is not understood (this side=", kPlanFormatVersion, ")"));
  }
  Plan plan;
  plan.id = PlanId(in.Get<uint64_t>());
  const auto collective = in.Get<uint8_t>();
  if (collective >= kCollectiveCount) return Malformed("collective");
  plan.collective = static_cast<Collective>(collective);
  const auto kind = in.Get<uint8_t>();
  if (kind > static_cast<uint8_t>(PlanKind::kCirculant)) return Malformed("kind");
  plan.kind = static_cast<PlanKind>(kind);
  plan.priority = in.Get<uint8_t>();
  if (in.Get<uint8_t>() != 0) return Malformed("reserved byte");
  plan.bytes_min = in.Get<uint64_t>();
  plan.bytes_max = in.Get<uint64_t>();
  plan.algorithm = in.GetText(kAlgorithmBytesMax);
  plan.node_count = in.Get<uint32_t>();
  plan.segment_bytes = in.Get<uint32_t>();
  plan.root_node = NodeIndex(in.Get<uint32_t>());
  plan.predicted_us = std::bit_cast<double>(in.Get<uint64_t>());
  plan.neighbors.resize(in.GetCount(sizeof(uint32_t)));
  for (auto& list : plan.neighbors) {
    list.resize(in.GetCount(sizeof(uint32_t)));
    for (uint32_t& v : list) v = in.Get<uint32_t>();
  }
  plan.steps.resize(in.GetCount(sizeof(uint32_t)));
  for (auto& list : plan.steps) {
    list.resize(in.GetCount(12));
    for (ExchangeStep& step : list) {
      step.round = in.Get<uint16_t>();
      const auto combine = in.Get<uint16_t>();
      if (combine > 1) return Malformed("combine");
      step.combine = combine == 1;
      step.send_to = in.Get<uint32_t>();
      step.receive_from = in.Get<uint32_t>();
    }
  }
  if (!in.ok()) return Malformed("too short, or a count beyond its end");
  if (in.left() != 0) return Malformed(absl::StrCat(in.left(), " bytes behind its end"));
  return plan;
}

}  // namespace copse::schedule
