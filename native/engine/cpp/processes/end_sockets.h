#pragma once

#if defined(__linux__)

#include <chrono>
#include <vector>

namespace coll {

// Ends this side of connections, and blocks until the other sides have read everything and ended
// theirs, or `longest` has passed. What they still send is read and dropped: if a process ends with
// unread data, its system resets the connection, and what it has sent is lost.
void end_sockets(std::vector<int> sockets, std::chrono::milliseconds longest);

}  // namespace coll

#endif
