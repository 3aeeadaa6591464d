// Owns: HeaderRound, the first step of every exchange between ranks: each sends its fixed-size
// header to every other, so that who is missing, out of step or of another mind is known by name
// before any data moves.
// Must not own: what headers mean. Threading: on the MPI thread, text of missing ranks included.
// Failure: MPI's errors are thrown as RunError. Headers of rounds that a peer gave up are skipped.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dlo::comm {

struct Header {
  static constexpr std::size_t kInlineBytes = 160;

  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;      // of the payload or of the input
  std::array<char, 80> name{};  // zero-terminated
  std::array<char, kInlineBytes> payload{};
};
static_assert(sizeof(Header) == 256);

class HeaderRound {
 public:
  // `peers`: ranks inside the communicator, in group order; `position`: of this rank among them.
  HeaderRound(std::vector<int> peers, std::size_t position);

  void begin(MPI_Comm comm, int tag, const Header& mine);
  // True once all headers are here and this rank's are on their way.
  [[nodiscard]] bool look();
  // Ends what is pending. True when MPI uses none of the buffers any more.
  [[nodiscard]] bool cancel();

  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  [[nodiscard]] const Header& of(std::size_t position) const { return received_[position]; }
  [[nodiscard]] bool arrived(std::size_t position) const;

 private:
  void receive(std::size_t position);

  const std::vector<int> peers_;
  const std::size_t position_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int tag_ = 0;
  Header mine_;
  std::vector<Header> received_;
  std::vector<MPI_Request> receives_;
  std::vector<MPI_Request> sends_;
};

// Tests `request`; true when it is complete (or null).
[[nodiscard]] bool test_request(MPI_Request& request);
// Cancels a receive; true when MPI is through with it.
[[nodiscard]] bool cancel_receive(MPI_Request& request);

}  // namespace dlo::comm
