// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/collective.h"

namespace copse::perftest {
namespace {

double One(double) { return 1; }
double TwiceAllButOne(double ranks) { return 2 * (ranks - 1) / ranks; }

template <typename Table>
auto Find(const Table& table, std::string_view name) -> const typename Table::value_type* {
  for (const auto& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

const std::vector<Collective>& AllCollectives() {
  using Args = copse_coll_args_t;
  static const std::vector<Collective> table = {
      {"barrier", COPSE_COLL_BARRIER, Result::kNothing, nullptr,
       [](copse_team_t* team, const Args&) { return copse_barrier(team); }},
      {"bcast", COPSE_COLL_BCAST, Result::kRootsData, One,
       [](copse_team_t* team, const Args& a) { return copse_bcast(team, a.recv, a.count, a.type, a.root); }},
      {"reduce", COPSE_COLL_REDUCE, Result::kReductionAtRoot, One,
       [](copse_team_t* team, const Args& a) {
         return copse_reduce(team, a.send, a.recv, a.count, a.type, a.op, a.root);
       }},
      {"allreduce", COPSE_COLL_ALLREDUCE, Result::kReduction, TwiceAllButOne,
       [](copse_team_t* team, const Args& a) { return copse_allreduce(team, a.send, a.recv, a.count, a.type, a.op); }},
  };
  return table;
}

const std::vector<Datatype>& AllDatatypes() {
  static const std::vector<Datatype> table = {
      {"int8", "char", COPSE_DT_INT8, 1, false},     {"int16", "short", COPSE_DT_INT16, 2, false},
      {"int32", "int", COPSE_DT_INT32, 4, false},    {"int64", "long", COPSE_DT_INT64, 8, false},
      {"uint8", "", COPSE_DT_UINT8, 1, false},       {"uint16", "", COPSE_DT_UINT16, 2, false},
      {"uint32", "", COPSE_DT_UINT32, 4, false},     {"uint64", "", COPSE_DT_UINT64, 8, false},
      {"float32", "float", COPSE_DT_FLOAT, 4, true}, {"float64", "double", COPSE_DT_DOUBLE, 8, true},
  };
  return table;
}

const std::vector<Operation>& AllOperations() {
  static const std::vector<Operation> table = {
      {"sum", COPSE_OP_SUM, false},   {"prod", COPSE_OP_PROD, false}, {"min", COPSE_OP_MIN, false},
      {"max", COPSE_OP_MAX, false},   {"land", COPSE_OP_LAND, false}, {"lor", COPSE_OP_LOR, false},
      {"lxor", COPSE_OP_LXOR, false}, {"band", COPSE_OP_BAND, true},  {"bor", COPSE_OP_BOR, true},
      {"bxor", COPSE_OP_BXOR, true},
  };
  return table;
}

const Collective* FindCollective(std::string_view name) { return Find(AllCollectives(), name); }

const Datatype* FindDatatype(std::string_view name) {
  for (const Datatype& type : AllDatatypes()) {
    if (name == type.name || (!name.empty() && name == type.alias)) return &type;
  }
  return nullptr;
}

const Operation* FindOperation(std::string_view name) { return Find(AllOperations(), name); }

}  // namespace copse::perftest
