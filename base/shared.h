// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_BASE_SHARED_H_
#define COPSE_BASE_SHARED_H_

#include <memory>
#include <utility>

namespace copse {

// A Shared is an immutable value that its copies share. Copies may be used by several threads.
template <typename T>
class Shared {
 public:
  Shared() : Shared(T()) {}
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the value
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  // Copies are equal without a look at the value.
  friend bool operator==(const Shared& a, const Shared& b) { return a.IsCopyOf(b) || *a == *b; }
  bool IsCopyOf(const Shared& other) const { return value_ == other.value_; }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace copse

#endif  // COPSE_BASE_SHARED_H_
