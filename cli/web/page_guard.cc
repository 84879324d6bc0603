// SPDX-License-Identifier: Apache-2.0
#include "cli/web/page_guard.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/secret.h"
#include "base/string_view.h"

namespace copse::web {
namespace {

constexpr const char* kLoopbackNames[] = {"localhost", "127.0.0.1", "[::1]"};

// A tunnel may end at another port of the viewer's machine, so only the name counts.
std::string NameOf(const std::string& host) {
  const size_t port = host.find(':', host.empty() || host[0] != '[' ? 0 : host.find(']'));
  return absl::AsciiStrToLower(host.substr(0, port));
}

}  // namespace

std::string PageSite::AddressOf(const std::string& listening) const {
  const size_t colon = listening.rfind(':');
  const std::string host = listening.substr(0, colon);
  const bool is_any = host == "0.0.0.0" || host == "[::]";
  return absl::StrCat(scheme(), is_any && !names.empty() ? names.front() : host, listening.substr(colon));
}

absl::Status CheckPageRequest(const PageRequest& request, std::string_view token, const PageSite& site) {
  const auto is_name = [name = NameOf(request.host)](const std::string& known) { return name == known; };
  if (!std::any_of(std::begin(kLoopbackNames), std::end(kLoopbackNames), is_name) &&
      !std::any_of(site.names.begin(), site.names.end(), is_name)) {
    return absl::PermissionDeniedError(
        absl::StrCat("the page has another name; the key hosts adds names (host=", request.host, ")"));
  }
  if (!request.origin.empty() && request.origin != absl::StrCat(site.scheme(), request.host)) {
    return absl::PermissionDeniedError(absl::StrCat("a foreign page asks (origin=", request.origin, ")"));
  }
  if (!SameSecret(request.token, token)) {
    return absl::PermissionDeniedError(
        "no token, or one of before a restart: open the address that `copsectl page` "
        "prints");
  }
  return absl::OkStatus();
}

std::string CookieValue(std::string_view header, std::string_view name) {
  for (absl::string_view cookie : absl::StrSplit(AbslView(header), ';')) {
    cookie = absl::StripAsciiWhitespace(cookie);
    if (absl::ConsumePrefix(&cookie, absl::StrCat(AbslView(name), "="))) return std::string(cookie);
  }
  return "";
}

absl::Status ViewerTable::Note(const std::string& id, absl::Time now) {
  if (id.size() > kIdBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("viewer: too long (bytes=", id.size(), ", limit=", kIdBytesMax, ")"));
  }
  std::erase_if(last_asked_, [now](const auto& viewer) { return viewer.second < now - kPatience; });
  if (last_asked_.count(id) == 0 && last_asked_.size() >= viewers_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many viewers (viewers=", last_asked_.size(), ", limit=", viewers_max_, ")"));
  }
  last_asked_[id] = now;
  return absl::OkStatus();
}

}  // namespace copse::web
