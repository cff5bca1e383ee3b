#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "../libraries/mpi.h"
#include "failure.h"

namespace coll {

using Bytes = std::vector<std::byte>;

// The messages between ranks of a group other than their collectives.
enum class Note { kFailure = 1, kQuery, kArrived, kLeft, kPost };

struct Received {
  Note note;
  int source;
  Bytes bytes;
};

// Sends and receives the notes of one rank, over a communicator of their own.
class Control {
 public:
  Control(Mpi& mpi, MpiHandle comm) : mpi_(mpi), comm_(comm) {}

  void send(int to, Note note, Bytes bytes);
  // The next note that has arrived completely.
  std::optional<Received> receive();
  // Makes progress on the notes that are being sent. Returns whether all of them were sent.
  bool flush();

 private:
  struct Outgoing {
    Bytes bytes;
    MpiRequest request{};
  };

  Mpi& mpi_;
  MpiHandle comm_;
  // Kept in lists, because MPI keeps the addresses of requests.
  std::list<Outgoing> outgoing_;
  std::optional<Received> incoming_;
  MpiRequest incoming_request_{};
};

Bytes encode(const Failure& failure);
Failure decode_failure(const Bytes& bytes);
Bytes encode(std::uint64_t number);
std::uint64_t decode_number(const Bytes& bytes);

}  // namespace coll
