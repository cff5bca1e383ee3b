#if defined(__linux__)

#include "openssl.h"

#include <type_traits>

#include "../error.h"
#include "../linux/dynamic_linking.h"

namespace coll {
namespace {

constexpr unsigned long kOldestVersion = 0x30000000;

struct FoundOpenSsl {
  OpenSsl functions{};
  std::string problem;
};

FoundOpenSsl find_openssl() {
  FoundOpenSsl found;
  OpenSsl& ssl = found.functions;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
    if (function == nullptr && found.problem.empty()) found.problem = std::string("this program exports no OpenSSL 3: it has no function ") + name;
  };
  find(ssl.OpenSSL_version_num, "OpenSSL_version_num");
  find(ssl.TLS_method, "TLS_method");
  find(ssl.SSL_CTX_new, "SSL_CTX_new");
  find(ssl.SSL_CTX_ctrl, "SSL_CTX_ctrl");
  find(ssl.SSL_CTX_clear_options, "SSL_CTX_clear_options");
  find(ssl.SSL_CTX_set_options, "SSL_CTX_set_options");
  find(ssl.SSL_CTX_set_security_level, "SSL_CTX_set_security_level");
  find(ssl.SSL_CTX_set_num_tickets, "SSL_CTX_set_num_tickets");
  find(ssl.SSL_CTX_set_max_early_data, "SSL_CTX_set_max_early_data");
  find(ssl.SSL_CTX_set_psk_use_session_callback, "SSL_CTX_set_psk_use_session_callback");
  find(ssl.SSL_CTX_set_psk_find_session_callback, "SSL_CTX_set_psk_find_session_callback");
  find(ssl.SSL_new, "SSL_new");
  find(ssl.SSL_free, "SSL_free");
  find(ssl.SSL_set_verify, "SSL_set_verify");
  find(ssl.SSL_set_ex_data, "SSL_set_ex_data");
  find(ssl.SSL_get_ex_data, "SSL_get_ex_data");
  find(ssl.SSL_set_ciphersuites, "SSL_set_ciphersuites");
  find(ssl.SSL_set_bio, "SSL_set_bio");
  find(ssl.SSL_set_connect_state, "SSL_set_connect_state");
  find(ssl.SSL_set_accept_state, "SSL_set_accept_state");
  find(ssl.SSL_do_handshake, "SSL_do_handshake");
  find(ssl.SSL_read_ex, "SSL_read_ex");
  find(ssl.SSL_write_ex, "SSL_write_ex");
  find(ssl.SSL_shutdown, "SSL_shutdown");
  find(ssl.SSL_key_update, "SSL_key_update");
  find(ssl.SSL_get_error, "SSL_get_error");
  find(ssl.SSL_session_reused, "SSL_session_reused");
  find(ssl.SSL_version, "SSL_version");
  find(ssl.SSL_get_current_cipher, "SSL_get_current_cipher");
  find(ssl.SSL_CIPHER_get_name, "SSL_CIPHER_get_name");
  find(ssl.SSL_CIPHER_find, "SSL_CIPHER_find");
  find(ssl.SSL_SESSION_new, "SSL_SESSION_new");
  find(ssl.SSL_SESSION_free, "SSL_SESSION_free");
  find(ssl.SSL_SESSION_set1_master_key, "SSL_SESSION_set1_master_key");
  find(ssl.SSL_SESSION_set_cipher, "SSL_SESSION_set_cipher");
  find(ssl.SSL_SESSION_set_protocol_version, "SSL_SESSION_set_protocol_version");
  find(ssl.BIO_get_new_index, "BIO_get_new_index");
  find(ssl.BIO_meth_new, "BIO_meth_new");
  find(ssl.BIO_meth_set_write, "BIO_meth_set_write");
  find(ssl.BIO_meth_set_read, "BIO_meth_set_read");
  find(ssl.BIO_meth_set_ctrl, "BIO_meth_set_ctrl");
  find(ssl.BIO_new, "BIO_new");
  find(ssl.BIO_set_init, "BIO_set_init");
  find(ssl.BIO_set_data, "BIO_set_data");
  find(ssl.BIO_get_data, "BIO_get_data");
  find(ssl.BIO_set_flags, "BIO_set_flags");
  find(ssl.BIO_clear_flags, "BIO_clear_flags");
  find(ssl.ERR_clear_error, "ERR_clear_error");
  find(ssl.ERR_peek_error, "ERR_peek_error");
  find(ssl.ERR_reason_error_string, "ERR_reason_error_string");
  if (found.problem.empty() && ssl.OpenSSL_version_num() < kOldestVersion) found.problem = "this program exports an OpenSSL that is older than version 3";
  return found;
}

const FoundOpenSsl& found_openssl() {
  static const FoundOpenSsl found = find_openssl();
  return found;
}

}  // namespace

const OpenSsl& openssl() {
  const FoundOpenSsl& found = found_openssl();
  if (!found.problem.empty()) throw Error(found.problem);
  return found.functions;
}

std::string sealing_problem() { return found_openssl().problem; }

}  // namespace coll

#endif
