#if defined(__linux__)

#include "sealed_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "../error.h"
#include "processor_aes.h"

namespace coll {
namespace {

// Of OpenSSL's headers.
constexpr int kTls13 = 0x0304;
constexpr int kSetSessionCacheMode = 44;
constexpr int kSetGroups = 92;
constexpr int kSetLeastVersion = 123;
constexpr int kSetMostVersion = 124;
constexpr int kFlushBio = 11;
constexpr int kBioReads = 0x01;
constexpr int kBioRetries = 0x08;
constexpr int kWantsRead = 2;
constexpr int kHasEnded = 6;
constexpr int kVerifyPeer = 1;
constexpr std::uint64_t kNoTickets = std::uint64_t{1} << 14;
constexpr std::uint64_t kNoCompression = std::uint64_t{1} << 17;
constexpr std::uint64_t kPrioritizeChaCha = std::uint64_t{1} << 21;
constexpr std::uint64_t kServerPreference = std::uint64_t{1} << 22;
constexpr std::uint64_t kNoRenegotiation = std::uint64_t{1} << 30;

// Both use SHA-256, as the pre-shared key does.
constexpr const char* kAes = "TLS_AES_128_GCM_SHA256";
constexpr const char* kChaCha = "TLS_CHACHA20_POLY1305_SHA256";
constexpr unsigned char kAesNumber[] = {0x13, 0x01};

// The most bytes of a TLS record.
constexpr std::size_t kRecordBytes = 16 * 1024;
// What is encrypted before it is sent stays in the second-level cache.
constexpr std::size_t kBatchBytes = 4 * kRecordBytes;
// The buffer of received bytes grows while it is too small for what arrives at once.
constexpr std::size_t kLeastReceived = 4 * 1024;
constexpr std::size_t kMostReceived = 128 * 1024;

void require(bool is_done, const char* what) {
  if (!is_done) throw Error(std::string("OpenSSL cannot ") + what);
}

}  // namespace

const char* preferred_cipher() { return has_aes() ? kAes : kChaCha; }

// Shared by all streams, and never freed. Whatever a system's openssl.cnf has set is set again.
OpenSsl::Context* SealedStream::context() {
  static OpenSsl::Context* const shared = [] {
    OpenSsl::Context* const context = ssl().SSL_CTX_new(ssl().TLS_method());
    require(context != nullptr, "create a context for TLS");
    ssl().SSL_CTX_clear_options(context, ~std::uint64_t{0});
    ssl().SSL_CTX_set_options(context, kNoTickets | kNoCompression | kNoRenegotiation | kServerPreference | kPrioritizeChaCha);
    const bool is_13 = ssl().SSL_CTX_ctrl(context, kSetMostVersion, kTls13, nullptr) == 1 && ssl().SSL_CTX_ctrl(context, kSetLeastVersion, kTls13, nullptr) == 1;
    require(is_13, "use TLS 1.3");
    char groups[] = "X25519:P-256";
    require(ssl().SSL_CTX_ctrl(context, kSetGroups, 0, groups) == 1, "use X25519 and P-256");
    ssl().SSL_CTX_set_security_level(context, 1);
    ssl().SSL_CTX_ctrl(context, kSetSessionCacheMode, 0, nullptr);
    require(ssl().SSL_CTX_set_num_tickets(context, 0) == 1 && ssl().SSL_CTX_set_max_early_data(context, 0) == 1, "switch off session tickets");
    ssl().SSL_CTX_set_psk_use_session_callback(context, use_session);
    ssl().SSL_CTX_set_psk_find_session_callback(context, find_session);
    return context;
  }();
  return shared;
}

OpenSsl::BioMethod* SealedStream::bio_method() {
  static OpenSsl::BioMethod* const shared = [] {
    constexpr int kSourceSink = 0x0400;
    OpenSsl::BioMethod* const method = ssl().BIO_meth_new(ssl().BIO_get_new_index() | kSourceSink, "coll");
    require(method != nullptr, "create a stream");
    ssl().BIO_meth_set_write(method, write_bio);
    ssl().BIO_meth_set_read(method, read_bio);
    ssl().BIO_meth_set_ctrl(method, [](OpenSsl::Bio*, int command, long, void*) -> long { return command == kFlushBio ? 1 : 0; });
    return method;
  }();
  return shared;
}

SealedStream::SealedStream(int socket, SealedEnd end, const Seal& seal, const SealOptions& options) : socket_(socket), seal_(seal), records_per_key_(options.records_per_key) {
  const std::string own = has_aes() ? std::string(kAes) + ":" + kChaCha : std::string(kChaCha) + ":" + kAes;
  connection_ = ssl().SSL_new(context());
  require(connection_ != nullptr, "create a TLS connection");
  OpenSsl::Bio* const bio = ssl().BIO_new(bio_method());
  const std::string& ciphers = options.ciphers.empty() ? own : options.ciphers;
  if (bio == nullptr || ssl().SSL_set_ciphersuites(connection_, ciphers.c_str()) != 1) {
    ssl().SSL_free(connection_);
    throw Error("OpenSSL cannot use the cipher suites " + ciphers);
  }
  ssl().BIO_set_data(bio, this);
  ssl().BIO_set_init(bio, 1);
  ssl().SSL_set_bio(connection_, bio, bio);
  ssl().SSL_set_ex_data(connection_, 0, this);
  // The connecting end refuses every certificate, because it trusts none. The other end has none, and
  // asks for none.
  constexpr int kVerifyNone = 0;
  ssl().SSL_set_verify(connection_, end == SealedEnd::kConnecting ? kVerifyPeer : kVerifyNone, nullptr);
  if (end == SealedEnd::kConnecting) ssl().SSL_set_connect_state(connection_);
  else ssl().SSL_set_accept_state(connection_);
}

SealedStream::~SealedStream() { ssl().SSL_free(connection_); }

int SealedStream::write_bio(OpenSsl::Bio* bio, const char* bytes, int count) {
  SealedStream& stream = *static_cast<SealedStream*>(ssl().BIO_get_data(bio));
  const auto* const first = reinterpret_cast<const std::byte*>(bytes);
  stream.out_.insert(stream.out_.end(), first, first + count);
  return count;
}

int SealedStream::read_bio(OpenSsl::Bio* bio, char* bytes, int count) {
  SealedStream& stream = *static_cast<SealedStream*>(ssl().BIO_get_data(bio));
  const std::size_t taken = std::min(stream.in_end_ - stream.in_begin_, static_cast<std::size_t>(count));
  ssl().BIO_clear_flags(bio, kBioReads | kBioRetries);
  if (taken == 0) {
    ssl().BIO_set_flags(bio, kBioReads | kBioRetries);
    return -1;
  }
  std::memcpy(bytes, stream.in_.data() + stream.in_begin_, taken);
  stream.in_begin_ += taken;
  return static_cast<int>(taken);
}

OpenSsl::Session* SealedStream::session() const {
  OpenSsl::Session* const session = ssl().SSL_SESSION_new();
  const auto* const key = reinterpret_cast<const unsigned char*>(seal_.key.data());
  const OpenSsl::Cipher* const cipher = ssl().SSL_CIPHER_find(connection_, kAesNumber);
  const bool is_made = session != nullptr && cipher != nullptr && ssl().SSL_SESSION_set1_master_key(session, key, seal_.key.size()) == 1 &&
                       ssl().SSL_SESSION_set_cipher(session, cipher) == 1 && ssl().SSL_SESSION_set_protocol_version(session, kTls13) == 1;
  if (is_made) return session;
  ssl().SSL_SESSION_free(session);
  return nullptr;
}

int SealedStream::use_session(OpenSsl::Connection* connection, const void*, const unsigned char** identity, std::size_t* bytes, OpenSsl::Session** session) {
  const SealedStream& stream = *static_cast<SealedStream*>(ssl().SSL_get_ex_data(connection, 0));
  *session = stream.session();
  *identity = reinterpret_cast<const unsigned char*>(stream.seal_.identity.data());
  *bytes = stream.seal_.identity.size();
  return *session == nullptr ? 0 : 1;
}

// Without a session the handshake fails, because there is no certificate.
int SealedStream::find_session(OpenSsl::Connection* connection, const unsigned char* identity, std::size_t bytes, OpenSsl::Session** session) {
  const SealedStream& stream = *static_cast<SealedStream*>(ssl().SSL_get_ex_data(connection, 0));
  const auto& own = stream.seal_.identity;
  const bool is_own = bytes == own.size() && std::memcmp(identity, own.data(), bytes) == 0;
  *session = is_own ? stream.session() : nullptr;
  return 1;
}

bool SealedStream::shake() {
  while (!is_open_ && !has_failed_) {
    ssl().ERR_clear_error();
    const int result = ssl().SSL_do_handshake(connection_);
    if (result == 1) {
      // Nothing but the pre-shared key authenticates the other end.
      if (ssl().SSL_session_reused(connection_) == 1 && ssl().SSL_version(connection_) == kTls13) is_open_ = true;
      else fail(EBADMSG, "the other end has not used the key");
      flush();
    } else if (ssl().SSL_get_error(connection_, result) != kWantsRead) {
      fail_by("the TLS handshake failed");
    } else if (!flush() || !fill()) {
      return false;
    }
  }
  return is_open_ && !has_failed_;
}

ssize_t SealedStream::send(const iovec* parts, int count) {
  const bool is_ready = shake() && flush();
  if (has_failed_) {
    errno = error_;
    return -1;
  }
  if (!is_ready) return 0;
  std::size_t given = 0;
  for (int i = 0; i < count; ++i) given += parts[i].iov_len;
  std::size_t sent = std::min(encrypted_, given);
  encrypted_ -= sent;
  if (encrypted_ > 0) return static_cast<ssize_t>(sent);
  PartsCursor cursor(parts, count);
  cursor.pass(sent);
  while (!cursor.is_at_end() && encrypt(cursor, encrypted_) && flush()) sent += std::exchange(encrypted_, 0);
  if (sent > 0 || !has_failed_) return static_cast<ssize_t>(sent);
  errno = error_;
  return -1;
}

// Encrypts a batch of whole records, as far as there are bytes for them.
bool SealedStream::encrypt(PartsCursor& cursor, std::size_t& bytes) {
  while (!cursor.is_at_end() && bytes < kBatchBytes) {
    if (cursor.bytes() >= kRecordBytes) {
      if (!write_record(cursor.at(), kRecordBytes)) return false;
      cursor.pass(kRecordBytes);
      bytes += kRecordBytes;
      continue;
    }
    record_.clear();
    while (!cursor.is_at_end() && record_.size() < kRecordBytes) {
      const std::size_t part = std::min(cursor.bytes(), kRecordBytes - record_.size());
      record_.insert(record_.end(), cursor.at(), cursor.at() + part);
      cursor.pass(part);
    }
    if (!write_record(record_.data(), record_.size())) return false;
    bytes += record_.size();
  }
  return true;
}

bool SealedStream::write_record(const std::byte* bytes, std::size_t count) {
  ssl().ERR_clear_error();
  if (++records_ > records_per_key_) {
    // Only the keys of this direction: the other end renews its own.
    constexpr int kNotRequested = 0;
    records_ = 1;
    if (ssl().SSL_key_update(connection_, kNotRequested) != 1) {
      fail_by("the keys of TLS cannot be renewed");
      return false;
    }
  }
  std::size_t written = 0;
  const int result = ssl().SSL_write_ex(connection_, bytes, count, &written);
  if (result == 1 && written == count) return true;
  fail_by("bytes cannot be encrypted");
  return false;
}

ssize_t SealedStream::receive(const iovec* parts, int count) {
  if (shake() && has_unsent()) flush();
  std::size_t received = 0;
  for (int i = 0; i < count && is_open_ && !has_failed_; ++i) {
    const std::size_t room = parts[i].iov_len;
    for (std::size_t filled = 0; filled < room;) {
      std::size_t bytes = 0;
      ssl().ERR_clear_error();
      const int result = ssl().SSL_read_ex(connection_, static_cast<std::byte*>(parts[i].iov_base) + filled, room - filled, &bytes);
      if (result == 1) {
        filled += bytes;
        received += bytes;
        continue;
      }
      const int reason = ssl().SSL_get_error(connection_, result);
      if (reason == kHasEnded) {
        has_ended_ = true;
        fail(0, "the other end has ended the connection");
      } else if (reason != kWantsRead) {
        fail_by("received bytes were altered, or come from another program");
      } else if (received == 0 && fill()) {
        continue;
      }
      has_more_ = has_more_ && received > 0;
      if (received > 0 || !has_failed_) return static_cast<ssize_t>(received);
      errno = error_;
      return -1;
    }
  }
  has_more_ = is_open_ && !has_failed_;
  if (!has_failed_) return static_cast<ssize_t>(received);
  errno = error_;
  return -1;
}

void SealedStream::end() {
  if (!is_open_ || has_failed_ || has_said_end_) return;
  has_said_end_ = true;
  ssl().ERR_clear_error();
  ssl().SSL_shutdown(connection_);
  flush();
}

// Returns whether the socket has taken all encrypted bytes.
bool SealedStream::flush() {
  while (has_unsent()) {
    const ssize_t sent = ::send(socket_, out_.data() + out_begin_, out_.size() - out_begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      out_begin_ += static_cast<std::size_t>(sent);
    } else if (sent < 0 && errno != EINTR) {
      const int error = errno;
      if (error != EAGAIN && error != EWOULDBLOCK && error != ENOBUFS) fail(error, std::strerror(error));
      return false;
    }
  }
  out_.clear();
  out_begin_ = 0;
  return !has_failed_;
}

// Receives from the socket once all earlier bytes are used. Returns whether there are bytes to
// decrypt.
bool SealedStream::fill() {
  if (in_.empty()) in_.resize(kLeastReceived);
  else if (was_full_ && in_.size() < kMostReceived) in_.resize(2 * in_.size());
  in_begin_ = in_end_ = 0;
  ssize_t count = 0;
  do {
    count = ::recv(socket_, in_.data(), in_.size(), MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count > 0) in_end_ = static_cast<std::size_t>(count);
  else if (count == 0) fail(0, "the connection has ended");
  else if (errno != EAGAIN && errno != EWOULDBLOCK) fail(errno, std::strerror(errno));
  was_full_ = in_end_ == in_.size();
  has_more_ = was_full_;
  return count > 0;
}

void SealedStream::fail(int error, const std::string& problem) {
  if (has_failed_) return;
  has_failed_ = true;
  error_ = error;
  problem_ = problem;
}

void SealedStream::fail_by(const char* step) {
  const char* const reason = ssl().ERR_reason_error_string(ssl().ERR_peek_error());
  fail(EBADMSG, reason == nullptr ? std::string(step) : std::string(step) + ": " + reason);
  // Node looks at the same list of errors.
  ssl().ERR_clear_error();
  // Sends the alert that OpenSSL has prepared, so that the other end learns why.
  flush();
}

std::string SealedStream::cipher() const {
  const OpenSsl::Cipher* const cipher = is_open_ ? ssl().SSL_get_current_cipher(connection_) : nullptr;
  return cipher == nullptr ? "" : ssl().SSL_CIPHER_get_name(cipher);
}

}  // namespace coll

#endif
