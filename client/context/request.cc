// SPDX-License-Identifier: Apache-2.0

#include "client/context/request.h"

#include <memory>
#include <string>
#include <utility>

#include "client/port/deadline.h"
#include "client/port/error.h"
#include "client/port/user_op.h"

namespace copse::client {
namespace {

using Lock = copse_context::Lock;

// copse_post waits this long for room in a full queue.
constexpr double kPostSeconds = 0.01;

std::string TeamName(const copse_request_t* request) {
  return request->team == nullptr ? "(destroyed)" : request->team->name;
}

copse_status_t FailNeverPosted(const copse_request_t* request) {
  return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request was never posted (team=%s)", TeamName(request).c_str());
}

// Requires the context's lock.
copse_status_t StateOf(copse_request_t* request) {
  switch (request->round.state) {
    case Round::State::kIdle:
      return FailNeverPosted(request);
    case Round::State::kInProgress:
      return COPSE_INPROGRESS;
    case Round::State::kComplete:
      break;
  }
  return Completion::Result(NameOf(request->plan), TeamName(request), &request->round);
}

}  // namespace

copse_status_t CreateRequest(copse_team_t* team, const copse_coll_args_t& args, copse_request_t** request) {
  copse_context_t* const context = team->context;
  auto result = std::make_unique<copse_request>(context);
  if (const auto status = PlanAnyCall(args, team->rank, team->size, context->message_bytes_max(), &result->plan);
      status != COPSE_OK) {
    return status;
  }
  result->team = team;
  *request = result.get();
  const Lock lock(&context->completion());
  context->Add(lock, std::move(result));
  return COPSE_OK;
}

copse_status_t PostRequest(copse_request_t* request) {
  Completion& completion = request->context->completion();
  Lock lock(&completion);
  if (request->team == nullptr) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request's team was destroyed (request=%p)",
                static_cast<const void*>(request));
  }
  if (request->round.state == Round::State::kInProgress) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request is in progress (team=%s)", request->team->name.c_str());
  }
  return completion.Post(lock, request->team->member(), request->plan, &request->round, DeadlineAfter(kPostSeconds));
}

copse_status_t TestRequest(copse_request_t* request) {
  const Lock lock(&request->context->completion());
  return StateOf(request);
}

copse_status_t WaitForRequest(copse_request_t* request, double seconds) {
  Completion& completion = request->context->completion();
  Lock lock(&completion);
  const copse_status_t status = StateOf(request);
  if (status != COPSE_INPROGRESS || seconds == 0) return status;
  return completion.Wait(lock, NameOf(request->plan), TeamName(request), &request->round, DeadlineAfter(seconds));
}

copse_status_t CancelRequest(copse_request_t* request) {
  Completion& completion = request->context->completion();
  Lock lock(&completion);
  if (request->round.state == Round::State::kIdle) return FailNeverPosted(request);
  if (request->round.state == Round::State::kInProgress) completion.Cancel(lock, &request->round);
  return COPSE_OK;
}

copse_status_t DestroyRequest(copse_request_t* request) {
  copse_context_t* const context = request->context;
  std::unique_ptr<Handle> owner;
  {
    const Lock lock(&context->completion());
    if (request->round.state == Round::State::kInProgress) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request is in progress; wait for it or cancel it (team=%s)",
                  TeamName(request).c_str());
    }
    owner = context->Take(lock, request);
  }
  if (owner == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request was finalized");
  Handle::Retire(std::move(owner));
  return COPSE_OK;
}

}  // namespace copse::client
