// SPDX-License-Identifier: Apache-2.0
//
// Implements the verb `coll list`, which lists calls in flight and their missing ranks.
#ifndef COPSE_CLI_CTL_COLL_VERBS_H_
#define COPSE_CLI_CTL_COLL_VERBS_H_

#include <string>
#include <vector>

#include "cli/ctl/style.h"
#include "cli/ctl/verb.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

std::vector<Verb> CollVerbs();

std::string RenderCollectives(const google::protobuf::RepeatedPtrField<v1::CollectiveRow>& calls, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_COLL_VERBS_H_
