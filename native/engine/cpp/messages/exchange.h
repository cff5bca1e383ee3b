#pragma once

#if defined(__linux__)

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "channel.h"
#include "combining.h"
#include "incoming.h"
#include "outgoing.h"
#include "values.h"

namespace coll {

// A collective under way at one rank. Everything goes on as soon as it can, element by element: a value is sent as far as it
// is ready, and written as far as what was there before has left. What comes first in the order of rounds and steps waits for nothing
// but the peers: that is why it ends. Outputs are written, and the collective ends, only when all ranks have said that they are at the same.
class Exchange {
 public:
  enum class Outcome { kDone, kMoved, kStuck, kDisagreed, kLost };

  // Of each peer.
  struct Portions {
    std::size_t inbox_bytes;  // what is to be combined waits there
    Burst burst;
  };

  // Channels by rank, null for one's own.
  Exchange(std::vector<std::unique_ptr<Channel>> channels, const Portions& portions, std::function<void(int rank, int error)> lost);

  // What is pointed at stays there until the next begin().
  void begin(const MessageProgram& program, const Offer& offer, const MessageHeader& header);
  // Does what can be done without waiting.
  Outcome advance();
  // Sent and received since begin().
  std::size_t moved_bytes() const { return moved_bytes_; }
  const Values& values() const { return values_; }

  // Hands those that the collective waits for to `to_send(channel)` and `to_receive(channel)`.
  template <class Send, class Receive>
  void visit_awaited(Send to_send, Receive to_receive) const {
    for (const Peer& peer : program_->peers) {
      const Link& link = link_with(peer.rank);
      if (link.out.is_blocked()) to_send(*link.channel);
      if (!link.in.is_done() && link.in.is_starved()) to_receive(*link.channel);
    }
  }

 private:
  struct Link {
    Link(std::unique_ptr<Channel> own, const Portions& portions)
        : channel(std::move(own)), out(*channel, portions.burst), in(*channel, portions.inbox_bytes) {}
    std::unique_ptr<Channel> channel;
    Outgoing out;
    Incoming in;
  };

  const Link& link_with(int rank) const { return *links_[static_cast<std::size_t>(rank)]; }
  Link& link_with(int rank) { return *links_[static_cast<std::size_t>(rank)]; }
  bool all_agree() const;
  std::size_t writable(const MessageStep& step) const;
  bool execute_received();
  bool execute_message(Incoming& in);
  bool execute_combination(std::size_t index);
  bool execute_local();
  void combine(const MessageStep& step, std::size_t count);
  Outcome lose(int rank, int error);
  Outcome disagree(int rank);

  std::vector<std::unique_ptr<Link>> links_;
  const std::function<void(int rank, int error)> lost_;
  const MessageProgram* program_ = nullptr;
  Values values_;
  Combining combining_;
  std::size_t local_ = 0;  // how many of those steps are done
  std::size_t moved_bytes_ = 0;
  bool all_agree_ = false;
};

}  // namespace coll

#endif
