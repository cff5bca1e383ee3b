#pragma once

#if defined(__linux__)

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "openssl.h"
#include "parts_cursor.h"
#include "seal.h"
#include "stream.h"

namespace coll {

struct SealOptions {
  // TLS suites in the order of preference; empty: as suits this processor.
  std::string ciphers;
  // AES-GCM is safe for 2^24.5 records of 16 KiB under one key (RFC 8446, 5.5).
  std::uint64_t records_per_key = std::uint64_t{1} << 23;
};

// The name of the TLS suite that this processor prefers.
const char* preferred_cipher();

// A stream over a connected, non-blocking socket, sealed by TLS 1.3 with a pre-shared key and an
// ephemeral Diffie-Hellman exchange. Never waits. Used by one thread at a time.
//
// The first calls make the handshake. Nothing is sent before the other end has proven that it has
// the key, and no byte is delivered unless the other end has sent it, at this place of the stream.
class SealedStream final : public Stream {
 public:
  // The caller keeps the socket, which must exist as long as the stream. Throws Error if the running
  // program has no OpenSSL.
  SealedStream(int socket, SealedEnd end, const Seal& seal, const SealOptions& options = {});
  ~SealedStream() override;
  SealedStream(const SealedStream&) = delete;
  SealedStream& operator=(const SealedStream&) = delete;

  // Continues the handshake as far as possible. Returns whether both ends have proven that they have
  // the key; has_failed() tells whether they never will.
  bool shake();
  ssize_t send(const iovec* parts, int count) override;
  ssize_t receive(const iovec* parts, int count) override;
  void end() override;

  bool has_more() const override { return has_more_; }
  bool has_unsent() const override { return out_begin_ < out_.size(); }
  bool has_failed() const { return has_failed_; }
  // Whether the other end has said that its stream is complete. Otherwise an end may be a
  // truncation by somebody else.
  bool has_ended() const { return has_ended_; }
  // Why the connection has failed; empty if it has not.
  const std::string& problem() const { return problem_; }
  // The name of the TLS suite; empty before the end of the handshake.
  std::string cipher() const;

 private:
  static const OpenSsl& ssl() { return openssl(); }
  static OpenSsl::Context* context();
  static OpenSsl::BioMethod* bio_method();
  static int write_bio(OpenSsl::Bio* bio, const char* bytes, int count);
  static int read_bio(OpenSsl::Bio* bio, char* bytes, int count);
  static int use_session(OpenSsl::Connection*, const void*, const unsigned char** identity, std::size_t* bytes, OpenSsl::Session**);
  static int find_session(OpenSsl::Connection*, const unsigned char* identity, std::size_t bytes, OpenSsl::Session**);

  OpenSsl::Session* session() const;
  bool flush();
  bool fill();
  bool encrypt(PartsCursor& cursor, std::size_t& bytes);
  bool write_record(const std::byte* bytes, std::size_t count);
  void fail(int error, const std::string& problem);
  void fail_by(const char* step);

  const int socket_;
  const Seal seal_;
  const std::uint64_t records_per_key_;
  OpenSsl::Connection* connection_ = nullptr;
  bool is_open_ = false;
  bool has_failed_ = false;
  bool has_ended_ = false;
  bool has_said_end_ = false;
  bool has_more_ = false;
  bool was_full_ = false;  // the buffer of received bytes
  int error_ = 0;
  std::string problem_;
  std::uint64_t records_ = 0;  // sent under the current key
  // Bytes of the caller that are encrypted, but were not reported as sent.
  std::size_t encrypted_ = 0;
  // Encrypted bytes: those that the socket has not taken, and those that were received and not
  // decrypted.
  std::vector<std::byte> out_;
  std::size_t out_begin_ = 0;
  std::vector<std::byte> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  std::vector<std::byte> record_;
};

}  // namespace coll

#endif
