// SPDX-License-Identifier: Apache-2.0
#include "client/run/job_contact.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace copse::run {
namespace {

bool ParsePort(const std::string& text, uint16_t* port) {
  uint32_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value == 0 || value > UINT16_MAX) return false;
  *port = static_cast<uint16_t>(value);
  return true;
}

}  // namespace

std::string ContactText(const JobContact& contact) {
  return absl::StrCat(contact.planner_port, "/", contact.lease_port, "/", absl::StrJoin(contact.addresses, "/"));
}

absl::StatusOr<JobContact> ParseContact(const std::string& text) {
  std::vector<std::string> words = absl::StrSplit(text, '/', absl::SkipEmpty());
  JobContact contact;
  if (words.size() < 3 || !ParsePort(words[0], &contact.planner_port) || !ParsePort(words[1], &contact.lease_port)) {
    return absl::InvalidArgumentError(absl::StrCat(kContactVariable, ": not PORT/PORT/ADDRESS (value=", text, ")"));
  }
  contact.addresses.assign(words.begin() + 2, words.end());
  return contact;
}

}  // namespace copse::run
