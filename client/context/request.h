// SPDX-License-Identifier: Apache-2.0
//
// Implements the functions of copse.h on requests, behind the checks of their handles.
#ifndef COPSE_CLIENT_CONTEXT_REQUEST_H_
#define COPSE_CLIENT_CONTEXT_REQUEST_H_

#include "client/context/context.h"
#include "client/copse.h"

namespace copse::client {

// These do the work of the functions of copse.h, with their errors, for handles that were checked. *request is set only
// on success. Thread-safe.
copse_status_t CreateRequest(copse_team_t* team, const copse_coll_args_t& args, copse_request_t** request);
copse_status_t PostRequest(copse_request_t* request);
copse_status_t TestRequest(copse_request_t* request);
copse_status_t WaitForRequest(copse_request_t* request, double seconds);
copse_status_t CancelRequest(copse_request_t* request);
copse_status_t DestroyRequest(copse_request_t* request);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_REQUEST_H_
