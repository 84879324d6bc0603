# SPDX-License-Identifier: Apache-2.0
#
# Writes a header from a .proto file: for each service a struct SERVICEMethods with a Method for each of its methods.
# `includes`: headers of their messages, and of Method.
BEGIN {
  print "#pragma once"
  count = split(includes, headers, " ")
  for (i = 1; i <= count; ++i) print "#include \"" headers[i] "\""
}
/^package / {
  package = $2
  sub(/;/, "", package)
  space = package
  gsub(/\./, "::", space)
}
/^service / {
  service = $2
  print "namespace " space " {\nstruct " service "Methods {"
}
/^ *rpc / {
  if ($0 !~ /^ *rpc [A-Za-z]+\((stream )?[A-Za-z]+\) returns \((stream )?[A-Za-z]+\);$/) {
    print "methods.awk: not a method on one line (line=" $0 ")" > "/dev/stderr"
    exit 1
  }
  gsub(/rpc |returns |stream |[();]/, " ")
  printf "  static constexpr Method<%s, %s> %s{\"/%s.%s/%s\"};\n", $2, $3, $1, package, service, $1
}
/^}/ && service {
  print "};\n}"
  service = ""
}
