// SPDX-License-Identifier: Apache-2.0
//
// Files of certificates for tests.
#ifndef COPSE_RPC_TESTING_IDENTITY_FILES_H_
#define COPSE_RPC_TESTING_IDENTITY_FILES_H_

#include <string>

#include "base/config/tls_files.h"
#include "offload_emu/tcp/testing/test_authority.h"

namespace copse::rpc {

// Writes a file that its owner alone may read. The reader never sees half of it.
void WriteSecretFile(const std::string& path, const std::string& text);

// Issues a certificate of spiffe://test/ROLE/NAME, or of `options`, writes it with its key and the authority's
// certificate into the test's folder, and returns the paths. A later call with the same prefix replaces the files.
config::TlsFiles WriteIdentity(const emu::TestAuthority& authority, const std::string& prefix,
                               const emu::TestCertificateOptions& options);
config::TlsFiles WriteRole(const emu::TestAuthority& authority, const std::string& role, const std::string& name);

}  // namespace copse::rpc

#endif  // COPSE_RPC_TESTING_IDENTITY_FILES_H_
