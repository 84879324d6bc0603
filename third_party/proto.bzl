# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers and gRPC services as C++ libraries, by Debian's protoc and grpc_cpp_plugin."""

def _protos_label(label):
    """The filegroup of .proto files behind a copse_proto_library label."""
    if ":" in label:
        return label + "_protos"
    return "%s:%s_protos" % (label, label.split("/")[-1])

def copse_proto_library(name, deps = [], grpc = False, methods = [], visibility = None):
    """Declares a cc_library of code that is generated from NAME.proto.

    The import root is the workspace root, in .proto files (`import "proto/types.proto";`) and in C++
    (`#include "proto/types.pb.h"`, and with grpc `#include "proto/node.grpc.pb.h"`).

    Args:
      name: the cc_library's name.
      deps: other copse_proto_library targets that NAME.proto imports.
      grpc: True to generate the services too. Keep messages and services in separate targets: gRPC's headers are
        expensive to compile, and most code needs only messages.
      methods: with targets of messages and of Method, NAME_methods is a cc_library with `NAME.methods.h`, the services'
        methods for callers without stubs.
      visibility: as usual.
    """
    protos = [name + ".proto"] + [_protos_label(dep) for dep in deps]
    native.filegroup(
        name = name + "_protos",
        srcs = protos,
        visibility = visibility,
    )

    suffixes = ["pb"] + (["grpc.pb"] if grpc else [])
    headers = ["%s.%s.h" % (name, suffix) for suffix in suffixes]
    sources = ["%s.%s.cc" % (name, suffix) for suffix in suffixes]

    flags = "--cpp_out=$(GENDIR)"
    if grpc:
        flags += " --grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin"

    native.genrule(
        name = name + "_generated",
        srcs = protos,
        outs = headers + sources,
        # The pragma keeps our warnings out of generated headers.
        cmd = " && ".join([
            "/usr/bin/protoc -I. -I/usr/include %s %s" % (flags, "$(location %s.proto)" % name),
            "sed -i '1i #pragma GCC system_header' %s" % " ".join(["$(location %s)" % header for header in headers]),
        ]),
        message = "Generating protocol code",
        visibility = ["//visibility:private"],
    )

    if methods:
        includes = ["%s/%s" % (native.package_name(), label[1:] + (".pb.h" if label in deps else ".h")) for label in methods]
        native.genrule(
            name = name + "_methods_header",
            srcs = [name + ".proto"],
            outs = [name + ".methods.h"],
            cmd = "awk -v includes='%s' -f $(location //third_party:methods.awk) $< >$@" % " ".join(includes),
            tools = ["//third_party:methods.awk"],
        )
        native.cc_library(
            name = name + "_methods",
            hdrs = [name + ".methods.h"],
            deps = methods,
            visibility = visibility,
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
    )
