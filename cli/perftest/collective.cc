// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/collective.h"

#include "base/element_types.h"

namespace copse::perftest {
namespace {

double One(double) { return 1; }
double AllButOne(double ranks) { return ranks - 1; }
double TwiceAllButOne(double ranks) { return 2 * (ranks - 1) / ranks; }

template <typename Table>
auto Find(const Table& table, std::string_view name) -> const typename Table::value_type* {
  for (const auto& row : table) {
    if (NameOf(row) == name) return &row;
  }
  return nullptr;
}

}  // namespace

const std::vector<Measured>& AllCollectives() {
  using Args = copse_coll_args_t;
  static const std::vector<Measured> table = {
      {Collective::kBarrier, nullptr, [](copse_team_t* team, const Args&) { return copse_barrier(team); }},
      {Collective::kBcast, One,
       [](copse_team_t* team, const Args& a) { return copse_bcast(team, a.recv, a.count, a.type, a.root); }},
      {Collective::kReduce, One,
       [](copse_team_t* team, const Args& a) {
         return copse_reduce(team, a.send, a.recv, a.count, a.type, a.op, a.root);
       }},
      {Collective::kAllreduce, TwiceAllButOne,
       [](copse_team_t* team, const Args& a) { return copse_allreduce(team, a.send, a.recv, a.count, a.type, a.op); }},
      {Collective::kGather, AllButOne,
       [](copse_team_t* team, const Args& a) { return copse_gather(team, a.send, a.recv, a.count, a.type, a.root); }},
      {Collective::kScatter, AllButOne,
       [](copse_team_t* team, const Args& a) { return copse_scatter(team, a.send, a.recv, a.count, a.type, a.root); }},
      {Collective::kAllgather, AllButOne,
       [](copse_team_t* team, const Args& a) { return copse_allgather(team, a.send, a.recv, a.count, a.type); }},
      {Collective::kAlltoall, AllButOne,
       [](copse_team_t* team, const Args& a) { return copse_alltoall(team, a.send, a.recv, a.count, a.type); }},
      {Collective::kReduceScatter, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_reduce_scatter_block(team, a.send, a.recv, a.count, a.type, a.op);
       }},
      {Collective::kScan, One,
       [](copse_team_t* team, const Args& a) { return copse_scan(team, a.send, a.recv, a.count, a.type, a.op); }},
      {Collective::kExscan, One,
       [](copse_team_t* team, const Args& a) { return copse_exscan(team, a.send, a.recv, a.count, a.type, a.op); }},
      {Collective::kGatherv, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_gatherv(team, a.send, a.count, a.recv, a.recv_counts, nullptr, a.type, a.root);
       }},
      {Collective::kScatterv, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_scatterv(team, a.send, a.send_counts, nullptr, a.recv, a.count, a.type, a.root);
       }},
      {Collective::kAllgatherv, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_allgatherv(team, a.send, a.count, a.recv, a.recv_counts, nullptr, a.type);
       }},
      {Collective::kAlltoallv, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_alltoallv(team, a.send, a.send_counts, nullptr, a.recv, a.recv_counts, nullptr, a.type);
       }},
      {Collective::kReduceScatterv, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_reduce_scatter(team, a.send, a.recv, a.recv_counts, a.type, a.op);
       }},
  };
  return table;
}

const std::vector<Datatype>& AllDatatypes() {
  static const std::vector<Datatype> table = [] {
    std::vector<Datatype> rows = {
        {"int8", "char", COPSE_DT_INT8, 0},
        {"int16", "short", COPSE_DT_INT16, 0},
        {"int32", "int", COPSE_DT_INT32, 0},
        {"int64", "long", COPSE_DT_INT64, 0},
        {"uint8", "", COPSE_DT_UINT8, 0},
        {"uint16", "", COPSE_DT_UINT16, 0},
        {"uint32", "", COPSE_DT_UINT32, 0},
        {"uint64", "", COPSE_DT_UINT64, 0},
        {"float32", "float", COPSE_DT_FLOAT, 0},
        {"float64", "double", COPSE_DT_DOUBLE, 0},
        {"float16", "half", COPSE_DT_HALF, 0},
        {"bfloat16", "", COPSE_DT_BFLOAT16, 0},
        {"float32_complex", "complex_float", COPSE_DT_COMPLEX_FLOAT, 0},
        {"float64_complex", "complex_double", COPSE_DT_COMPLEX_DOUBLE, 0},
        {"byte", "", COPSE_DT_BYTE, 0},
        {"float_int", "", COPSE_DT_FLOAT_INT, 0},
        {"double_int", "", COPSE_DT_DOUBLE_INT, 0},
        {"long_int", "", COPSE_DT_LONG_INT, 0},
        {"2int", "", COPSE_DT_2INT, 0},
        {"short_int", "", COPSE_DT_SHORT_INT, 0},
    };
    for (Datatype& row : rows) row.bytes = kElementTypes[row.id].bytes;
    return rows;
  }();
  return table;
}

const std::vector<Operation>& AllOperations() {
  static const std::vector<Operation> table = {
      {"sum", COPSE_OP_SUM},   {"prod", COPSE_OP_PROD}, {"min", COPSE_OP_MIN},       {"max", COPSE_OP_MAX},
      {"land", COPSE_OP_LAND}, {"lor", COPSE_OP_LOR},   {"lxor", COPSE_OP_LXOR},     {"band", COPSE_OP_BAND},
      {"bor", COPSE_OP_BOR},   {"bxor", COPSE_OP_BXOR}, {"minloc", COPSE_OP_MINLOC}, {"maxloc", COPSE_OP_MAXLOC},
  };
  return table;
}

const Measured* FindCollective(std::string_view name) { return Find(AllCollectives(), name); }

const Datatype* FindDatatype(std::string_view name) {
  for (const Datatype& type : AllDatatypes()) {
    if (name == type.name || (!name.empty() && name == type.alias)) return &type;
  }
  return nullptr;
}

const Operation* FindOperation(std::string_view name) { return Find(AllOperations(), name); }

bool IsDefined(const Operation& operation, const Datatype& type) {
  return copse::IsDefined(static_cast<ElementOp>(operation.id), static_cast<ElementType>(type.id));
}

}  // namespace copse::perftest
