// SPDX-License-Identifier: Apache-2.0

#include "client/port/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace copse::client {
namespace {

constexpr const char* kNames[] = {
    "COPSE_SOCKET",  "COPSE_JOB",        "SLURM_JOB_ID",   "PMI_JOBID",       "PMIX_NAMESPACE",
    "COPSE_TIMEOUT", "COPSE_COPIES_MIB", "COPSE_LOG_FILE", "COPSE_LOG_LEVEL", "OMPI_MCA_ess_base_jobid"};

class EnvironmentTest : public testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }
  static void Clear() {
    for (const char* name : kNames) unsetenv(name);
  }
};

TEST_F(EnvironmentTest, EmptyMeansDefaults) {
  const Environment environment = ReadEnvironment();
  EXPECT_EQ(environment.socket, "");
  EXPECT_EQ(environment.job, "");
  EXPECT_LT(environment.timeout_s, 0);
  EXPECT_EQ(environment.log_level, LogLevel::kNone);
  EXPECT_EQ(environment.log_file, "");
}

TEST_F(EnvironmentTest, TheJobIsOursThenTheLaunchers) {
  setenv("OMPI_MCA_ess_base_jobid", "5", 1);
  EXPECT_EQ(ReadEnvironment().job, "5");
  setenv("PMIX_NAMESPACE", "ns", 1);
  EXPECT_EQ(ReadEnvironment().job, "ns");
  setenv("PMI_JOBID", "pmi", 1);
  EXPECT_EQ(ReadEnvironment().job, "pmi");
  setenv("SLURM_JOB_ID", "slurm", 1);
  EXPECT_EQ(ReadEnvironment().job, "slurm");
  setenv("COPSE_JOB", "", 1);
  EXPECT_EQ(ReadEnvironment().job, "slurm");  // an empty one counts as none
  setenv("COPSE_JOB", "own", 1);
  EXPECT_EQ(ReadEnvironment().job, "own");
}

TEST_F(EnvironmentTest, PatternsExpand) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  EXPECT_EQ(Expand("/run/%h/x.%p"), "/run/" + std::string(host) + "/x." + std::to_string(getpid()));
  EXPECT_EQ(Expand("100%% %z %"), "100% %z %");
  EXPECT_EQ(Expand(""), "");
  setenv("COPSE_SOCKET", "@copse-%p", 1);
  setenv("COPSE_LOG_FILE", "log.%p", 1);
  EXPECT_EQ(ReadEnvironment().socket, "@copse-" + std::to_string(getpid()));
  EXPECT_EQ(ReadEnvironment().log_file, "log." + std::to_string(getpid()));
}

TEST_F(EnvironmentTest, ATimeoutIsAPositiveNumberOfSeconds) {
  setenv("COPSE_TIMEOUT", "2.5", 1);
  EXPECT_EQ(ReadEnvironment().timeout_s, 2.5);
  for (const char* none : {"", "0", "-1", "inf"}) {
    setenv("COPSE_TIMEOUT", none, 1);
    EXPECT_LT(ReadEnvironment().timeout_s, 0) << none;
    EXPECT_TRUE(ReadEnvironment().timeout_is_number) << none;
  }
  for (const char* mistake : {"abc", "5s", "nan", "1,5"}) {
    setenv("COPSE_TIMEOUT", mistake, 1);
    EXPECT_LT(ReadEnvironment().timeout_s, 0) << mistake;
    EXPECT_FALSE(ReadEnvironment().timeout_is_number) << mistake;
  }
}

TEST_F(EnvironmentTest, MemoryForCopiesIsANumberOfMebibytes) {
  setenv("COPSE_COPIES_MIB", "3", 1);
  EXPECT_EQ(ReadEnvironment().copies_bytes, 3u << 20);
  for (const char* const otherwise : {"", "0", "-1", "3MiB", "99999999999999999999"}) {
    setenv("COPSE_COPIES_MIB", otherwise, 1);
    EXPECT_EQ(ReadEnvironment().copies_bytes, 0u) << otherwise;
  }
}

TEST_F(EnvironmentTest, LogLevelsInAnyCase) {
  EXPECT_EQ(ParseLogLevel("error"), LogLevel::kError);
  EXPECT_EQ(ParseLogLevel("Warning"), LogLevel::kWarning);
  EXPECT_EQ(ParseLogLevel("INFO"), LogLevel::kInfo);
  EXPECT_EQ(ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("loud"), LogLevel::kNone);
  EXPECT_EQ(ParseLogLevel(nullptr), LogLevel::kNone);
}

}  // namespace
}  // namespace copse::client
