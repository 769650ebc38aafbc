// SPDX-License-Identifier: MIT
#include "cuda/cuda_program.h"

#include <utility>

#include "engine/check.h"

namespace terrace::cuda {

void CudaProgram::initialise(GuestMemory&) {
  connection_.reset();
  message_.reset();
  issue_.clear();
  lost_.clear();
  session_.begin();
}

std::optional<Launch> CudaProgram::next_issued() {
  Launch launch = std::move(issue_.front());
  issue_.pop_front();
  launch.host_waits = issue_.empty();
  return launch;
}

std::optional<Launch> CudaProgram::next(GuestMemory&) {
  if (issue_.empty() && serve() == Served::kNoMore) return std::nullopt;
  return next_issued();
}

/// Serves processes until one waits for what it issued, or there are no more.
CudaProgram::Served CudaProgram::serve() {
  while (true) {
    if (!connection_) connection_ = source_->next();
    if (!connection_) return Served::kNoMore;
    if (!message_) message_ = connection_->receive();
    if (!message_) {
      lose();
      continue;
    }
    std::vector<Message> answers;
    const HostSession::Outcome outcome = session_.handle(*message_, answers);
    if (outcome != HostSession::Outcome::kWaits) {
      message_.reset();
      bool sent = true;
      for (const Message& answer : answers) sent = sent && connection_->send(answer);
      if (!sent) {
        lose();
        continue;
      }
    }
    if (outcome == HostSession::Outcome::kEnded) {
      session_.clear();
      connection_.reset();
      continue;
    }
    if (outcome == HostSession::Outcome::kWaits || session_.full()) {
      for (Launch& launch : session_.take_issued()) issue_.push_back(std::move(launch));
      return Served::kIssues;
    }
  }
}

/// The process has gone, or is given up: what it had is freed, and what it issued is not done.
void CudaProgram::lose() {
  lost_ = connection_->why();
  message_.reset();
  connection_.reset();
  session_.clear();
}

/// The process finds out by the errors that its calls get, and ends by itself.
void CudaProgram::stopped(GuestMemory&, const std::string& fault) {
  session_.fail(fault.empty() ? Status::kLaunchFailure : status_of_fault(fault));
  session_.take_issued();
  issue_.clear();
  while (true) {
    if (!connection_) connection_ = source_->next();
    if (!connection_) return;
    if (!message_) message_ = connection_->receive();
    std::vector<Message> answers;
    bool goes_on = message_.has_value();
    if (goes_on) goes_on = session_.handle(*message_, answers) != HostSession::Outcome::kEnded;
    for (const Message& answer : answers) goes_on = connection_->send(answer) && goes_on;
    message_.reset();
    if (!goes_on) connection_.reset();
  }
}

void CudaProgram::archive(Archive&) {
  input_error("a CUDA process cannot be saved in a checkpoint; save runs of programs and workloads only");
}

CheckResult CudaProgram::check(const GuestMemory&) const {
  CheckResult result = source_->outcome();
  if (!lost_.empty()) {
    result.passed = false;
    result.message += (result.message.empty() ? "" : ", ") + lost_;
  }
  return result;
}

Status status_of_fault(const std::string& fault) {
  if (fault.find(" fails the assertion ") != std::string::npos) return Status::kAssert;
  if (fault.find(", which is not a multiple of ") != std::string::npos) return Status::kMisalignedAddress;
  if (fault.find(" bytes at ") != std::string::npos) return Status::kIllegalAddress;
  return Status::kLaunchFailure;
}

}  // namespace terrace::cuda
