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
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

const std::vector<Collective>& AllCollectives() {
  using Args = copse_coll_args_t;
  constexpr auto kNone = Buffer::kNone, kOne = Buffer::kOne, kBlocks = Buffer::kBlocks;
  constexpr auto kAll = Who::kAll, kRoot = Who::kRoot;
  constexpr auto kMoves = Operands::kNone;
  static const std::vector<Collective> table = {
      {"barrier", COPSE_COLL_BARRIER, kNone, kAll, kNone, kAll, kMoves, false, nullptr,
       [](copse_team_t* team, const Args&) { return copse_barrier(team); }},
      {"bcast", COPSE_COLL_BCAST, kOne, kRoot, kOne, kAll, kMoves, false, One,
       [](copse_team_t* team, const Args& a) { return copse_bcast(team, a.recv, a.count, a.type, a.root); }},
      {"reduce", COPSE_COLL_REDUCE, kOne, kAll, kOne, kRoot, Operands::kAll, false, One,
       [](copse_team_t* team, const Args& a) {
         return copse_reduce(team, a.send, a.recv, a.count, a.type, a.op, a.root);
       }},
      {"allreduce", COPSE_COLL_ALLREDUCE, kOne, kAll, kOne, kAll, Operands::kAll, false, TwiceAllButOne,
       [](copse_team_t* team, const Args& a) { return copse_allreduce(team, a.send, a.recv, a.count, a.type, a.op); }},
      {"gather", COPSE_COLL_GATHER, kOne, kAll, kBlocks, kRoot, kMoves, false, AllButOne,
       [](copse_team_t* team, const Args& a) { return copse_gather(team, a.send, a.recv, a.count, a.type, a.root); }},
      {"scatter", COPSE_COLL_SCATTER, kBlocks, kRoot, kOne, kAll, kMoves, false, AllButOne,
       [](copse_team_t* team, const Args& a) { return copse_scatter(team, a.send, a.recv, a.count, a.type, a.root); }},
      {"allgather", COPSE_COLL_ALLGATHER, kOne, kAll, kBlocks, kAll, kMoves, false, AllButOne,
       [](copse_team_t* team, const Args& a) { return copse_allgather(team, a.send, a.recv, a.count, a.type); }},
      {"alltoall", COPSE_COLL_ALLTOALL, kBlocks, kAll, kBlocks, kAll, kMoves, false, AllButOne,
       [](copse_team_t* team, const Args& a) { return copse_alltoall(team, a.send, a.recv, a.count, a.type); }},
      {"reduce_scatter", COPSE_COLL_REDUCE_SCATTER, kBlocks, kAll, kOne, kAll, Operands::kAll, false, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_reduce_scatter_block(team, a.send, a.recv, a.count, a.type, a.op);
       }},
      {"scan", COPSE_COLL_SCAN, kOne, kAll, kOne, kAll, Operands::kToOwn, false, One,
       [](copse_team_t* team, const Args& a) { return copse_scan(team, a.send, a.recv, a.count, a.type, a.op); }},
      {"exscan", COPSE_COLL_EXSCAN, kOne, kAll, kOne, kAll, Operands::kBeforeOwn, false, One,
       [](copse_team_t* team, const Args& a) { return copse_exscan(team, a.send, a.recv, a.count, a.type, a.op); }},
      {"gatherv", COPSE_COLL_GATHERV, kOne, kAll, kBlocks, kRoot, kMoves, true, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_gatherv(team, a.send, a.count, a.recv, a.recv_counts, nullptr, a.type, a.root);
       }},
      {"scatterv", COPSE_COLL_SCATTERV, kBlocks, kRoot, kOne, kAll, kMoves, true, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_scatterv(team, a.send, a.send_counts, nullptr, a.recv, a.count, a.type, a.root);
       }},
      {"allgatherv", COPSE_COLL_ALLGATHERV, kOne, kAll, kBlocks, kAll, kMoves, true, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_allgatherv(team, a.send, a.count, a.recv, a.recv_counts, nullptr, a.type);
       }},
      {"alltoallv", COPSE_COLL_ALLTOALLV, kBlocks, kAll, kBlocks, kAll, kMoves, true, AllButOne,
       [](copse_team_t* team, const Args& a) {
         return copse_alltoallv(team, a.send, a.send_counts, nullptr, a.recv, a.recv_counts, nullptr, a.type);
       }},
      {"reduce_scatterv", COPSE_COLL_REDUCE_SCATTERV, kBlocks, kAll, kOne, kAll, Operands::kAll, true, AllButOne,
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

const Collective* FindCollective(std::string_view name) { return Find(AllCollectives(), name); }

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
