#pragma once

#if defined(__linux__)

namespace coll {

// Whether both ends of an IP socket have one address, and are on one host therefore.
bool is_within_host(int socket);
bool is_tcp(int socket);

}  // namespace coll

#endif
