# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers and gRPC services as C++ libraries, by Debian's protoc and grpc_cpp_plugin."""

def _protos_label(label):
    """The filegroup of .proto files behind a copse_proto_library label."""
    if ":" in label:
        return label + "_protos"
    return "%s:%s_protos" % (label, label.split("/")[-1])

def copse_proto_library(name, srcs, deps = [], grpc = False, visibility = None, testonly = False):
    """Declares a cc_library of generated code.

    The import root is the workspace root, in .proto files (`import "proto/types.proto";`) and in C++
    (`#include "proto/types.pb.h"`, and with grpc `#include "proto/node.grpc.pb.h"`).

    Args:
      name: the cc_library's name.
      srcs: .proto files of this package.
      deps: other copse_proto_library targets that the .proto files import.
      grpc: True to generate the services too. Keep messages and services in separate targets: gRPC's headers are
        expensive to compile, and most code needs only messages.
      visibility: as usual.
      testonly: as usual.
    """
    for src in srcs:
        if not src.endswith(".proto") or src.startswith(":") or src.startswith("/"):
            fail("srcs must be .proto files of this package, not %r" % src)

    native.filegroup(
        name = name + "_protos",
        srcs = srcs + [_protos_label(dep) for dep in deps],
        visibility = visibility,
        testonly = testonly,
    )

    stems = [src[:-len(".proto")] for src in srcs]
    suffixes = ["pb"] + (["grpc.pb"] if grpc else [])
    headers = ["%s.%s.h" % (stem, suffix) for stem in stems for suffix in suffixes]
    sources = ["%s.%s.cc" % (stem, suffix) for stem in stems for suffix in suffixes]

    flags = "--cpp_out=$(GENDIR)"
    if grpc:
        flags += " --grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin"

    native.genrule(
        name = name + "_generated",
        srcs = srcs + [_protos_label(dep) for dep in deps],
        outs = headers + sources,
        # The pragma keeps our warnings out of generated headers.
        cmd = " && ".join([
            "/usr/bin/protoc -I. -I/usr/include %s %s" % (flags, " ".join(["$(location %s)" % src for src in srcs])),
            "sed -i '1i #pragma GCC system_header' %s" % " ".join(["$(location %s)" % header for header in headers]),
        ]),
        message = "Generating protocol code",
        visibility = ["//visibility:private"],
        testonly = testonly,
    )

    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        copts = ["-w"],
        # clang-tidy and layering_check have nothing to say about generated code.
        features = ["-layering_check"],
        deps = deps + ["//third_party:protobuf"] + (["//third_party:grpc"] if grpc else []),
        visibility = visibility,
        testonly = testonly,
    )
