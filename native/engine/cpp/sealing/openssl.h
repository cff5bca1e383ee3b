#pragma once

#if defined(__linux__)

#include <cstddef>
#include <cstdint>
#include <string>

namespace coll {

// The functions of OpenSSL 3 that the running program exports, as Node does. They are looked up by
// name, so the addon needs no OpenSSL of its own, and also loads where there is none.
struct OpenSsl {
  struct Context;
  struct Connection;
  struct Method;
  struct Session;
  struct Cipher;
  struct Bio;
  struct BioMethod;

  using UseSession = int (*)(Connection*, const void* digest, const unsigned char** identity, std::size_t* bytes, Session**);
  using FindSession = int (*)(Connection*, const unsigned char* identity, std::size_t bytes, Session**);

  unsigned long (*OpenSSL_version_num)();

  const Method* (*TLS_method)();
  Context* (*SSL_CTX_new)(const Method*);
  long (*SSL_CTX_ctrl)(Context*, int command, long number, void* pointer);
  std::uint64_t (*SSL_CTX_clear_options)(Context*, std::uint64_t);
  std::uint64_t (*SSL_CTX_set_options)(Context*, std::uint64_t);
  void (*SSL_CTX_set_security_level)(Context*, int);
  int (*SSL_CTX_set_num_tickets)(Context*, std::size_t);
  int (*SSL_CTX_set_max_early_data)(Context*, std::uint32_t);
  void (*SSL_CTX_set_psk_use_session_callback)(Context*, UseSession);
  void (*SSL_CTX_set_psk_find_session_callback)(Context*, FindSession);

  Connection* (*SSL_new)(Context*);
  void (*SSL_free)(Connection*);
  void (*SSL_set_verify)(Connection*, int mode, void* callback);
  int (*SSL_set_ex_data)(Connection*, int index, void*);
  void* (*SSL_get_ex_data)(const Connection*, int index);
  int (*SSL_set_ciphersuites)(Connection*, const char*);
  void (*SSL_set_bio)(Connection*, Bio* read, Bio* write);
  void (*SSL_set_connect_state)(Connection*);
  void (*SSL_set_accept_state)(Connection*);
  int (*SSL_do_handshake)(Connection*);
  int (*SSL_read_ex)(Connection*, void*, std::size_t, std::size_t* read);
  int (*SSL_write_ex)(Connection*, const void*, std::size_t, std::size_t* written);
  int (*SSL_shutdown)(Connection*);
  int (*SSL_key_update)(Connection*, int type);
  int (*SSL_get_error)(const Connection*, int result);
  int (*SSL_session_reused)(const Connection*);
  int (*SSL_version)(const Connection*);
  const Cipher* (*SSL_get_current_cipher)(const Connection*);
  const char* (*SSL_CIPHER_get_name)(const Cipher*);
  const Cipher* (*SSL_CIPHER_find)(Connection*, const unsigned char* number);

  Session* (*SSL_SESSION_new)();
  void (*SSL_SESSION_free)(Session*);
  int (*SSL_SESSION_set1_master_key)(Session*, const unsigned char*, std::size_t);
  int (*SSL_SESSION_set_cipher)(Session*, const Cipher*);
  int (*SSL_SESSION_set_protocol_version)(Session*, int);

  int (*BIO_get_new_index)();
  BioMethod* (*BIO_meth_new)(int type, const char* name);
  int (*BIO_meth_set_write)(BioMethod*, int (*)(Bio*, const char*, int));
  int (*BIO_meth_set_read)(BioMethod*, int (*)(Bio*, char*, int));
  int (*BIO_meth_set_ctrl)(BioMethod*, long (*)(Bio*, int, long, void*));
  Bio* (*BIO_new)(const BioMethod*);
  void (*BIO_set_init)(Bio*, int);
  void (*BIO_set_data)(Bio*, void*);
  void* (*BIO_get_data)(Bio*);
  void (*BIO_set_flags)(Bio*, int);
  void (*BIO_clear_flags)(Bio*, int);

  void (*ERR_clear_error)();
  unsigned long (*ERR_peek_error)();
  const char* (*ERR_reason_error_string)(unsigned long);
};

// Throws Error with the reason if the running program exports no OpenSSL 3.
const OpenSsl& openssl();
// Why connections cannot be sealed in this program; empty if they can.
std::string sealing_problem();

}  // namespace coll

#endif
