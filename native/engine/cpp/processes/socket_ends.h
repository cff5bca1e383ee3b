#pragma once

#if defined(__linux__)

namespace coll {

// Whether both ends of an IP socket have the same address, and so are on the same host.
bool is_within_host(int socket);
bool is_tcp(int socket);
// The core on which the other end of a socket within this host last sent something; negative if
// unknown.
int core_of_other_end(int socket);

}  // namespace coll

#endif
