#include "exchange.h"

#if defined(__linux__)

#include <algorithm>
#include <cerrno>

#include "../kernels/fold.h"
#include "../tuning.h"

namespace coll {
namespace {

bool announces(const Peer& peer, Agreement agreement) {
  return agreement == Agreement::kAnnounced || (agreement == Agreement::kGathered && peer.kinship != Kinship::kNone);
}

HeaderTime header_time(const Peer& peer, Agreement agreement) {
  if (!announces(peer, agreement) && peer.sent.empty()) return HeaderTime::kNever;
  return agreement == Agreement::kGathered && announces(peer, agreement) ? HeaderTime::kOnRelease : HeaderTime::kAtOnce;
}

}  // namespace

Exchange::Exchange(std::vector<std::unique_ptr<Channel>> channels, const Portions& portions, std::function<void(int rank, int error)> lost)
    : lost_(std::move(lost)) {
  for (std::unique_ptr<Channel>& channel : channels) {
    links_.push_back(channel ? std::make_unique<Link>(std::move(channel), portions) : nullptr);
  }
}

void Exchange::begin(const MessageProgram& program, const Offer& offer, const MessageHeader& header) {
  program_ = &program;
  values_.begin(program, offer);
  combining_.fit(program);
  local_ = 0;
  moved_bytes_ = 0;
  has_received_ = false;
  agreement_ = program.agreement == Agreement::kImplied && offer.length == 0 ? Agreement::kGathered : program.agreement;
  children_agree_ = false;
  all_agree_ = program.peers.empty() || agreement_ == Agreement::kImplied;
  for (const Peer& peer : program.peers) {
    link_with(peer.rank).out.begin(peer, values_, header, header_time(peer, agreement_));
    link_with(peer.rank).in.begin(peer, program, values_, header, announces(peer, agreement_) || !peer.received.empty());
  }
  if (!all_agree_) agree();
}

Exchange::Outcome Exchange::advance() {
  bool has_moved = false;
  bool is_done = true;
  for (const Peer& peer : program_->peers) {
    Link& link = link_with(peer.rank);
    if (!link.out.is_done()) {
      const ssize_t sent = link.out.send();
      if (sent < 0) return lose(peer.rank, errno);
      has_moved = has_moved || sent > 0;
      moved_bytes_ += static_cast<std::size_t>(sent);
    }
    is_done = is_done && link.out.is_done();
  }
  for (const Peer& peer : program_->peers) {
    Incoming& in = link_with(peer.rank).in;
    // The header of this peer may have arrived together with data of an earlier collective.
    if (in.disagrees()) return disagree(peer.rank);
    if (in.is_done()) continue;
    const ssize_t received = in.receive(in.has_message() ? writable(program_->steps[in.step()]) : 0);
    if (received < 0) return lose(peer.rank, errno);
    moved_bytes_ += static_cast<std::size_t>(received);
    has_received_ = has_received_ || received > 0;
    has_moved = execute_received() || received > 0 || has_moved;
    if (in.disagrees()) return disagree(peer.rank);
    is_done = is_done && in.is_done();
  }
  if (!all_agree_) has_moved = agree() || has_moved;
  has_moved = execute_local() || has_moved;
  if (is_done && all_agree_ && local_ == program_->local.size()) return Outcome::kDone;
  return has_moved ? Outcome::kMoved : Outcome::kStuck;
}

int Exchange::awaited_rank() const {
  const auto awaits = [&](const Peer& peer) { return !link_with(peer.rank).in.is_done(); };
  const auto peer = std::find_if(program_->peers.begin(), program_->peers.end(), awaits);
  return peer == program_->peers.end() ? -1 : peer->rank;
}

Exchange::Outcome Exchange::lose(int rank, int error) {
  if (lost_) lost_(rank, error);
  return Outcome::kLost;
}

Exchange::Outcome Exchange::disagree(int rank) { return link_with(rank).in.is_garbled() ? lose(rank, EBADMSG) : Outcome::kDisagreed; }

bool Exchange::has_header_of(const Peer& peer) const {
  const Incoming& in = link_with(peer.rank).in;
  return in.has_header() && !in.disagrees();
}

bool Exchange::has_headers_of(Kinship kinship) const {
  return std::all_of(program_->peers.begin(), program_->peers.end(), [&](const Peer& peer) { return peer.kinship != kinship || has_header_of(peer); });
}

void Exchange::release(Kinship kinship) {
  for (const Peer& peer : program_->peers) {
    if (peer.kinship == kinship) link_with(peer.rank).out.release();
  }
}

// Checks whether all ranks agree. Returns whether this rank has learned something new.
bool Exchange::agree() {
  if (agreement_ == Agreement::kAnnounced) {
    all_agree_ = std::all_of(program_->peers.begin(), program_->peers.end(), [&](const Peer& peer) { return has_header_of(peer); });
    return all_agree_;
  }
  const bool did_children_agree = children_agree_;
  children_agree_ = children_agree_ || has_headers_of(Kinship::kChild);
  if (!children_agree_) return false;
  if (!did_children_agree) release(Kinship::kParent);
  all_agree_ = has_headers_of(Kinship::kParent);
  if (all_agree_) release(Kinship::kChild);
  return all_agree_ || !did_children_agree;
}

// The number of elements that a step may write into its value.
std::size_t Exchange::writable(const MessageStep& step) const {
  if (!all_agree_ && program_->values[step.value].where == Where::kOutput) return 0;
  std::size_t count = values_.count(step.value);
  for (std::size_t i = 0; i < step.departures.count; ++i) {
    const Departure& departure = program_->departures[step.departures.first + i];
    count = std::min(count, link_with(departure.to).out.sent(departure.index));
  }
  for (std::size_t i = 0; i < step.readers.count; ++i) {
    count = std::min(count, values_.ready(program_->readers[step.readers.first + i]));
  }
  return count;
}

bool Exchange::execute_received() {
  bool has_moved = false;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const Peer& peer : program_->peers) goes_on = execute_message(link_with(peer.rank).in) || goes_on;
    has_moved = has_moved || goes_on;
  }
  return has_moved;
}

bool Exchange::execute_message(Incoming& in) {
  if (!in.open()) return false;
  const MessageStep& step = program_->steps[in.step()];
  if (step.operands.count > 1) return execute_combination(in.step());
  const bool has_moved = in.copy(writable(step)) > 0;
  if (!values_.is_whole(step.value)) return has_moved;
  in.finish();
  return true;
}

// Executes a combination for the elements of which all operands have arrived.
bool Exchange::execute_combination(std::size_t index) {
  const MessageStep& step = program_->steps[index];
  const std::size_t done = values_.ready(step.value);
  std::size_t end = writable(step);
  for (std::size_t i = 0; i < step.operands.count; ++i) {
    const Operand& operand = program_->operands[step.operands.first + i];
    if (operand.rank == program_->rank) {
      end = std::min(end, values_.ready(step.own));
      continue;
    }
    Incoming& in = link_with(operand.rank).in;
    if (!in.open() || in.step() != index) return false;
    end = std::min(end, done + in.available());
  }
  if (end > done) combine(step, end - done);
  const bool is_whole = values_.is_whole(step.value);
  for (std::size_t i = 0; is_whole && i < step.operands.count; ++i) {
    const int rank = program_->operands[step.operands.first + i].rank;
    if (rank != program_->rank) link_with(rank).in.finish();
  }
  return is_whole || end > done;
}

void Exchange::combine(const MessageStep& step, std::size_t count) {
  while (count > 0) {
    const std::size_t done = values_.ready(step.value);
    const Values::MemoryRange into = values_.range_at(step.value, done);
    std::size_t part = std::min(count, into.count);
    for (std::size_t i = 0; i < step.operands.count; ++i) {
      const int rank = program_->operands[step.operands.first + i].rank;
      if (rank != program_->rank) {
        combining_.operands[i] = link_with(rank).in.elements();
        continue;
      }
      const Values::MemoryRange own = values_.range_at(step.own, done);
      combining_.operands[i] = own.at;
      part = std::min(part, own.count);
    }
    combining_.combine(*program_, step, into.at, part);
    for (std::size_t i = 0; i < step.operands.count; ++i) {
      const int rank = program_->operands[step.operands.first + i].rank;
      if (rank != program_->rank) link_with(rank).in.use(part);
    }
    values_.set_ready(step.value, done + part);
    count -= part;
  }
}

// Executes a part of the steps that need no message.
bool Exchange::execute_local() {
  std::size_t left = tuning::kLocalBytes;
  bool has_moved = false;
  while (local_ < program_->local.size() && left > 0) {
    const MessageStep& step = program_->steps[program_->local[local_]];
    const std::size_t done = values_.ready(step.value);
    const std::size_t end = writable(step);
    if (done == values_.count(step.value)) {
      ++local_;
      has_moved = true;
      continue;
    }
    if (done == end) break;
    const Values::MemoryRange into = values_.range_at(step.value, done);
    const Values::MemoryRange own = values_.range_at(step.own, done);
    const std::size_t part = std::min({into.count, own.count, end - done, std::max(left / values_.element_bytes(step.value), std::size_t{1})});
    combining_.operands[0] = own.at;
    if (program_->moves()) {
      if (own.at != into.at) coll::copy(into.at, own.at, part * values_.element_bytes(step.value));
    } else {
      combining_.combine(*program_, step, into.at, part);
    }
    values_.set_ready(step.value, done + part);
    left -= std::min(left, part * values_.element_bytes(step.value));
    has_moved = true;
  }
  return has_moved;
}

}  // namespace coll

#endif
