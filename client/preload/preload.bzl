# SPDX-License-Identifier: Apache-2.0
"""How code that is preloaded into every process is compiled and linked: it needs libc alone."""

PRELOAD_COPTS = [
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
    # Wrappers take over the types of libc's functions, with their attributes.
    "-Wno-ignored-attributes",
]

PRELOAD_LINKOPTS = [
    "-Wl,-z,relro,-z,now",
    "-Wl,--as-needed",
    "-ldl",
]
