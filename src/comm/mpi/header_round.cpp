#include "comm/mpi/header_round.h"

#include <utility>

#include "comm/mpi/mpi_error.h"

namespace dlo::comm {

bool test_request(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) {
    return true;
  }
  int done = 0;
  check_mpi("MPI_Test", MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

bool cancel_receive(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) {
    return true;
  }
  MPI_Cancel(&request);
  int done = 0;
  return MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
}

HeaderRound::HeaderRound(std::vector<int> peers, std::size_t position)
    : peers_(std::move(peers)),
      position_(position),
      received_(peers_.size()),
      receives_(peers_.size(), MPI_REQUEST_NULL),
      sends_(peers_.size(), MPI_REQUEST_NULL) {}

void HeaderRound::begin(MPI_Comm comm, int tag, const Header& mine) {
  comm_ = comm;
  tag_ = tag;
  mine_ = mine;
  received_[position_] = mine;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (i != position_) {
      receive(i);
    }
  }
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (i != position_) {
      check_mpi("MPI_Isend",
                MPI_Isend(&mine_, sizeof(Header), MPI_BYTE, peers_[i], tag_, comm_, &sends_[i]));
    }
  }
}

void HeaderRound::receive(std::size_t position) {
  check_mpi("MPI_Irecv", MPI_Irecv(&received_[position], sizeof(Header), MPI_BYTE, peers_[position],
                                   tag_, comm_, &receives_[position]));
}

bool HeaderRound::look() {
  bool complete = true;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const bool was_pending = receives_[i] != MPI_REQUEST_NULL;
    if (was_pending && test_request(receives_[i]) && received_[i].sequence < mine_.sequence) {
      receive(i);
    }
    const bool sent = test_request(sends_[i]);
    complete = complete && sent && receives_[i] == MPI_REQUEST_NULL;
  }
  return complete;
}

bool HeaderRound::arrived(std::size_t position) const {
  return receives_[position] == MPI_REQUEST_NULL;
}

bool HeaderRound::cancel() {
  bool free = true;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    free = cancel_receive(receives_[i]) && free;
    // A short message has left already; one that has not cannot be taken back.
    int sent = 1;
    if (sends_[i] != MPI_REQUEST_NULL) {
      MPI_Test(&sends_[i], &sent, MPI_STATUS_IGNORE);
    }
    free = free && sent != 0;
  }
  return free;
}

}  // namespace dlo::comm
