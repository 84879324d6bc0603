// SPDX-License-Identifier: Apache-2.0
//
// Debian's gRPC is built without sanitizers: TSAN does not see how its threads synchronize and takes its every handover
// for a race. What has a frame of it is not reported; our own locks are base/mutex.h's, which TSAN sees.

#if defined(__SANITIZE_THREAD__)
#define COPSE_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COPSE_TSAN
#endif
#endif

#ifdef COPSE_TSAN
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libgrpc\n"
         "race:libgpr\n"
         "race:grpcpp/\n"
         "race:grpc::\n";
}
#endif
