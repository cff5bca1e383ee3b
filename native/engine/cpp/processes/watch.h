#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../sealing/seal.h"

namespace coll {

// The settings by which a member of a group watches the other members.
struct Watch {
  int rank = 0;
  // Connections by rank; -1 for this rank, and for ranks without a connection, which get news
  // through other ranks.
  std::vector<int> sockets;
  // By rank: what seals the connection; none for one that is not sealed. Empty if none is.
  std::vector<std::optional<Seal>> seals;
  // By rank: whether the connection is checksummed. Empty if none is.
  std::vector<bool> checksummed;
  std::chrono::milliseconds silence{5000};
  // Time to wait for failures that other members find at the same moment.
  std::chrono::milliseconds settling{250};
  // Time for the other members to complete the collectives that this rank took part in: its data
  // may still be on a slow link.
  std::chrono::milliseconds longest_parting{5000};
  // Called in the monitor's thread when this rank has left, and all connections have ended.
  std::function<void()> parted;
};

// A time in seconds for messages, such as 1.5
inline std::string seconds_of(std::chrono::milliseconds time) {
  std::string text = std::to_string(static_cast<double>(time.count()) / 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace coll
