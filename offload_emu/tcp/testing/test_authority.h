// SPDX-License-Identifier: Apache-2.0
//
// Makes certificates for tests.
#ifndef COPSE_OFFLOAD_EMU_TCP_TESTING_TEST_AUTHORITY_H_
#define COPSE_OFFLOAD_EMU_TCP_TESTING_TEST_AUTHORITY_H_

#include <memory>
#include <string>
#include <vector>

struct evp_pkey_st;
struct x509_st;

namespace copse::emu {

// PEM texts.
struct TestCertificate {
  std::string certificate, key;
};

struct TestCertificateOptions {
  std::string uri;         // the one in the certificate; empty: none
  int days = 1;            // negative: it has expired
  int seconds = 0;         // if not 0: it ends after so many instead
  std::string second_uri;  // empty: none
  long serial = 2;
  bool is_authority = false;  // it may sign others: TestAuthority(TestCertificate)
};

// A TestAuthority is a certificate authority with a key on the curve P-256. Failures end the test program.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "Test authority");
  // Issues in the name of an authority that exists.
  explicit TestAuthority(const TestCertificate& authority);
  ~TestAuthority();

  const std::string& certificate() const { return certificate_pem_; }
  TestCertificate Issue(const TestCertificateOptions& options) const;
  // Returns the certificate of spiffe://test/node/NAME.
  TestCertificate IssueNode(const std::string& name) const { return Issue({.uri = "spiffe://test/node/" + name}); }
  // Returns a list of these serial numbers, which lasts for so many days.
  std::string Revoke(const std::vector<long>& serials, int days = 1) const;

 private:
  evp_pkey_st* const key_;
  x509_st* const certificate_;
  std::string certificate_pem_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_TESTING_TEST_AUTHORITY_H_
