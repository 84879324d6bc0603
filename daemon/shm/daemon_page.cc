// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/daemon_page.h"

#include <new>
#include <utility>

#include "base/status_macros.h"
#include "base/version.h"

namespace copse::daemon {

DaemonPage::DaemonPage(UniqueFd fd, Mapping mapping, Incarnation incarnation)
    : fd_(std::move(fd)),
      mapping_(std::move(mapping)),
      page_(new (mapping_.data()) ring::DaemonPage{}),
      group_wake_(page_->wake) {
  page_->magic = ring::kMagic;
  page_->ring_version = kRingLayoutVersion;
  page_->incarnation = incarnation.value();
}

absl::StatusOr<std::unique_ptr<DaemonPage>> DaemonPage::Create(Incarnation incarnation) {
  ASSIGN_OR_RETURN(UniqueFd fd, CreateMemoryFile("copse-daemon", ring::kPageBytes));
  ASSIGN_OR_RETURN(Mapping mapping, Mapping::Map(fd.get(), ring::kPageBytes));
  RETURN_IF_ERROR(SealSeals(fd.get(), /*against_new_writers=*/true));
  return std::unique_ptr<DaemonPage>(new DaemonPage(std::move(fd), std::move(mapping), incarnation));
}

}  // namespace copse::daemon
