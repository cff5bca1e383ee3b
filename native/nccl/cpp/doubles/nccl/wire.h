#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../../libraries/nccl_library.h"

// The messages between ranks and the coordinator of a communicator, over a socket of this machine.
namespace coll::doubles {

constexpr std::size_t kTextBytes = 160;

struct Handshake {
  int size;
  int rank;
  int version;
  int device;
  char host[64];
};

// Further requests that ranks make together, numbered after NCCL's five kinds.
constexpr int kConnect = 5;
constexpr int kSplit = 6;
// Messages between two ranks.
constexpr int kSend = 7;
constexpr int kReceive = 8;

// A request of a rank. All ranks must make the same one, except for color and key, and except for
// messages, whose `root` is the other rank.
struct Request {
  int kind;
  int dtype;
  int op;
  int root;
  std::uint64_t count;
  std::uint64_t sequence;
  int color;
  int key;
  std::uint64_t input_bytes;
};

struct Reply {
  nccl::Result result;
  char text[kTextBytes];
  std::uint64_t bytes;
};

struct SplitReply {
  int rank;
  int size;
  nccl::UniqueId id;
};

// A connection. False and -1 mean that it is lost or was aborted.
struct Wire {
  int socket = -1;
  // A flag that is checked while waiting and ends the wait; null if the wait cannot be aborted.
  const std::atomic<bool>* gives_up = nullptr;

  bool send(const void* data, std::size_t bytes) const;
  bool receive(void* data, std::size_t bytes) const;
};

// Listens at a socket, whose name is stored in the id.
int listen_for(nccl::UniqueId& id);
int connect_to(const nccl::UniqueId& id);

void set_text(Reply& reply, const std::string& text);

}  // namespace coll::doubles
