#include "comm/mpi/mpi_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/codes.h"
#include "comm/communicator.h"
#include "comm/mpi/mpi_error.h"

namespace dlo::comm {

namespace {

Header make_header(const MpiExchange::Request& request) {
  Header header;
  header.sequence = request.sequence;
  header.bytes = request.text.size();
  std::memcpy(header.name.data(), request.operation.data(),
              std::min(request.operation.size(), header.name.size() - 1));
  if (header.bytes <= Header::kInlineBytes) {
    std::memcpy(header.payload.data(), request.text.data(), request.text.size());
  }
  return header;
}

}  // namespace

std::string missing_members(const HeaderRound& headers, const MpiMembers& members) {
  std::vector<int> missing;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (!headers.arrived(i)) {
      missing.push_back(members.world_ranks[i]);
    }
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

MpiExchange::MpiExchange(std::shared_ptr<MpiState> state, Request request)
    : state_(std::move(state)),
      request_(std::move(request)),
      headers_(request_.members.peers, request_.members.position),
      texts_(request_.members.peers.size()),
      receives_(texts_.size(), MPI_REQUEST_NULL),
      sends_(texts_.size(), MPI_REQUEST_NULL) {
  rules_ = WaitRules{state_->signal.get(),
                     state_->clock,
                     state_->rank,
                     request_.operation,
                     -1,
                     request_.deadline,
                     request_.through_failures,
                     &request_.members.world_ranks};
}

Progress MpiExchange::progress() {
  try {
    return advance();
  } catch (const RunError& error) {
    return leave(rules_.raised(error.refusal()));
  }
}

Progress MpiExchange::advance() {
  if (stage_ == Stage::kBegin) {
    stage_ = Stage::kHeaders;
    headers_.begin(request_.comm->comm, request_.tag, make_header(request_));
  }
  if (stage_ == Stage::kHeaders && headers_.look()) {
    check_headers();
    begin_texts();
    stage_ = Stage::kTexts;
  }
  if (stage_ == Stage::kTexts && look_at_texts()) {
    return Progress::kDone;
  }
  if (const auto failure = rules_.failure()) {
    return leave(*failure);
  }
  return rules_.expired() ? leave(rules_.timed_out(missing())) : Progress::kPending;
}

Progress MpiExchange::leave(const Refusal& refusal) {
  status_ = refusal;
  request_.comm->kept.store(true);
  const bool headers_free = headers_.cancel();
  const bool texts_free = cancel_texts();
  return headers_free && texts_free ? Progress::kDone : Progress::kAbandoned;
}

std::string MpiExchange::missing() const {
  return stage_ == Stage::kHeaders ? missing_members(headers_, request_.members) : "";
}

void MpiExchange::check_headers() const {
  const Header& mine = headers_.of(request_.members.position);
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    const Header& other = headers_.of(i);
    if (other.sequence != mine.sequence || other.name != mine.name) {
      throw RunError(refuse(
          codes::kScheduleMismatch,
          fmt::format("rank {} exchanges '{}' (number {}) while rank {} exchanges '{}' (number {})",
                      state_->rank, mine.name.data(), mine.sequence,
                      request_.members.world_ranks[i], other.name.data(), other.sequence),
          "control exchange", "start every rank with the same binary and arguments"));
    }
  }
}

void MpiExchange::begin_texts() {
  const MPI_Comm comm = request_.comm->comm;
  const int tag = request_.tag + 1;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const Header& header = headers_.of(i);
    if (i == request_.members.position) {
      texts_[i] = request_.text;
    } else if (header.bytes <= Header::kInlineBytes) {
      texts_[i].assign(header.payload.data(), header.bytes);
    } else {
      texts_[i].resize(header.bytes);
      check_mpi("MPI_Irecv", MPI_Irecv(texts_[i].data(), static_cast<int>(header.bytes), MPI_BYTE,
                                       request_.members.peers[i], tag, comm, &receives_[i]));
    }
    if (i != request_.members.position && request_.text.size() > Header::kInlineBytes) {
      check_mpi("MPI_Isend", MPI_Isend(request_.text.data(), static_cast<int>(request_.text.size()),
                                       MPI_BYTE, request_.members.peers[i], tag, comm, &sends_[i]));
    }
  }
}

bool MpiExchange::look_at_texts() {
  bool complete = true;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const bool received = test_request(receives_[i]);
    const bool sent = test_request(sends_[i]);
    complete = complete && received && sent;
  }
  return complete;
}

bool MpiExchange::cancel_texts() {
  bool free = true;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    free = cancel_receive(receives_[i]) && sends_[i] == MPI_REQUEST_NULL && free;
  }
  return free;
}

Result<std::vector<std::string>> run_exchange(const std::shared_ptr<MpiState>& state,
                                              MpiExchange::Request request) {
  require(request.text.size() <= kControlBytesMax, "a control text is too long");
  if (request.members.peers.size() == 1) {
    return std::vector<std::string>{std::move(request.text)};
  }
  const Deadline end = Deadline::after(request.deadline.at, kStuckGrace);
  const auto comm = request.comm;
  const auto name = request.operation;
  const auto exchange = std::make_shared<MpiExchange>(state, std::move(request));
  state->thread->submit(exchange);
  if (!exchange->await(end, *state->clock, [&state] { state->thread->tick(); })) {
    comm->kept.store(true);
    state->thread->mark_broken();
    return refuse(codes::kDeadlineExceeded, "the MPI thread does not answer",
                  fmt::format("{} on rank {}", name, state->rank),
                  "check the network between the nodes");
  }
  if (!exchange->status().ok()) {
    return exchange->status().refusal();
  }
  return exchange->take_texts();
}

}  // namespace dlo::comm
