#include "message_executor.h"

#if defined(__linux__)

#include <algorithm>

#include "../threads/waiting.h"
#include "../tuning.h"

namespace coll {
namespace {

constexpr Exchange::Portions kPortions{tuning::kInboxBytes, {tuning::kBurstBytes, tuning::kBurstBytes}};
constexpr Exchange::Portions kCrowdedPortions{tuning::kCrowdedInboxBytes, {tuning::kCrowdedBurstBytes, tuning::kCrowdedCallBytes}};

}  // namespace

MessageExecutor::MessageExecutor(std::vector<std::unique_ptr<Channel>> channels, int rank, int size, const LocalRank& local, bool all_share_cores,
                             std::uint32_t generation, const FailureWord& failure, std::function<void(int rank, int error)> lost)
    : exchange_(std::move(channels), local.has_own_core() ? kPortions : kCrowdedPortions, std::move(lost)), small_all_reduce_(rank, size, all_share_cores),
      failure_(failure), rank_(rank), has_own_core_(local.has_own_core()), assigned_core_(local), generation_(generation) {}

Status MessageExecutor::execute(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice) {
  const Status status = advance(offer, patience, time_slice);
  wait_stamp_.end(status == Status::kDone);
  return status;
}

Status MessageExecutor::advance(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice) {
  if (has_failed()) return Status::kFailed;
  std::byte* const call = recorded_call();
  const bool begins = !is_under_way_;
  if (begins) begin(offer);
  Clock::time_point end{};
  for (int polls = 0;; ++polls) {
    const Exchange::Outcome outcome = exchange_.advance();
    switch (outcome) {
      case Exchange::Outcome::kDone:
        if (call != nullptr && polls > 0 && exchange_.has_received()) stamp_first_data(call, Clock::now());
        if (is_small_all_reduce_) small_all_reduce_.finish(offer, exchange_.values());
        is_under_way_ = false;
        came_last_ = begins && polls == 0;
        return Status::kDone;
      case Exchange::Outcome::kLost:
        return fail(Status::kFailed);
      case Exchange::Outcome::kDisagreed:
        return fail(Status::kDisagreed);
      default:
        break;
    }
    if (has_failed()) return Status::kFailed;
    const Clock::time_point now = Clock::now();
    if (polls == 0) end = now + time_slice;
    if (!has_own_core_) yield_regularly();
    if (call != nullptr && exchange_.has_received()) stamp_first_data(call, now);
    if (outcome == Exchange::Outcome::kMoved || polls == 0) {
      wait_stamp_.end(true);
      moved_ = now;
    } else {
      if (wait_stamp_.look(now)) wait_stamp_.record(exchange_.awaited_rank());
      wait(now, std::min(moved_ + patience, end));
    }
    if (now - moved_ >= patience) return Status::kWaiting;
    if (now >= end) return Status::kSlice;
  }
}

void MessageExecutor::begin(Offer& offer) {
  // The choice is kept while the collective runs and after it has failed, to find the ranks that
  // were missing.
  is_small_all_reduce_ = small_all_reduce_.suits(offer);
  program_ = is_small_all_reduce_ ? small_all_reduce_.program_for(offer) : offer.messages;
  MessageHeader header;
  header.generation = generation_;
  header.sequence = ++sequence_;
  header.fingerprint = offer.fingerprint;
  exchange_.begin(*program_, offer, header);
  yielded_bytes_ = 0;
  is_under_way_ = true;
}

Status MessageExecutor::fail(Status status) {
  is_under_way_ = false;
  is_broken_ = true;
  return status;
}

void MessageExecutor::abandon() {
  // The streams of an unfinished collective cannot be used for the next one.
  if (is_under_way_) fail(Status::kFailed);
}

void MessageExecutor::wait(Clock::time_point now, Clock::time_point deadline) {
  const auto idle = now - moved_;
  if (!has_own_core_) assigned_core_.go_back();
  if (has_own_core_ && idle > tuning::kLeavingCore && now - left_core_ > tuning::kLeastStay) avoid_shared_core(now);
  if (has_own_core_ && idle < tuning::kSpinning) {
    pause();
  } else if (idle < tuning::kYielding) {
    yield();
  } else if (now < deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now).count() + 1;
    sleep(static_cast<int>(std::min<long long>(left, tuning::kProcessSleepMillis)));
  }
}

void MessageExecutor::yield_regularly() {
  if (exchange_.moved_bytes() - yielded_bytes_ < tuning::kBytesBetweenYields) return;
  yielded_bytes_ = exchange_.moved_bytes();
  yield();
}

void MessageExecutor::avoid_shared_core(Clock::time_point now) {
  const int core = current_core();
  bool is_shared = false;
  exchange_.visit_awaited([](Channel&) {}, [&](Channel& channel) { is_shared = is_shared || channel.core_of_peer() == core; });
  left_core_ = now;
  if (is_shared && core >= 0) leave_core(core);
}

void MessageExecutor::sleep(int millis) {
  polled_.clear();
  Channel* in_memory = nullptr;
  const auto add = [&](Channel& channel, const pollfd& polled) {
    if (polled.fd < 0) in_memory = &channel;
    else polled_.push_back(polled);
  };
  exchange_.visit_awaited([&](Channel& channel) { add(channel, channel.polled_to_send()); },
                          [&](Channel& channel) { add(channel, channel.polled_to_receive()); });
  if (polled_.empty() && in_memory != nullptr) in_memory->sleep(std::min(millis, tuning::kNapMillis));
  else poll(polled_.data(), polled_.size(), in_memory != nullptr ? std::min(millis, tuning::kNapMillis) : millis);
}

}  // namespace coll

#endif
