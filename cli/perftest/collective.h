// SPDX-License-Identifier: Apache-2.0
//
// Tables of the collectives, types of elements and operations that can be measured.
#ifndef COPSE_CLI_PERFTEST_COLLECTIVE_H_
#define COPSE_CLI_PERFTEST_COLLECTIVE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/copse.h"
#include "collectives/collective.h"

namespace copse::perftest {

// Measured is a collective that can be measured. collectives/collective.h describes its ranks' buffers.
struct Measured {
  Collective which;
  // The bandwidth on the bus, as printed by ucc_perftest, is this factor times the size divided by the time. Null: not
  // defined.
  double (*bus_factor)(double ranks);
  // Makes the blocking call with these arguments.
  copse_status_t (*call)(copse_team_t* team, const copse_coll_args_t& args);

  const CollectiveTraits& traits() const { return TraitsOf(which); }
  const char* name() const { return traits().name.data(); }
  copse_collective_t id() const { return static_cast<copse_collective_t>(which); }
  bool is_bcast() const { return which == Collective::kBcast; }  // one buffer is sent and received
  bool can_be_in_place() const { return HasData(which) && !is_bcast(); }
  // In place, the block that need not move is in the send buffer.
  bool is_scatter() const { return traits().nesting == Nesting::kReceiveInSend; }
  // Only the root knows all counts, unless the options give them to all ranks.
  bool has_counts_at_root() const { return IsIrregular(which) && HasRoot(which); }
  // Returns whether only the root has such a buffer. Where all but one rank have one, that rank has it, too.
  bool sends_at_root() const { return traits().senders == Holders::kRoot; }
  bool receives_at_root() const { return traits().receivers == Holders::kRoot; }
};

struct Datatype {
  const char* name;   // ucc_perftest's name, where it has the type
  const char* alias;  // MPI's name; "": none
  copse_datatype_t id;
  uint32_t bytes;
};

struct Operation {
  const char* name;
  copse_op_t id;
};

const std::vector<Measured>& AllCollectives();
const std::vector<Datatype>& AllDatatypes();
const std::vector<Operation>& AllOperations();

// Returns null if there is none of that name.
const Measured* FindCollective(std::string_view name);
const Datatype* FindDatatype(std::string_view name);
const Operation* FindOperation(std::string_view name);

bool IsDefined(const Operation& operation, const Datatype& type);

inline std::string_view NameOf(const Measured& row) { return row.name(); }
template <typename Row>
std::string_view NameOf(const Row& row) {
  return row.name;
}

// Lists "barrier, bcast, reduce, allreduce", for help and messages.
template <typename Table>
std::string Names(const Table& table) {
  std::string names;
  for (const auto& row : table) names += (names.empty() ? "" : ", ") + std::string(NameOf(row));
  return names;
}

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_COLLECTIVE_H_
