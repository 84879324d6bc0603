// SPDX-License-Identifier: Apache-2.0
//
// Makes the process of a unit test an MPI job of one rank, with a real MPI.
#ifndef COPSE_CLIENT_MPI_API_MPI_PROCESS_H_
#define COPSE_CLIENT_MPI_API_MPI_PROCESS_H_

#include <dlfcn.h>
#include <stdlib.h>

#include "client/mpi/api/mpi_api.h"
#include "gtest/gtest.h"

namespace copse::mpi {

// Initializes MPI once before the tests of a program, and finalizes it after them.
class MpiProcess : public ::testing::Environment {
 public:
  void SetUp() override {
    // Open MPI then starts no daemon for the process.
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 1);
    ASSERT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
    ASSERT_STREQ(LoadMpiApi([](const char* name) { return dlsym(RTLD_DEFAULT, name); }), nullptr);
  }
  void TearDown() override { EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS); }
};

inline ::testing::Environment* const the_mpi_process = ::testing::AddGlobalTestEnvironment(new MpiProcess);

// A NewType owns a derived datatype, which it commits and frees.
class NewType {
 public:
  explicit NewType(MPI_Datatype handle) : handle_(handle) { Mpi().Type_commit(&handle_); }
  ~NewType() { Mpi().Type_free(&handle_); }
  NewType(const NewType&) = delete;
  NewType& operator=(const NewType&) = delete;

  MPI_Datatype get() const { return handle_; }

 private:
  MPI_Datatype handle_;
};

inline MPI_Datatype Contiguous(int count, MPI_Datatype type) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(count, type, &made);
  return made;
}
inline MPI_Datatype Vector(int count, int length, int stride, MPI_Datatype type) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, length, stride, type, &made);
  return made;
}
inline MPI_Datatype Resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(type, lower, extent, &made);
  return made;
}

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_MPI_PROCESS_H_
