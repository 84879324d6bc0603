// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/element_types.h"

#include <tuple>
#include <vector>

#include "client/mpi/api/mpi_process.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

class ElementTypesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { LoadElementTypes(); }

  static Datatype Described(MPI_Datatype handle) {
    Datatype type;
    EXPECT_TRUE(Describe(handle, &type));
    return type;
  }
};

TEST_F(ElementTypesTest, PredefinedTypesAreDescribedByKindSizeAndExtent) {
  const std::tuple<MPI_Datatype, Elements, uint64_t, MPI_Aint> kRows[] = {
      {MPI_INT, Elements::kSigned, 4, 4},         {MPI_SIGNED_CHAR, Elements::kSigned, 1, 1},
      {MPI_UINT64_T, Elements::kUnsigned, 8, 8},  {MPI_FLOAT, Elements::kFloating, 4, 4},
      {MPI_C_BOOL, Elements::kLogical, 1, 1},     {MPI_C_DOUBLE_COMPLEX, Elements::kComplex, 16, 16},
      {MPI_BYTE, Elements::kByte, 1, 1},          {MPI_CHAR, Elements::kOpaque, 1, 1},
      {MPI_2INT, Elements::k2Int, 8, 8},          {MPI_DOUBLE_INT, Elements::kDoubleInt, 12, 16},
      {MPI_SHORT_INT, Elements::kShortInt, 6, 8},
  };
  for (const auto& [handle, elements, bytes, extent] : kRows) {
    const Datatype type = Described(handle);
    EXPECT_EQ(type.elements, elements);
    EXPECT_EQ(type.bytes, bytes);
    EXPECT_EQ(type.extent, extent);
    EXPECT_EQ(type.plain, static_cast<MPI_Aint>(bytes) == extent);
  }
}

TEST_F(ElementTypesTest, CopiesAndArraysOfPlainTypesArePlain) {
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  MPI_Type_dup(MPI_DOUBLE, &copy);
  const NewType dup(copy), array(Contiguous(3, MPI_INT)), nested(Contiguous(2, array.get()));
  EXPECT_TRUE(Described(dup.get()).plain);
  EXPECT_TRUE(Described(array.get()).plain);
  const Datatype type = Described(nested.get());
  EXPECT_TRUE(type.plain);
  EXPECT_EQ(type.bytes, 24u);
  EXPECT_EQ(type.elements, Elements::kOpaque);
}

TEST_F(ElementTypesTest, TypesWithGapsOrAnotherOrderArePacked) {
  const NewType gaps(Vector(2, 1, 3, MPI_INT)), dense(Vector(2, 1, 1, MPI_INT)), wide(Resized(MPI_INT, 0, 16)),
      shifted(Resized(MPI_INT, -4, 4)), padded(Contiguous(2, MPI_DOUBLE_INT)), odd(Contiguous(2, wide.get()));
  for (const NewType* type : {&gaps, &dense, &wide, &shifted, &padded, &odd}) {
    EXPECT_FALSE(Described(type->get()).plain);
  }
  EXPECT_EQ(Described(wide.get()).extent, 16);
  EXPECT_EQ(Described(wide.get()).bytes, 4u);
}

TEST_F(ElementTypesTest, ADescriptionIsKeptWithTheTypeAndNotWithItsCopies) {
  const NewType type(Resized(MPI_INT, 0, 8));
  const Datatype first = Described(type.get()), again = Described(type.get());
  EXPECT_EQ(first.handle, again.handle);
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  MPI_Type_dup(type.get(), &copy);
  const NewType dup(copy);
  EXPECT_EQ(Described(dup.get()).handle, dup.get());
}

TEST_F(ElementTypesTest, NoTypeIsNotDescribed) {
  Datatype type;
  EXPECT_FALSE(Describe(MPI_DATATYPE_NULL, &type));
}

TEST_F(ElementTypesTest, AReductionIsByCanonicalTypeAndOperation) {
  const std::tuple<MPI_Datatype, MPI_Op, copse_datatype_t, copse_op_t> kRows[] = {
      {MPI_SIGNED_CHAR, MPI_SUM, COPSE_DT_INT8, COPSE_OP_SUM},
      {MPI_SHORT, MPI_PROD, COPSE_DT_INT16, COPSE_OP_PROD},
      {MPI_INT, MPI_MIN, COPSE_DT_INT32, COPSE_OP_MIN},
      {MPI_LONG, MPI_MAX, COPSE_DT_INT64, COPSE_OP_MAX},
      {MPI_UNSIGNED_CHAR, MPI_BAND, COPSE_DT_UINT8, COPSE_OP_BAND},
      {MPI_UINT16_T, MPI_BOR, COPSE_DT_UINT16, COPSE_OP_BOR},
      {MPI_UNSIGNED, MPI_BXOR, COPSE_DT_UINT32, COPSE_OP_BXOR},
      {MPI_UINT64_T, MPI_LAND, COPSE_DT_UINT64, COPSE_OP_LAND},
      {MPI_C_BOOL, MPI_LOR, COPSE_DT_UINT8, COPSE_OP_LOR},
      {MPI_INT, MPI_LXOR, COPSE_DT_INT32, COPSE_OP_LXOR},
      {MPI_FLOAT, MPI_SUM, COPSE_DT_FLOAT, COPSE_OP_SUM},
      {MPI_DOUBLE, MPI_MAX, COPSE_DT_DOUBLE, COPSE_OP_MAX},
      {MPI_C_FLOAT_COMPLEX, MPI_PROD, COPSE_DT_COMPLEX_FLOAT, COPSE_OP_PROD},
      {MPI_C_DOUBLE_COMPLEX, MPI_SUM, COPSE_DT_COMPLEX_DOUBLE, COPSE_OP_SUM},
      {MPI_BYTE, MPI_BXOR, COPSE_DT_BYTE, COPSE_OP_BXOR},
      {MPI_FLOAT_INT, MPI_MINLOC, COPSE_DT_FLOAT_INT, COPSE_OP_MINLOC},
      {MPI_DOUBLE_INT, MPI_MAXLOC, COPSE_DT_DOUBLE_INT, COPSE_OP_MAXLOC},
      {MPI_LONG_INT, MPI_MINLOC, COPSE_DT_LONG_INT, COPSE_OP_MINLOC},
      {MPI_2INT, MPI_MAXLOC, COPSE_DT_2INT, COPSE_OP_MAXLOC},
      {MPI_SHORT_INT, MPI_MINLOC, COPSE_DT_SHORT_INT, COPSE_OP_MINLOC},
  };
  for (const auto& [handle, op, type, copse_op] : kRows) {
    copse_datatype_t found_type{};
    copse_op_t found_op{};
    ASSERT_TRUE(ReductionFor(Described(handle), op, &found_type, &found_op)) << type;
    EXPECT_EQ(found_type, type);
    EXPECT_EQ(found_op, copse_op);
  }
}

TEST_F(ElementTypesTest, ReductionsThatMpiDoesNotDefineAreNone) {
  const std::pair<MPI_Datatype, MPI_Op> kRows[] = {
      {MPI_FLOAT, MPI_BAND},       {MPI_C_BOOL, MPI_SUM}, {MPI_BYTE, MPI_SUM}, {MPI_C_FLOAT_COMPLEX, MPI_MAX},
      {MPI_INT, MPI_MINLOC},       {MPI_2INT, MPI_SUM},   {MPI_CHAR, MPI_SUM}, {MPI_FLOAT, MPI_LOR},
      {MPI_LONG_DOUBLE, MPI_BXOR}, {MPI_INT, MPI_REPLACE}};
  for (const auto& [handle, op] : kRows) {
    copse_datatype_t type{};
    copse_op_t copse_op{};
    EXPECT_FALSE(ReductionFor(Described(handle), op, &type, &copse_op));
    EXPECT_FALSE(IsDefinedOn(op, Described(handle)));
  }
  // MPI defines it; daemons do not have the type.
  copse_datatype_t type{};
  copse_op_t copse_op{};
  EXPECT_TRUE(IsDefinedOn(MPI_SUM, Described(MPI_LONG_DOUBLE)));
  EXPECT_FALSE(ReductionFor(Described(MPI_LONG_DOUBLE), MPI_SUM, &type, &copse_op));
}

TEST_F(ElementTypesTest, TheOrderMattersForFloatingSumsAndForTheProgramsOperations) {
  EXPECT_TRUE(IsOrderSensitive(MPI_SUM, Described(MPI_DOUBLE)));
  EXPECT_TRUE(IsOrderSensitive(MPI_PROD, Described(MPI_C_FLOAT_COMPLEX)));
  EXPECT_FALSE(IsOrderSensitive(MPI_MAX, Described(MPI_DOUBLE)));
  EXPECT_FALSE(IsOrderSensitive(MPI_SUM, Described(MPI_INT)));
  EXPECT_FALSE(IsOrderSensitive(MPI_PROD, Described(MPI_UNSIGNED)));
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &op);
  EXPECT_TRUE(IsOrderSensitive(op, Described(MPI_INT)));
  EXPECT_FALSE(IsPredefined(op));
  EXPECT_FALSE(IsDefinedOn(op, Described(MPI_INT)));
  MPI_Op_free(&op);
  EXPECT_TRUE(IsPredefined(MPI_SUM));
  EXPECT_TRUE(IsPredefined(MPI_REPLACE));
  EXPECT_TRUE(IsPredefined(MPI_NO_OP));
}

}  // namespace
}  // namespace copse::mpi
