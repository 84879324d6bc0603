// SPDX-License-Identifier: Apache-2.0
//
// What can be measured, as tables: collectives, types of elements, operations.
#ifndef COPSE_CLI_PERFTEST_COLLECTIVE_H_
#define COPSE_CLI_PERFTEST_COLLECTIVE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/copse.h"

namespace copse::perftest {

// What a buffer holds: one block, or one for each rank.
enum class Buffer { kNone, kOne, kBlocks };
// Which ranks have such a buffer.
enum class Who { kAll, kRoot };

// Which ranks' contributions a result is combined from.
enum class Operands { kNone, kAll, kToOwn, kBeforeOwn };

// A row here is all that a new collective needs.
struct Collective {
  const char* name;
  copse_collective_t id;
  Buffer send;
  Who sender;
  Buffer recv;
  Who receiver;
  Operands operands;
  bool is_irregular;  // blocks have a length each
  // The bandwidth on the bus, as ucc_perftest prints it, is this factor times the size by the time. Null: it has none.
  double (*bus_factor)(double ranks);
  // The blocking call with these arguments.
  copse_status_t (*call)(copse_team_t* team, const copse_coll_args_t& args);

  bool has_data() const { return recv != Buffer::kNone; }
  bool has_root() const { return has_data() && (sender == Who::kRoot || receiver == Who::kRoot); }
  bool reduces() const { return operands != Operands::kNone; }
  bool has_blocks() const { return send == Buffer::kBlocks || recv == Buffer::kBlocks; }
  // One buffer is both.
  bool is_bcast() const { return id == COPSE_COLL_BCAST; }
  bool can_be_in_place() const { return has_data() && !is_bcast(); }
  // In place, the block that need not move is in the send buffer.
  bool is_scatter() const { return id == COPSE_COLL_SCATTER || id == COPSE_COLL_SCATTERV; }
  // The root alone knows all counts, unless all ranks are asked to.
  bool has_counts_at_root() const { return is_irregular && has_root(); }
};

struct Datatype {
  const char* name;   // as ucc_perftest has it, where it has the type
  const char* alias;  // as MPI programs call it; "": none
  copse_datatype_t id;
  uint32_t bytes;
};

struct Operation {
  const char* name;
  copse_op_t id;
};

const std::vector<Collective>& AllCollectives();
const std::vector<Datatype>& AllDatatypes();
const std::vector<Operation>& AllOperations();

// Null if there is none of that name.
const Collective* FindCollective(std::string_view name);
const Datatype* FindDatatype(std::string_view name);
const Operation* FindOperation(std::string_view name);

bool IsDefined(const Operation& operation, const Datatype& type);

// "barrier, bcast, reduce, allreduce", for help and messages.
template <typename Table>
std::string Names(const Table& table) {
  std::string names;
  for (const auto& row : table) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_COLLECTIVE_H_
