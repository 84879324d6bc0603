// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/api/failure_text.h"

#include <gtest/gtest.h>

#include "base/failure.h"
#include "client/port/error.h"

namespace copse::mpi {
namespace {

TEST(ErrorClassOfTest, EveryStatusIsOneClass) {
  const std::pair<copse_status_t, int> kMap[] = {
      {COPSE_OK, MPI_SUCCESS},
      {COPSE_ERR_INVALID_ARGUMENT, MPI_ERR_ARG},
      {COPSE_ERR_NO_DAEMON, MPI_ERR_OTHER},
      {COPSE_ERR_VERSION, MPI_ERR_OTHER},
      {COPSE_ERR_NO_RESOURCE, MPI_ERR_NO_MEM},
      {COPSE_ERR_TIMED_OUT, MPI_ERR_OTHER},
      {COPSE_ERR_MEMBER_LOST, MPI_ERR_OTHER},
      {COPSE_ERR_MISMATCH, MPI_ERR_ARG},
      {COPSE_ERR_CANCELED, MPI_ERR_OTHER},
      {COPSE_ERR_NOT_SUPPORTED, MPI_ERR_UNSUPPORTED_OPERATION},
      {COPSE_ERR_NO_MEMORY, MPI_ERR_NO_MEM},
      {COPSE_ERR_PERMISSION, MPI_ERR_OTHER},
      {COPSE_ERR_INTERNAL, MPI_ERR_INTERN},
  };
  ASSERT_EQ(std::size(kMap), static_cast<size_t>(kFailureCount));
  for (const auto& [status, error_class] : kMap) EXPECT_EQ(ErrorClassOf(status), error_class) << status;
}

TEST(LastFailureTextTest, EndsWithWhatIsKnown) {
  EXPECT_EQ(client::Fail(COPSE_ERR_INTERNAL, "x"), COPSE_ERR_INTERNAL);
  EXPECT_EQ(LastFailureText(), "copse: library: x (cause=fault)");
  FailureFacts facts = client::FactsOfNode(FailureCause::kNodeSilent, "n2");
  facts.has_rank = 1;
  facts.rank = 3;
  facts.limit = 10'000;
  EXPECT_EQ(client::FailWith(COPSE_ERR_MEMBER_LOST, facts, "x"), COPSE_ERR_MEMBER_LOST);
  EXPECT_EQ(LastFailureText(), "copse: library: x (cause=node-silent, node=n2, rank=3, limit=10000)");
}

}  // namespace
}  // namespace copse::mpi
