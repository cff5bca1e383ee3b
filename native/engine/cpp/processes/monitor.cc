#if defined(__linux__)

#include "monitor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "../error.h"

namespace coll {
namespace {

using std::chrono::milliseconds;

constexpr int kBeatsInSilence = 5;
// Time for the other members to read that this rank leaves, if the group has failed.
constexpr milliseconds kParting{500};
// Time between two checks if something is about to happen.
constexpr milliseconds kSoon{10};
// Time between two checks of the data connections. Calls that wait for one do not wait for these.
constexpr milliseconds kDataCheck{1000};
// Time for the control connection to show why a data connection has ended.
constexpr milliseconds kSuspicion{300};
constexpr milliseconds kShortWait{25};
// The number of ranks up to which messages are passed on at once. Larger groups collect messages
// for a while and pass them on together.
constexpr std::size_t kMostRanksWithoutBatch = 8;
constexpr milliseconds kBatch{10};
// More silences are not kept until somebody asks for them.
constexpr std::size_t kMostSilences = 64;

// Waits in short steps: if this process or the whole machine pauses, only one step passes, and the
// others keep their time.
template <class IsOver>
void await(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, milliseconds patience, IsOver is_over) {
  for (auto left = patience; !changed.wait_for(lock, std::min(left, kShortWait), is_over) && left > kShortWait;) left -= kShortWait;
}

}  // namespace

Monitor::Monitor(Watch watch, Calls& calls, FailureWord& word)
    : watch_(std::move(watch)), calls_(calls), word_(word), peers_(watch_, Clock::now()),
      batch_(watch_.sockets.size() <= kMostRanksWithoutBatch ? milliseconds(0) : kBatch), opened_(watch_.sockets.size()), announced_(watch_.sockets.size()),
      questions_(watch_.sockets.size()), last_turn_(Clock::now()) {
  // A rank that is stopped or cut off for less than the limit may have sent its last beat one
  // interval earlier, and is heard again a moment later.
  for (WatchedMember& peer : peers_) peer.patience = watch_.silence + watch_.silence / kBeatsInSilence + peer.control->delay_after(watch_.silence);
  event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_ < 0) throw Error(std::string("cannot create an event descriptor: ") + std::strerror(errno));
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    close(event_);
    throw;
  }
}

Monitor::~Monitor() {
  {
    const Lock lock(mutex_);
    must_end_ = true;
  }
  wake();
  thread_.join();
  close(event_);
}

void Monitor::tell_opened() {
  const Lock lock(mutex_);
  opened_.add(static_cast<std::size_t>(watch_.rank));
  // Sends this at once: the other members must know it even if this process ends right after it has
  // opened the group.
  pass_on_opened();
  send_now();
}

std::vector<int> Monitor::unopened() {
  const Lock lock(mutex_);
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (static_cast<int>(rank) != watch_.rank && !opened_.has(rank)) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

std::vector<int> Monitor::leavers() {
  const Lock lock(mutex_);
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (peers_[rank].has_left) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

void Monitor::enclose(int ranks) {
  const Lock lock(mutex_);
  enclosing_ = ranks;
}

void Monitor::serve(std::shared_ptr<DataConnections> data) {
  const Lock lock(mutex_);
  data_ = std::move(data);
}

void Monitor::fail(Failure failure) {
  const Lock lock(mutex_);
  failure.after = calls_.current();
  adopt(failure);
  send_now();
}

bool Monitor::catch_up() {
  Lock lock(mutex_);
  while (!failure_ && peers_.have_news()) {
    const std::uint64_t turn = turns_;
    wake();
    if (!changed_.wait_for(lock, watch_.silence, [&] { return turns_ != turn || has_ended_; }) || has_ended_) break;
  }
  return failure_.has_value();
}

void Monitor::suspect(int rank, int error) {
  const Lock lock(mutex_);
  suspicion_ = std::string("a data connection has ended: ") + (error == 0 ? "it was closed too early" : std::strerror(error));
  suspected_ = {rank};
  WatchedMember& peer = peers_[static_cast<std::size_t>(rank)];
  if (!peer.suspected) peer.suspected = Clock::now();
  wake();
}

void Monitor::fail_for_garbled(int rank) {
  const std::string what = "sent corrupt or foreign bytes over a data connection: find what alters the data on the way or writes to that connection";
  fail({FailureKind::kFailed, rank, what, 0, {watch_.rank}});
}

void Monitor::fail_for_leaver() {
  const Lock lock(mutex_);
  const auto leaver = std::find_if(peers_.begin(), peers_.end(), [](const WatchedMember& peer) { return peer.has_left; });
  if (leaver == peers_.end()) return;
  adopt({FailureKind::kClosed, static_cast<int>(leaver - peers_.begin()), kHasLeft, calls_.current()});
  send_now();
}

Failure Monitor::settled_failure() {
  Lock lock(mutex_);
  wake();
  await(changed_, lock, kSuspicion + watch_.settling + milliseconds(100), [this] { return is_decided_ || has_ended_; });
  // No member has reported a reason: an executor has found a failure that no connection shows.
  if (!failure_) adopt({FailureKind::kFailed, watch_.rank, "cannot continue: " + suspicion_, 0, suspected_});
  send_now();
  decide();
  return *failure_;
}

void Monitor::ask(std::uint64_t sequence, milliseconds recently) {
  const Lock lock(mutex_);
  Question& question = questions_.about(sequence);
  const bool is_recent = question.round > 0 && Clock::now() - question.begun < recently;
  if (!is_recent) begin_round(question, {sequence, question.round + 1}, -1);
  asked_ = sequence;
  asked_round_ = question.round;
  if (!is_recent) send_now();
}

std::vector<std::optional<Answer>> Monitor::answers(milliseconds patience) {
  Lock lock(mutex_);
  await(changed_, lock, patience, [this] { return have_answered() || failure_ || has_ended_; });
  return questions_.about(asked_).answers;
}

void Monitor::leave(milliseconds delay) {
  const Lock lock(mutex_);
  const auto now = Clock::now();
  leaves_at_ = std::min(leaves_at_.value_or(now + delay), now + delay);
  if (is_leaving_due(now)) begin_leaving();
  wake();
}

// Without other members, nobody needs the reason.
bool Monitor::is_leaving_due(Clock::time_point now) const {
  const auto is_out = [](const WatchedMember& peer) { return peer.is_out(); };
  const auto out = std::count_if(peers_.begin(), peers_.end(), is_out);
  const bool is_alone = out + 1 >= static_cast<std::ptrdiff_t>(peers_.size());
  return leaves_at_ && (now >= *leaves_at_ || failure_ || is_alone);
}

void Monitor::begin_leaving() {
  if (leaving_since_) return;
  leaving_since_ = Clock::now();
  peers_[static_cast<std::size_t>(watch_.rank)].collectives = calls_.current();
  peers_.tell_all(left_frame({watch_.rank, calls_.current()}));
  send_now();
}

void Monitor::fail_here(const std::string& how) {
  fail({FailureKind::kFailed, watch_.rank, how});
}

std::vector<Silence> Monitor::take_silences() {
  const Lock lock(mutex_);
  return std::exchange(silences_, {});
}

void Monitor::run() {
  try {
    while (watch()) continue;
  } catch (const std::exception&) {
    // Out of memory. Without its monitor, the group cannot continue.
    word_.store(1, std::memory_order_seq_cst);
  }
  const Lock lock(mutex_);
  for (WatchedMember& peer : peers_) peer.control->close();
  has_ended_ = true;
  changed_.notify_all();
  if (!must_end_ && watch_.parted) watch_.parted();
}

// Handles the next event. Returns false after the last one.
bool Monitor::watch() {
  await_events();
  const Lock lock(mutex_);
  turn(Clock::now());
  return !must_end_ && !has_parted(last_turn_);
}

void Monitor::turn(Clock::time_point now) {
  const bool was_stopped = now - last_turn_ > watch_.silence / 2;
  const bool was_cut_off = are_all_silent(now);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    WatchedMember& peer = peers_[rank];
    if (!peer.is_connected()) continue;
    // If this process was stopped, it could not hear any member.
    if (was_stopped) peer.heard = now;
    read(static_cast<int>(rank), now);
  }
  // The same holds for a process that was cut off from the network: afterwards, it hears some
  // members sooner than others.
  if (was_cut_off && !are_all_silent(now)) {
    for (WatchedMember& peer : peers_) peer.heard = now;
  }
  last_turn_ = now;
  if (pending_ && calls_.current() >= pending_->after) adopt(*pending_);
  look_after(now);
  if (is_leaving_due(now)) begin_leaving();
  serve_data();
  if (is_settled(now)) decide();
  pass_on_opened();
  pass_on_completed();
  end_connections();
  flush(now);
  ++turns_;
  changed_.notify_all();
}

void Monitor::await_events() {
  std::vector<pollfd> events{{event_, POLLIN, 0}};
  milliseconds longest = watch_.silence / kBeatsInSilence;
  {
    const Lock lock(mutex_);
    bool is_soon = (failure_ ? !is_decided_ : pending_.has_value()) || leaves_at_ || announced_completed_ < owed_;
    is_soon = is_soon || peers_.have_unsent() || announced_.has_changed();
    for (const WatchedMember& peer : peers_) {
      is_soon = is_soon || (peer.suspected && !peer.is_out());
      if (!peer.is_connected()) continue;
      events.push_back({peer.control->socket(), static_cast<short>(peer.control->is_blocked() ? POLLIN | POLLOUT : POLLIN), 0});
    }
    if (data_) longest = std::min(longest, kDataCheck);
    if (is_soon) longest = std::min(longest, kSoon);
  }
  poll(events.data(), events.size(), static_cast<int>(std::max<std::int64_t>(longest.count(), 1)));
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = ::read(event_, &count, sizeof count);
}

void Monitor::read(int rank, Clock::time_point now) {
  WatchedMember& peer = peers_[static_cast<std::size_t>(rank)];
  bool goes_on = true;
  do {
    goes_on = peer.control->read();
    while (const std::optional<Frame> frame = peer.control->next()) {
      if (now - peer.heard >= watch_.silence / 2 && silences_.size() < kMostSilences)
        silences_.push_back({rank, std::chrono::duration_cast<milliseconds>(now - peer.heard)});
      peer.heard = now;
      take(rank, *frame);
    }
  } while (goes_on && peer.control->has_more());
  const bool is_broken = peer.control->is_broken();
  if (goes_on && !is_broken) return;
  if (!peer.has_left) {
    const std::string own = std::to_string(watch_.rank);
    lose(rank, is_broken ? "corrupt or foreign bytes arrived over its control connection with rank " + own + ": find what alters the data on the way or writes to that connection"
                         : "its process or its connection has ended");
    // If the lost process still runs, it learns why it was excluded.
    peer.control->flush();
  }
  peer.control->close();
}

void Monitor::lose(int rank, const std::string& how) {
  WatchedMember& peer = peers_[static_cast<std::size_t>(rank)];
  peer.is_lost = true;
  // A rank that reported a failure ends because of that failure.
  const bool has_announced = peer.has_reported || announced_.has(static_cast<std::size_t>(rank));
  const bool is_explained = failure_ && (has_announced || is_decided_);
  const bool is_expected = peer.has_left || is_explained;
  if (is_expected) return;
  const Failure loss{FailureKind::kLost, rank, "was lost: " + how};
  // This rank leaves, so it needs nothing more of the lost rank, but other ranks may.
  if (leaving_since_) return spread(loss);
  // A reported failure explains why the connection has ended.
  if (pending_) adopt(*pending_);
  // The lost rank is informed as well: if it was only stopped, it learns why the group has failed.
  hear_of(loss);
}

void Monitor::look_after(Clock::time_point now) {
  if (now - last_beat_ >= watch_.silence / kBeatsInSilence) {
    last_beat_ = now;
    peers_.tell_all(beat_frame());
    // Members that wait for the group to open find out for whom.
    if (!opened_.is_complete() && opened_.take_change()) peers_.tell_all(opened_frame(opened_.bits()));
  }
  if (failure_ || leaving_since_) return;
  const auto over = std::find_if(peers_.begin(), peers_.end(), [&](const WatchedMember& peer) { return peer.is_watched() && now - peer.heard >= peer.patience; });
  // If this rank hears none of several others, it fails itself, not the rank that has been silent
  // for longest.
  if (over != peers_.end() && peers_.watched() > 1 && are_all_silent(now)) {
    const std::string how = "it has received nothing from any other rank for " + seconds_of(over->patience) + " seconds; it is cut off from the network, or all other ranks are";
    adopt({FailureKind::kLost, watch_.rank, "was lost: " + how});
    return;
  }
  // If several ranks fall silent together, this rank may have heard the last of them a beat later
  // than the first.
  const milliseconds earlier = over != peers_.end() ? watch_.silence / kBeatsInSilence * 5 / 4 : milliseconds(0);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    WatchedMember& peer = peers_[rank];
    if (peer.is_out()) continue;
    const auto quiet = std::chrono::duration_cast<milliseconds>(now - peer.heard);
    if (peer.is_watched() && quiet >= peer.patience - earlier) {
      const std::string time = seconds_of(std::min(quiet, peer.patience)) + " seconds";
      lose(static_cast<int>(rank), "it has sent nothing for " + time + "; it is stopped, or cut off from the network");
    } else if (peer.suspected && now - *peer.suspected >= kSuspicion) {
      lose(static_cast<int>(rank), "one of its data connections has ended");
    }
  }
}

// After a failure, no call needs a connection that is not made yet; nor does any rank need one with
// a rank that leaves.
void Monitor::serve_data() {
  if (!data_) return;
  if (!failure_ && !leaving_since_) return data_->turn();
  data_->close();
  data_.reset();
}

// Adopts a failure that another rank reports. A rank may fail after its part of a collective,
// before the others have completed it: they complete it first, because they need nothing more of
// that rank.
void Monitor::hear_of(const Failure& failure) {
  spread(failure);
  if (!failure_ && calls_.current() < failure.after) {
    if (!pending_ || failure < *pending_) pending_ = failure;
    return;
  }
  adopt(failure);
  if (!is_decided_ && failure < *failure_) failure_ = failure;
}

// Sends a failure to the neighbours, unless it changes nothing for them.
void Monitor::spread(const Failure& failure) {
  if (!is_news(failure)) return;
  peers_.tell_all(failure_frame(failure));
  is_urgent_ = true;
}

// Only the first failure in the order counts, but all losses are named. If members find different
// reasons for a loss, all of them use the same one.
bool Monitor::is_news(const Failure& failure) {
  if (failure.kind != FailureKind::kLost) {
    const bool is_first = !spread_ || failure < *spread_;
    if (is_first) spread_ = failure;
    return is_first;
  }
  if (peers_.has(failure.rank)) peers_[static_cast<std::size_t>(failure.rank)].is_lost = true;
  const auto [known, is_new] = lost_.emplace(failure.rank, failure.text);
  const bool is_first = is_new || failure.text < known->second;
  if (is_first) known->second = failure.text;
  return is_first;
}

// All members name all ranks that any member has found to be lost.
void Monitor::decide() {
  if (is_decided_) return;
  is_decided_ = true;
  auto& others = failure_->kind == FailureKind::kLost ? failure_->ranks : failure_->lost;
  others.clear();
  for (const auto& [rank, text] : lost_) {
    if (rank != failure_->rank && others.size() < kMostOtherRanks) others.push_back(rank);
  }
}

// Whether all watched ranks have been silent for half of the limit, so that beats of all of them
// are missing.
bool Monitor::are_all_silent(Clock::time_point now) const {
  return std::none_of(peers_.begin(), peers_.end(), [&](const WatchedMember& peer) { return peer.is_watched() && now - peer.heard < watch_.silence / 2; });
}

void Monitor::adopt(const Failure& failure) {
  if (failure_) return;
  failure_ = pending_ && *pending_ < failure ? *pending_ : failure;
  failed_at_ = Clock::now();
  spread(*failure_);
  announced_.add(static_cast<std::size_t>(watch_.rank));
  is_urgent_ = true;
  word_.store(1, std::memory_order_seq_cst);
}

bool Monitor::is_settled(Clock::time_point now) const {
  return failure_ && (now - failed_at_ >= watch_.settling || peers_.have_announced(*failure_, announced_));
}

bool Monitor::has_parted(Clock::time_point now) const {
  const milliseconds longest = failure_ ? kParting : std::min(watch_.silence, watch_.longest_parting);
  return leaving_since_ && (now - *leaving_since_ >= longest || peers_.are_gone());
}

void Monitor::send_now() {
  is_urgent_ = true;
  flush(Clock::now());
  wake();
}

void Monitor::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_, &one, sizeof one);
}

}  // namespace coll

#endif
