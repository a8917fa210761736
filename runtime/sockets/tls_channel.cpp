#include "runtime/sockets/tls_channel.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::string_view identity = "tidegate-door-1";
constexpr const char* suite = "TLS_AES_256_GCM_SHA384";
constexpr std::array<unsigned char, 2> suite_number = {0x13, 0x02};

// OpenSSL takes an external key as a session of its own making.
SSL_SESSION* session_of(SSL* connection) {
  const auto& key = *static_cast<const digest*>(SSL_get_app_data(connection));
  auto* session = SSL_SESSION_new();
  const auto* cipher = SSL_CIPHER_find(connection, suite_number.data());
  const bool done =
      session != nullptr && cipher != nullptr &&
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()),
                                  key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (done) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int use_key(SSL* connection, const EVP_MD*, const unsigned char** id, std::size_t* length,
            SSL_SESSION** session) {
  *id = reinterpret_cast<const unsigned char*>(identity.data());
  *length = identity.size();
  *session = session_of(connection);
  return *session != nullptr ? 1 : 0;
}

// A peer that names no such key goes on without one, and fails: there is no certificate.
int find_key(SSL* connection, const unsigned char* id, std::size_t length,
             SSL_SESSION** session) {
  const std::string_view named(reinterpret_cast<const char*>(id), length);
  *session = named == identity ? session_of(connection) : nullptr;
  return named != identity || *session != nullptr ? 1 : 0;
}

// Returns what went wrong last, for people, and forgets it.
std::string last_error() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  const auto* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "the connection was closed" : reason;
}

}  // namespace

struct tls_channel::state {
  unique_fd fd;
  digest key{};
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context{nullptr, SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> connection{nullptr, SSL_free};
  bool is_proven = false;
  bool wants_room = false;  // to go on, although there is nothing to send
  std::string unsent;
  std::size_t sent = 0;  // bytes of unsent
  std::string received;
};

tls_channel::tls_channel(std::unique_ptr<state> content) : state_(std::move(content)) {}
tls_channel::tls_channel(tls_channel&&) noexcept = default;
tls_channel& tls_channel::operator=(tls_channel&&) noexcept = default;
tls_channel::~tls_channel() = default;

expected<tls_channel> tls_channel::begin(unique_fd connection, tls_side side,
                                         const digest& key) {
  auto content = std::make_unique<state>();
  content->fd = std::move(connection);
  content->key = key;
  const bool is_client = side == tls_side::client;
  content->context.reset(SSL_CTX_new(is_client ? TLS_client_method() : TLS_server_method()));
  auto* context = content->context.get();
  bool done =
      context != nullptr && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
      SSL_CTX_set_ciphersuites(context, suite) == 1 && SSL_CTX_set_num_tickets(context, 0) == 1;
  if (done) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // A server that shows a certificate instead has no known issuer.
    SSL_CTX_set_verify(context, is_client ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_psk_use_session_callback(context, use_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    content->connection.reset(SSL_new(context));
    done = content->connection != nullptr &&
           SSL_set_app_data(content->connection.get(), &content->key) == 1 &&
           SSL_set_fd(content->connection.get(), content->fd.get()) == 1;
  }
  if (!done) return fail(errc::io_error, "TLS: " + last_error());
  if (is_client)
    SSL_set_connect_state(content->connection.get());
  else
    SSL_set_accept_state(content->connection.get());
  return tls_channel(std::move(content));
}

int tls_channel::fd() const noexcept {
  return state_->fd.get();
}

bool tls_channel::is_proven() const noexcept {
  return state_->is_proven;
}

std::string& tls_channel::received() noexcept {
  return state_->received;
}

std::size_t tls_channel::unsent_bytes() const noexcept {
  return state_->unsent.size() - state_->sent;
}

void tls_channel::send(std::string_view bytes) {
  state_->unsent += bytes;
}

short tls_channel::awaits() const noexcept {
  const bool writes = state_->wants_room || (state_->is_proven && unsent_bytes() > 0);
  const bool reads = !state_->is_proven || state_->received.size() < received_bytes_max;
  return static_cast<short>((writes ? POLLOUT : 0) | (reads ? POLLIN : 0));
}

bool tls_channel::has_more() const noexcept {
  return state_->is_proven && SSL_pending(state_->connection.get()) > 0;
}

status tls_channel::advance() {
  ERR_clear_error();
  state_->wants_room = false;
  if (!state_->is_proven) {
    if (auto done = shake_hands(); !done.ok() || !state_->is_proven) return done;
  }
  if (auto done = flush(); !done.ok()) {
    static_cast<void>(receive());  // what the peer has said before it went
    return done;
  }
  return receive();
}

status tls_channel::shake_hands() {
  auto* connection = state_->connection.get();
  const int result = SSL_do_handshake(connection);
  if (result == 1) {
    if (SSL_session_reused(connection) != 1)
      return {errc::refused, "the peer has not used the key"};
    state_->is_proven = true;
    return {};
  }
  const int why = SSL_get_error(connection, result);
  state_->wants_room = why == SSL_ERROR_WANT_WRITE;
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return {};
  return {errc::refused, "the peer has not proven the key: " + last_error()};
}

status tls_channel::flush() {
  auto* connection = state_->connection.get();
  while (unsent_bytes() > 0) {
    std::size_t written = 0;
    const int result = SSL_write_ex(connection, state_->unsent.data() + state_->sent,
                                    unsent_bytes(), &written);
    if (result != 1) {
      const int why = SSL_get_error(connection, result);
      if (why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ) break;
      return {errc::unavailable, last_error()};
    }
    state_->sent += written;
  }
  state_->unsent.erase(0, state_->sent);
  state_->sent = 0;
  return {};
}

status tls_channel::receive() {
  auto* connection = state_->connection.get();
  std::array<char, 16384> bytes{};
  while (state_->received.size() < received_bytes_max) {
    std::size_t got = 0;
    const int result = SSL_read_ex(connection, bytes.data(), bytes.size(), &got);
    if (result != 1) {
      const int why = SSL_get_error(connection, result);
      state_->wants_room = state_->wants_room || why == SSL_ERROR_WANT_WRITE;
      if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return {};
      return {errc::unavailable, last_error()};
    }
    state_->received.append(bytes.data(), got);
  }
  return {};
}

}  // namespace tidegate::runtime
