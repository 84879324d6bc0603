// SPDX-License-Identifier: Apache-2.0
//
// Decides who may see the page.
#ifndef COPSE_CLI_WEB_PAGE_GUARD_H_
#define COPSE_CLI_WEB_PAGE_GUARD_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace copse::web {

// What a request says of itself; empty: it does not say.
struct PageRequest {
  std::string host;    // header Host
  std::string origin;  // header Origin
  std::string token;   // as the page's cookie or address has it
};

// A PageSite is where browsers find the page.
struct PageSite {
  bool is_https = false;
  std::vector<std::string> names;  // hosts by which they may reach it, besides loopback's; the first is told

  const char* scheme() const { return is_https ? "https://" : "http://"; }
  // Returns the page's address, without a path, of a server that listens on HOST:PORT. A host that stands for all
  // addresses of the machine is none that a browser can open: then it is the first name.
  std::string AddressOf(const std::string& listening) const;
};

// Returns OK if the request may see the page. Errors: PERMISSION_DENIED. A name of the Host other than loopback's and
// the site's belongs to a foreign page whose name resolves to this machine (DNS rebinding); another Origin is a foreign
// page, too.
absl::Status CheckPageRequest(const PageRequest& request, std::string_view token, const PageSite& site);

// Returns the value of a cookie of a Cookie header, or nothing.
std::string CookieValue(std::string_view header, std::string_view name);

// A ViewerTable bounds how many viewers ask at once. Thread-compatible.
class ViewerTable {
 public:
  // A viewer that has not asked for so long is gone.
  static constexpr absl::Duration kPatience = absl::Seconds(10);
  static constexpr size_t kIdBytesMax = 64;

  explicit ViewerTable(size_t viewers_max) : viewers_max_(viewers_max) {}

  // Notes that a viewer asks. Errors: RESOURCE_EXHAUSTED beyond the limit of viewers; INVALID_ARGUMENT for a longer id.
  absl::Status Note(const std::string& id, absl::Time now);

 private:
  const size_t viewers_max_;
  std::map<std::string, absl::Time> last_asked_;
};

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_PAGE_GUARD_H_
