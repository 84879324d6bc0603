// SPDX-License-Identifier: Apache-2.0
//
// Certificates, keys and revocation lists in PEM, read by OpenSSL.
#ifndef COPSE_BASE_CERTIFICATES_X509_H_
#define COPSE_BASE_CERTIFICATES_X509_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace copse::x509 {

template <auto Free>
struct FreeBy {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, FreeBy<BIO_free>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;
using GeneralNames = std::unique_ptr<GENERAL_NAMES, FreeBy<GENERAL_NAMES_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using RevocationList = std::unique_ptr<X509_CRL, FreeBy<X509_CRL_free>>;
using Store = std::unique_ptr<X509_STORE, FreeBy<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, FreeBy<X509_STORE_CTX_free>>;

// Reads `text`, which outlives the reader.
Bio Reader(const std::string& text);

// Returns the next certificate, or nullptr. OpenSSL's queue of errors is left empty: it has the end of the text as one.
Certificate ReadCertificate(BIO* reader);

// Returns the next revocation list, or nullptr, likewise.
RevocationList ReadRevocationList(BIO* reader);

// Returns nullptr if the text holds no key that can be read; OpenSSL's queue of errors tells why.
PrivateKey ReadPrivateKey(const std::string& text);

// Return how many of the text's certificates and lists are now in the store; with a list, all that is verified needs
// one of its authority's, and no intermediate authority of it may be in a list.
int AddAuthorities(X509_STORE* store, const std::string& text);
int AddRevocationLists(X509_STORE* store, const std::string& text);

// Returns the only URI among the certificate's names, or an empty text.
std::string UriOf(const X509* certificate);

}  // namespace copse::x509

#endif  // COPSE_BASE_CERTIFICATES_X509_H_
