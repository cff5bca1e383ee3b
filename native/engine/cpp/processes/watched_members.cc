#if defined(__linux__)

#include "watched_members.h"

#include <algorithm>

#include "../sealing/checksummed_stream.h"
#include "../sealing/sealed_stream.h"

namespace coll {

namespace {

std::unique_ptr<Stream> control_stream(const Watch& watch, std::size_t rank) {
  if (rank < watch.checksummed.size() && watch.checksummed[rank]) return std::make_unique<ChecksummedStream>(watch.sockets[rank]);
  if (rank >= watch.seals.size() || !watch.seals[rank]) return nullptr;
  const SealedEnd end = static_cast<std::size_t>(watch.rank) > rank ? SealedEnd::kConnecting : SealedEnd::kAccepting;
  return std::make_unique<SealedStream>(watch.sockets[rank], end, *watch.seals[rank]);
}

}  // namespace

WatchedMembers::WatchedMembers(const Watch& watch, Clock::time_point now) {
  for (std::size_t rank = 0; rank < watch.sockets.size(); ++rank) {
    members_.emplace_back();
    members_.back().control = std::make_unique<ControlConnection>(watch.sockets[rank], control_stream(watch, rank));
    members_.back().heard = now;
  }
}

void WatchedMembers::tell_all(const std::string& frame, int except) {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (static_cast<int>(rank) != except) members_[rank].control->send(frame);
  }
}

bool WatchedMembers::have_news() {
  polled_.clear();
  for (const WatchedMember& member : members_) {
    if (member.is_connected()) polled_.push_back({member.control->socket(), POLLIN, 0});
  }
  return poll(polled_.data(), polled_.size(), 0) > 0;
}

bool WatchedMembers::have_unsent() const {
  return std::any_of(members_.begin(), members_.end(), [](const WatchedMember& member) { return member.is_connected() && member.control->has_unsent(); });
}

bool WatchedMembers::are_gone() const {
  return std::none_of(members_.begin(), members_.end(), [](const WatchedMember& member) { return member.is_connected(); });
}

std::ptrdiff_t WatchedMembers::watched() const {
  return std::count_if(members_.begin(), members_.end(), [](const WatchedMember& member) { return member.is_watched(); });
}

// A lost rank reports nothing, and a rank that has left has nothing to report.
bool WatchedMembers::have_announced(const Failure& failure, const Roll& announced) const {
  const int lost = failure.kind == FailureKind::kLost ? failure.rank : -1;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (!members_[rank].is_out() && !announced.has(rank) && static_cast<int>(rank) != lost) return false;
  }
  return true;
}

bool WatchedMembers::have_completed(std::uint64_t collectives, int own) const {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    const WatchedMember& member = members_[rank];
    if (static_cast<int>(rank) != own && !member.is_out() && member.completed < collectives) return false;
  }
  return true;
}

}  // namespace coll

#endif
