// SPDX-License-Identifier: Apache-2.0
//
// Runs a function at the end of a scope, also if the thread is canceled in it.
#ifndef COPSE_CLIENT_PORT_ON_EXIT_H_
#define COPSE_CLIENT_PORT_ON_EXIT_H_

#include <utility>

namespace copse::client {

template <typename Function>
class OnExit {
 public:
  explicit OnExit(Function function) : function_(std::move(function)) {}
  ~OnExit() { function_(); }
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;

 private:
  Function function_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_ON_EXIT_H_
