// SPDX-License-Identifier: Apache-2.0
#include "planner/store/store_address.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "rpc/credentials.h"

namespace copse::planner {

absl::StatusOr<StoreAddress> ParseStoreAddress(std::string_view text) {
  StoreAddress address;
  if (text.empty()) return address;
  absl::string_view rest = AbslView(text);
  const auto refusal = [&](const absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(why, " (store=", AbslView(text), ")"));
  };
  if (absl::ConsumePrefix(&rest, "sqlite:")) {
    if (rest.empty()) return refusal("no file");
    address.file = std::string(rest);
    return address;
  }
  address.is_encrypted = absl::ConsumePrefix(&rest, "etcds://");
  if (!address.is_encrypted && !absl::ConsumePrefix(&rest, "etcd://")) {
    return refusal("not sqlite:FILE, etcds://HOST:PORT[,HOST:PORT...]/PREFIX or etcd://...");
  }
  const size_t slash = rest.find('/');
  if (slash == absl::string_view::npos) return refusal("no /PREFIX");
  const absl::string_view prefix = absl::StripSuffix(rest.substr(slash), "/");
  const bool is_graphic = std::all_of(prefix.begin(), prefix.end(), absl::ascii_isgraph);
  if (prefix.size() < 2 || !is_graphic) return refusal("the prefix is empty, or not printable");
  const absl::StatusOr<std::vector<std::string>> members = rpc::ParseAddresses(StdView(rest.substr(0, slash)));
  if (!members.ok()) return refusal(members.status().message());
  address.etcd = *members;
  address.prefix = std::string(prefix);
  return address;
}

}  // namespace copse::planner
