// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/api/mpi_api.h"

#include <cstring>

#include "client/mpi/api/mpi_process.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

const char* the_missing = "";

// Finds the functions of an MPI that lacks one.
void* FindAllButOne(const char* name) { return strcmp(name, the_missing) == 0 ? nullptr : dlsym(RTLD_DEFAULT, name); }

TEST(LoadMpiApiTest, NamesTheFunctionThatAnMpiLacks) {
#define COPSE_MPI_PNAME(name) "PMPI_" #name,
  for (const char* name : {COPSE_MPI_3_ENTRIES(COPSE_MPI_PNAME) COPSE_MPI_CALLED(COPSE_MPI_PNAME)}) {
#undef COPSE_MPI_PNAME
    the_missing = name;
    EXPECT_STREQ(LoadMpiApi(FindAllButOne), name);
  }
  the_missing = "PMPI_Pcontrol";  // not called by the back end
  EXPECT_EQ(LoadMpiApi(FindAllButOne), nullptr);
}

#if MPI_VERSION >= 4
TEST(LoadMpiApiTest, AnMpiMayLackWhatMpi4Added) {
  the_missing = "PMPI_Bcast_c";
  EXPECT_EQ(LoadMpiApi(FindAllButOne), nullptr);
  EXPECT_EQ(Mpi().Bcast_c, nullptr);
  EXPECT_NE(Mpi().Bcast_init, nullptr);
}
#endif

TEST(FindInProgramsMpiTest, AnMpiMayLackAVariable) {
  EXPECT_EQ(FindInProgramsMpi("copse_no_such_variable"), nullptr);
  EXPECT_NE(FindInProgramsMpi("PMPI_Init"), nullptr);
}

}  // namespace
}  // namespace copse::mpi
