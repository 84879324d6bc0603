// SPDX-License-Identifier: Apache-2.0
//
// Takes what must not leave a machine out of the text of a configuration.
#ifndef COPSE_CLI_CTL_BLANK_SECRETS_H_
#define COPSE_CLI_CTL_BLANK_SECRETS_H_

#include <string>
#include <string_view>

namespace copse::ctl {

// Replaces in `text`, line by line, by "(blanked)":
// - the values of keys, variables and comments that are named for a key, a token, a password or another secret, with
//   the lines that continue them; a value that names a file of this machine stays, since the file is not read
// - blocks in PEM, certificates too
// - lines of one word, as in a token's file, and lines of more than 4096 bytes
// - user and password in a URL.
// YAML, KEY=VALUE and JSON with a key a line are understood; in a line of several keys, all after the first secret
// goes.
std::string BlankSecrets(std::string_view text);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_BLANK_SECRETS_H_
