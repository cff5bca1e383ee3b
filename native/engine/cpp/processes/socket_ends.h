#pragma once

#if defined(__linux__)

namespace coll {

// Whether both ends of an IP socket have the same address, and so are on the same host.
bool is_within_host(int socket);
bool is_tcp(int socket);

}  // namespace coll

#endif
