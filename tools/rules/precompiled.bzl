# SPDX-License-Identifier: Apache-2.0
"""A header that clang compiles once, for all who include it before all else."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        # It is no part of a module.
        unsupported_features = ctx.disabled_features + ["layering_check", "module_maps"],
    )

    # clang takes the compiled header that lies beside the one that it is told to include.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    compiled = ctx.actions.declare_file(ctx.label.name + ".h.pch")
    ctx.actions.run_shell(
        command = 'cat "$@" >' + header.path,
        arguments = [source.path for source in ctx.files.srcs],
        inputs = ctx.files.srcs,
        outputs = [header],
        mnemonic = "Concatenate",
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = "-",
        output_file = compiled.path,
        use_pic = True,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + [
            "-x",
            "c++-header",
            # Contents count, and Bazel sees to them; when a file was written does not.
            "-Xclang",
            "-fno-pch-timestamp",
            # What the headers instantiate is done once, too.
            "-fpch-instantiate-templates",
        ] + (["-fmodules-strict-decluse"] if "layering_check" in ctx.features else []),
    )
    command = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )
    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
    )

    # From standard input: the compiled header would name a file by the path that it has in this action's sandbox.
    ctx.actions.run_shell(
        command = 'exec "$@" <' + header.path,
        arguments = [compiler] + command,
        # Bazel compiles all C++ so: no directory of this machine gets into the output.
        env = {"PATH": "/bin:/usr/bin:/usr/local/bin", "PWD": "/proc/self/cwd"},
        inputs = depset([header], transitive = [toolchain.all_files]),
        outputs = [compiled],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % header.short_path,
    )
    context = cc_common.create_compilation_context(headers = depset([header, compiled]))
    return [CcInfo(compilation_context = context)]

# The compiled header is an input of what depends on the target and includes NAME.h before all else.
precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "copts": attr.string_list(doc = "Flags after those of the build, like --per_file_copt's."),
        "srcs": attr.label_list(allow_files = [".h"], mandatory = True, doc = "Headers that include the system's."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
