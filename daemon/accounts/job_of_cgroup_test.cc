// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/job_of_cgroup.h"

#include <gtest/gtest.h>

#include <string>

namespace copse::daemon {
namespace {

struct Row {
  const char* text;
  const char* job;
};

TEST(JobOfCgroupTest, TheAdministratorsAncestorIsTheJob) {
  const Row rows[] = {
      // Slurm, v2 and v1, whose steps and tasks are below the job.
      {"0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_3\n", "slurm-17"},
      {"0::/system.slice/n1_slurmstepd.scope/job_17/step_batch/user/task_0\n", "slurm-17"},
      {"9:memory:/slurm/uid_1000/job_17/step_0/task_0\n1:name=systemd:/\n", "slurm-17"},
      {"9:freezer:/slurm_n1/uid_1000/job_18/step_extern\n", "slurm-18"},
      {"9:cpuset,cpu:/slurm/uid_1000/job_17/step_0\n0::/user.slice/user-1000.slice/session-2.scope\n", "slurm-17"},
      // Pods of Kubernetes, of each class, by both cgroup drivers.
      {"0::/kubepods.slice/kubepods-burstable.slice/"
       "kubepods-burstable-pod6d0f8e3a_1b2c_4d5e_8f90_a1b2c3d4e5f6.slice/cri-containerd-77.scope\n",
       "pod-6d0f8e3a-1b2c-4d5e-8f90-a1b2c3d4e5f6"},
      {"0::/kubepods.slice/kubepods-pod6d0f8e3a_1b2c_4d5e_8f90_a1b2c3d4e5f6.slice/crio-77.scope\n",
       "pod-6d0f8e3a-1b2c-4d5e-8f90-a1b2c3d4e5f6"},
      {"4:memory:/kubepods/besteffort/pod6d0f8e3a-1b2c-4d5e-8f90-a1b2c3d4e5f6/77\n",
       "pod-6d0f8e3a-1b2c-4d5e-8f90-a1b2c3d4e5f6"},
      // systemd's slice of a user, whichever session or service.
      {"0::/user.slice/user-1000.slice/session-2.scope\n", "user-1000.slice"},
      {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n", "user-1000.slice"},
      {"1:name=systemd:/user.slice/user-1000.slice/session-2.scope\n9:memory:/\n", "user-1000.slice"},
      // Elsewhere.
      {"0::/\n", "uid-1000"},
      {"0::/system.slice/ssh.service\n", "uid-1000"},
  };
  for (const Row& row : rows) EXPECT_EQ(JobOfCgroup(row.text, 1000), row.job) << row.text;
}

TEST(JobOfCgroupTest, WhatAUserMayNameIsNoJob) {
  const Row rows[] = {
      // A user makes groups below its own.
      {"0::/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_9\n", "user-1000.slice"},
      {"0::/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_9\n", "user-1000.slice"},
      {"0::/user.slice/user-1000.slice/user@1000.service/kubepods/pod6d0f8e3a-1b2c-4d5e-8f90-a1b2c3d4e5f6\n",
       "user-1000.slice"},
      {"0::/system.slice/slurmstepd.scope/job_17/step_0/user/job_9\n", "slurm-17"},
      {"9:memory:/slurm/uid_1000/job_17/step_0/slurm/uid_0/job_9\n", "slurm-17"},
      {"0::/system.slice/web.service/slurmstepd.scope/job_9\n", "uid-1000"},
      {"0::/web/user.slice/user-0.slice\n", "uid-1000"},
  };
  for (const Row& row : rows) EXPECT_EQ(JobOfCgroup(row.text, 1000), row.job) << row.text;
}

TEST(JobOfCgroupTest, OtherTextIsNobodysJob) {
  const Row rows[] = {
      {"", "uid-1000"},
      {"\n\n", "uid-1000"},
      {"nonsense", "uid-1000"},
      {"0:", "uid-1000"},
      {"0::", "uid-1000"},
      {"0::/slurm", "uid-1000"},
      {"0::/slurm/uid_1000", "uid-1000"},
      {"0::/slurm/uid_1000/job_", "uid-1000"},
      {"0::/slurm/uid_1000/job_1x", "uid-1000"},
      {"0::/system.slice/slurmstepd.scope/system", "uid-1000"},
      {"0::/user.slice/user-.slice", "uid-1000"},
      {"0::/user.slice/user-x.slice", "uid-1000"},
      {"0::/kubepods/pod", "uid-1000"},
      {"0::/kubepods/podzz", "uid-1000"},
      {"0::/kubepods.slice", "uid-1000"},
  };
  for (const Row& row : rows) EXPECT_EQ(JobOfCgroup(row.text, 1000), row.job) << row.text;
}

}  // namespace
}  // namespace copse::daemon
