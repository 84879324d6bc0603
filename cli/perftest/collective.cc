// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/collective.h"

#include <cstdint>

namespace copse::perftest {
namespace {

// An OtherName is a name of a type that differs from the one in base/element_types.h.
struct OtherName {
  ElementType type;
  const char* name;
  bool is_shown;  // ucc_perftest's name, which TypeName returns
};
constexpr OtherName kOtherNames[] = {{ElementType::kInt8, "char", false},
                                     {ElementType::kInt16, "short", false},
                                     {ElementType::kInt32, "int", false},
                                     {ElementType::kInt64, "long", false},
                                     {ElementType::kFloat, "float32", true},
                                     {ElementType::kDouble, "float64", true},
                                     {ElementType::kHalf, "float16", true},
                                     {ElementType::kComplexFloat, "float32_complex", true},
                                     {ElementType::kComplexDouble, "float64_complex", true}};

// Blocking calls differ in their parameters, so Make is overloaded for each signature. Displacements are null: blocks
// are contiguous.
using Team = copse_team_t*;
using Args = copse_coll_args_t;
using Status = copse_status_t;
using In = const void*;
using Out = void*;
using Count = uint64_t;
using Counts = const uint64_t*;
using Type = copse_datatype_t;
using Op = copse_op_t;
using Root = uint32_t;

Status Make(Status (*call)(Team), Team team, const Args&) { return call(team); }
Status Make(Status (*call)(Team, Out, Count, Type, Root), Team team, const Args& a) {
  return call(team, a.recv, a.count, a.type, a.root);
}
Status Make(Status (*call)(Team, In, Out, Count, Type, Op, Root), Team team, const Args& a) {
  return call(team, a.send, a.recv, a.count, a.type, a.op, a.root);
}
Status Make(Status (*call)(Team, In, Out, Count, Type, Op), Team team, const Args& a) {
  return call(team, a.send, a.recv, a.count, a.type, a.op);
}
Status Make(Status (*call)(Team, In, Out, Count, Type, Root), Team team, const Args& a) {
  return call(team, a.send, a.recv, a.count, a.type, a.root);
}
Status Make(Status (*call)(Team, In, Out, Count, Type), Team team, const Args& a) {
  return call(team, a.send, a.recv, a.count, a.type);
}
Status Make(Status (*call)(Team, In, Count, Out, Counts, Counts, Type, Root), Team team, const Args& a) {
  return call(team, a.send, a.count, a.recv, a.recv_counts, nullptr, a.type, a.root);
}
Status Make(Status (*call)(Team, In, Counts, Counts, Out, Count, Type, Root), Team team, const Args& a) {
  return call(team, a.send, a.send_counts, nullptr, a.recv, a.count, a.type, a.root);
}
Status Make(Status (*call)(Team, In, Count, Out, Counts, Counts, Type), Team team, const Args& a) {
  return call(team, a.send, a.count, a.recv, a.recv_counts, nullptr, a.type);
}
Status Make(Status (*call)(Team, In, Counts, Counts, Out, Counts, Counts, Type), Team team, const Args& a) {
  return call(team, a.send, a.send_counts, nullptr, a.recv, a.recv_counts, nullptr, a.type);
}
Status Make(Status (*call)(Team, In, Out, Counts, Type, Op), Team team, const Args& a) {
  return call(team, a.send, a.recv, a.recv_counts, a.type, a.op);
}
template <auto kCall>
Status Blocking(Team team, const Args& args) {
  return Make(kCall, team, args);
}

// The table is indexed by Collective. A null entry has no function of its own.
constexpr Status (*kBlockingCalls[kCollectiveCount])(Team, const Args&) = {
    Blocking<copse_barrier>,        Blocking<copse_bcast>,      Blocking<copse_reduce>,
    Blocking<copse_allreduce>,      Blocking<copse_gather>,     Blocking<copse_scatter>,
    Blocking<copse_allgather>,      Blocking<copse_alltoall>,   Blocking<copse_reduce_scatter_block>,
    Blocking<copse_scan>,           Blocking<copse_exscan>,     Blocking<copse_gatherv>,
    Blocking<copse_scatterv>,       Blocking<copse_allgatherv>, Blocking<copse_alltoallv>,
    Blocking<copse_reduce_scatter>,
};

}  // namespace

std::vector<std::string_view> CollectiveNames() {
  std::vector<std::string_view> names;
  for (const CollectiveTraits& traits : kCollectives) names.push_back(traits.name);
  return names;
}

std::vector<std::string_view> TypeNames() {
  std::vector<std::string_view> names;
  for (int i = 0; i < kElementTypeCount; ++i) names.push_back(TypeName(static_cast<ElementType>(i)));
  return names;
}

std::string_view TypeName(ElementType type) {
  for (const OtherName& other : kOtherNames) {
    if (other.type == type && other.is_shown) return other.name;
  }
  return ElementTypeName(type);
}

std::optional<ElementType> TypeFromName(std::string_view name) {
  for (const OtherName& other : kOtherNames) {
    if (other.name == name) return other.type;
  }
  for (int i = 0; i < kElementTypeCount; ++i) {
    if (kElementTypes[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

bool HasBlockingCall(Collective collective) { return kBlockingCalls[static_cast<int>(collective)] != nullptr; }

copse_status_t CallBlocking(copse_team_t* team, const copse_coll_args_t& args) {
  return kBlockingCalls[args.collective](team, args);
}

double BusFactor(Collective collective, double ranks) {
  if (HoldsBlocks(collective)) return ranks - 1;
  const CollectiveTraits& traits = TraitsOf(collective);
  return traits.operands == Operands::kAll && traits.receivers == Holders::kAll ? 2 * (ranks - 1) / ranks : 1;
}

}  // namespace copse::perftest
