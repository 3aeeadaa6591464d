#include "comm/mpi/mpi_gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/codes.h"
#include "comm/mpi/mpi_error.h"
#include "comm/mpi/mpi_exchange.h"

namespace dlo::comm {

namespace {

constexpr int kHeaderTag = 1;

using LabelWords = std::array<std::int32_t, 5>;

LabelWords words_of(const platform::OpLabel& label) {
  return {static_cast<std::int32_t>(label.site), label.ring, label.block, label.slot, label.chunk};
}

platform::OpLabel label_of(const Header& header) {
  LabelWords words{};
  std::memcpy(words.data(), header.payload.data(), sizeof(words));
  return {static_cast<platform::Site>(words[0]), words[1], words[2], words[3], words[4]};
}

Header make_header(const MpiGather::Call& call) {
  Header header;
  header.sequence = call.sequence;
  header.bytes = call.input.bytes;
  const LabelWords words = words_of(call.label);
  std::memcpy(header.payload.data(), words.data(), sizeof(words));
  return header;
}

}  // namespace

MpiGather::MpiGather(std::shared_ptr<MpiState> state, std::shared_ptr<MpiCommHandle> comm,
                     MpiMembers members)
    : state_(std::move(state)),
      comm_(std::move(comm)),
      members_(std::move(members)),
      headers_(members_.peers, members_.position),
      // Not initialised on purpose: pages that no gather needs are never touched.
      staging_(new std::byte[kChunkBytes * (members_.peers.size() + 1)]) {}

Status MpiGather::run(const std::shared_ptr<MpiGather>& self, const Call& call) {
  if (self->broken_.load()) {
    const auto standing = self->state_->signal->poll();
    return standing ? standing->refusal() : self->aborted_refusal();
  }
  if (self->members_.peers.size() == 1) {
    if (call.input.bytes > 0) {
      std::memcpy(call.output.data, call.input.data, call.input.bytes);
    }
    return {};
  }
  self->call_ = call;
  self->rules_ = WaitRules{self->state_->signal.get(),
                           self->state_->clock,
                           self->state_->rank,
                           "gather",
                           call.label.block,
                           call.deadline,
                           false,
                           &self->members_.world_ranks};
  self->stage_ = Stage::kBegin;
  self->done_bytes_ = 0;
  self->rearm();
  self->state_->thread->submit(self);
  MpiThread& thread = *self->state_->thread;
  const Deadline end = Deadline::after(call.deadline.at, kStuckGrace);
  if (!self->await(end, *self->state_->clock, [&thread] { thread.tick(); })) {
    const std::lock_guard lock(self->spans_mutex_);
    self->caller_left_ = true;
    self->broken_.store(true);
    self->comm_->kept.store(true);
    thread.mark_broken();
    return self->rules_.raised(refuse(codes::kDeadlineExceeded, "the MPI thread does not answer",
                                      fmt::format("gather on rank {}", self->state_->rank),
                                      "check the network between the nodes"));
  }
  return self->status_;
}

Progress MpiGather::progress() {
  try {
    return advance();
  } catch (const RunError& error) {
    return leave(rules_.raised(error.refusal()));
  }
}

Progress MpiGather::advance() {
  if (aborted_.load()) {
    return leave(aborted_refusal());
  }
  if (stage_ == Stage::kBegin) {
    stage_ = Stage::kHeaders;
    headers_.begin(comm_->comm, kHeaderTag, make_header(call_));
  }
  if (stage_ == Stage::kHeaders && headers_.look()) {
    check_headers();
    stage_ = Stage::kChunk;
    if (!begin_chunk()) {
      return Progress::kDone;
    }
  }
  if (stage_ == Stage::kChunk && test_request(request_)) {
    end_chunk();
    if (!begin_chunk()) {
      return Progress::kDone;
    }
  }
  if (const auto failure = rules_.failure()) {
    return leave(*failure);
  }
  return rules_.expired() ? leave(rules_.timed_out(missing())) : Progress::kPending;
}

void MpiGather::check_headers() const {
  const Header& mine = headers_.of(members_.position);
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    const Header& other = headers_.of(i);
    const bool in_step = other.sequence == mine.sequence && label_of(other) == call_.label;
    if (in_step && other.bytes == mine.bytes) {
      continue;
    }
    // Named from the lower position on, so that both sides say the same.
    const std::size_t a = std::min(i, members_.position);
    const std::size_t b = std::max(i, members_.position);
    throw RunError(
        refuse(in_step ? codes::kCollectiveFailed : codes::kScheduleMismatch,
               fmt::format("rank {} gathers {} bytes as '{}' (collective {}), rank {} gathers {} "
                           "bytes as '{}' (collective {})",
                           members_.world_ranks[a], headers_.of(a).bytes,
                           label_text(label_of(headers_.of(a))), headers_.of(a).sequence,
                           members_.world_ranks[b], headers_.of(b).bytes,
                           label_text(label_of(headers_.of(b))), headers_.of(b).sequence),
               "all_gather", "report this as a bug"));
  }
}

bool MpiGather::begin_chunk() {
  chunk_bytes_ = std::min<std::uint64_t>(call_.input.bytes - done_bytes_, kChunkBytes);
  if (chunk_bytes_ == 0) {
    return false;
  }
  {
    const std::lock_guard lock(spans_mutex_);
    if (caller_left_) {
      return false;
    }
    std::memcpy(staging_.get(), call_.input.data + done_bytes_, chunk_bytes_);
  }
  const int count = static_cast<int>(chunk_bytes_);
  check_mpi("MPI_Iallgather",
            MPI_Iallgather(staging_.get(), count, MPI_BYTE, staging_.get() + kChunkBytes, count,
                           MPI_BYTE, comm_->comm, &request_));
  return true;
}

void MpiGather::end_chunk() {
  const std::lock_guard lock(spans_mutex_);
  for (std::size_t i = 0; i < members_.peers.size() && !caller_left_; ++i) {
    std::memcpy(call_.output.data + i * call_.input.bytes + done_bytes_,
                staging_.get() + kChunkBytes + i * chunk_bytes_, chunk_bytes_);
  }
  done_bytes_ += chunk_bytes_;
}

Progress MpiGather::leave(const Refusal& refusal) {
  status_ = refusal;
  const bool headers_free = headers_.cancel();
  const bool collective_open = request_ != MPI_REQUEST_NULL;
  broken_.store(true);
  comm_->kept.store(true);
  if (collective_open) {
    state_->thread->mark_broken();
  }
  return headers_free && !collective_open ? Progress::kDone : Progress::kAbandoned;
}

std::string MpiGather::missing() const {
  return stage_ == Stage::kHeaders ? missing_members(headers_, members_) : "";
}

Refusal MpiGather::aborted_refusal() const {
  return refuse(codes::kCollectiveFailed, "the communicator was aborted",
                fmt::format("gather on rank {}", state_->rank), "see the log of this rank");
}

}  // namespace dlo::comm
