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

// A collective under way at one rank. All work continues as soon as it can, element by element: a
// value is sent as far as it is ready, and written as far as the previous contents of that memory
// have been sent. The first unfinished step, in the order of rounds and steps, waits only for the
// peers, so every exchange ends. Outputs are written, and the collective ends, only when all ranks
// are known to ask for the same collective.
class Exchange {
 public:
  enum class Outcome { kDone, kMoved, kStuck, kDisagreed, kLost };

  // Sizes per peer.
  struct Portions {
    std::size_t inbox_bytes;  // the inbox, in which data waits until it is combined
    Burst burst;
  };

  // Channels by rank; null for one's own rank.
  Exchange(std::vector<std::unique_ptr<Channel>> channels, const Portions& portions, std::function<void(int rank, int error)> lost);

  // The program and the offer's memory must exist until the next begin().
  void begin(const MessageProgram& program, const Offer& offer, const MessageHeader& header);
  // Does all work that is possible without waiting.
  Outcome advance();
  // Bytes sent and received since begin().
  std::size_t moved_bytes() const { return moved_bytes_; }
  bool has_received() const { return has_received_; }
  // The first rank whose data this rank waits for; -1 if it waits for none.
  int awaited_rank() const;
  const Values& values() const { return values_; }

  // Calls `to_send(channel)` and `to_receive(channel)` with the channels that the collective waits
  // for.
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
  bool has_header_of(const Peer& peer) const;
  bool has_headers_of(Kinship kinship) const;
  bool agree();
  void release(Kinship kinship);
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
  std::size_t local_ = 0;  // number of `local` steps that are done
  std::size_t moved_bytes_ = 0;
  bool has_received_ = false;  // since begin()
  Agreement agreement_ = Agreement::kAnnounced;
  bool children_agree_ = false;  // and so do all ranks below them in the tree
  bool all_agree_ = false;
};

}  // namespace coll

#endif
