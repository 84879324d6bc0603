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

// What a collective leaves where, for count elements a rank.
enum class Result {
  kNothing,          // a barrier: neither counts nor buffers
  kRootsData,        // on every rank what the root had, in one buffer
  kReductionAtRoot,  // what all contributed, combined, at the root
  kReduction,        // the same on every rank
};

// A row here is all that a new collective with one of these results needs.
struct Collective {
  const char* name;
  copse_collective_t id;
  Result result;
  // The bandwidth on the bus, as ucc_perftest prints it, is this factor times the size by the time. Null: it has none.
  double (*bus_factor)(double ranks);
  // The blocking call with these arguments.
  copse_status_t (*call)(copse_team_t* team, const copse_coll_args_t& args);

  bool has_data() const { return result != Result::kNothing; }
  bool reduces() const { return result == Result::kReductionAtRoot || result == Result::kReduction; }
  bool has_root() const { return result == Result::kReductionAtRoot || result == Result::kRootsData; }
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
