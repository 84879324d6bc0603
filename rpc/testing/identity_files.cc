// SPDX-License-Identifier: Apache-2.0
#include "rpc/testing/identity_files.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/check.h"

namespace copse::rpc {

void WriteSecretFile(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  std::ofstream(temporary) << text;
  CHECK(chmod(temporary.c_str(), 0600) == 0 && rename(temporary.c_str(), path.c_str()) == 0);
}

config::TlsFiles WriteIdentity(const emu::TestAuthority& authority, const std::string& prefix,
                               const emu::TestCertificateOptions& options) {
  const char* const folder = getenv("TEST_TMPDIR");
  CHECK(folder != nullptr);
  const std::string base = std::string(folder) + "/" + prefix;
  const emu::TestCertificate issued = authority.Issue(options);
  const config::TlsFiles files{
      .certificate = base + ".pem", .key = base + ".key", .authorities = base + ".ca.pem", .revoked = ""};
  WriteSecretFile(files.key, issued.key);
  WriteSecretFile(files.certificate, issued.certificate);
  WriteSecretFile(files.authorities, authority.certificate());
  return files;
}

config::TlsFiles WriteRole(const emu::TestAuthority& authority, const std::string& role, const std::string& name) {
  return WriteIdentity(authority, role + "-" + name, {.uri = "spiffe://test/" + role + "/" + name});
}

}  // namespace copse::rpc
