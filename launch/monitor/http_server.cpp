#include "launch/monitor/http_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <signal.h>
#include <span>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "launch/monitor/http_connection.hpp"
#include "launch/monitor/peer_user.hpp"
#include "launch/monitor/private_file.hpp"
#include "launch/text/endpoint.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/service_thread.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

using runtime::errc;

constexpr std::size_t threads_most = 4;
constexpr std::size_t connections_waiting_most = 32;  // then the system keeps them
constexpr int backlog = 128;
constexpr std::int64_t connection_ns_most = 5'000'000'000;  // for a request and its answer
constexpr std::size_t key_bytes_least = 16;
constexpr int http_not_modified = 304;
constexpr int http_unauthorized = 401;
constexpr int http_forbidden = 403;

// Connections wait for a thread; where too many do, nobody accepts more.
class connection_queue final : public httplib::TaskQueue {
 public:
  explicit connection_queue(std::function<void()> begun) {
    // Fewer where the system has no more.
    try {
      for (std::size_t i = 0; i < threads_most; ++i)
        threads_.push_back(runtime::start_service_thread([this] { serve(); }));
    } catch (const std::system_error&) {
      has_no_thread_ = threads_.empty();
    }
    begun();
  }

  void enqueue(std::function<void()> serve_one) override {
    if (has_no_thread_) return serve_one();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < connections_waiting_most; });
    waiting_.push_back(std::move(serve_one));
    changed_.notify_all();
  }
  // What waits is served, as only that closes its connection.
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

 private:
  void serve() {
    for (;;) {
      std::function<void()> next;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      changed_.notify_all();
      next();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool is_over_ = false;
  bool has_no_thread_ = false;
  std::vector<std::thread> threads_;
};

bool is_same(const std::string& left, const std::string& right) {
  return runtime::is_same_secret(std::as_bytes(std::span(left)),
                                 std::as_bytes(std::span(right)));
}

// A name that a page elsewhere may have turned to this address is not one of these.
bool is_loopback_name(const std::string& host_header) {
  const auto named = parse_endpoint(host_header, 0);
  return named && (named->host == "localhost" || is_loopback(named->host));
}

// The library has a process ignore SIGPIPE, which the processes that it starts would inherit.
// Threads that serve block it.
class pipe_signal {
 public:
  pipe_signal() { ::sigaction(SIGPIPE, nullptr, &before_); }
  void restore() const { ::sigaction(SIGPIPE, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

// The library's server, with connections of ours.
class bounded_server final : public httplib::Server {
 public:
  // Ends all connections, now and later.
  void end_connections() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    if (begin(socket)) {
      http_connection connection(socket, runtime::steady_now() + connection_ns_most);
      bool is_closed = false;
      // The library's connections say nothing of themselves; handlers find the socket here.
      const auto name_socket = [socket](httplib::Request& request) {
        request.remote_port = socket;
      };
      if (connection.read_request()) process_request(connection, true, is_closed, name_socket);
      end(socket);
    }
    ::close(socket);
    return true;
  }
  bool begin(int socket) {
    const std::lock_guard lock(mutex_);
    if (!is_over_) open_.insert(socket);
    return !is_over_;
  }
  // What has come and is not read would take the answer back.
  void end(int socket) {
    {
      const std::lock_guard lock(mutex_);
      open_.erase(socket);
    }
    ::shutdown(socket, SHUT_WR);
    std::array<char, 4096> rest{};
    constexpr int pieces_most = 16;
    for (int i = 0; i < pieces_most; ++i)
      if (::recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) <= 0) return;
  }

  std::mutex mutex_;
  std::set<int> open_;
  bool is_over_ = false;
};

class library_server final : public http_server {
 public:
  library_server(std::string key, std::vector<http_document> documents)
      : key_(std::move(key)), documents_(std::move(documents)) {
    pipe_signal_.restore();
    server_.new_task_queue = [this] { return new connection_queue([this] { begun(); }); };
    // Not the library's SO_REUSEPORT, by which two launchers would share a port.
    server_.set_socket_options([this](int socket) {
      socket_ = socket;
      const int on = 1;
      (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    server_.set_default_headers({{"Cache-Control", "no-store"},
                                 {"Cross-Origin-Resource-Policy", "same-origin"},
                                 {"X-Content-Type-Options", "nosniff"},
                                 {"X-Frame-Options", "DENY"},
                                 {"Referrer-Policy", "no-referrer"}});
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          return is_allowed(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                               : httplib::Server::HandlerResponse::Handled;
        });
    for (const auto& document : documents_)
      server_.Get(document.path, [this, &document](const httplib::Request& request,
                                                   httplib::Response& response) {
        if (!document.is_of_user || !key_.empty() || is_of_user(request))
          respond(document, request, response);
        else
          refuse_user(response);
      });
  }
  ~library_server() override {
    if (!thread_.joinable()) return;
    server_.stop();
    server_.end_connections();
    thread_.join();
  }

  runtime::status start(const std::string& host, std::uint16_t port) {
    if (auto bound = bind(host, port); !bound.ok()) return bound;
    thread_ = runtime::start_service_thread([this] {
      (void)server_.listen_after_bind();
      is_listening_ = false;
      begun();
    });
    // stop() would be lost on a server that does not run yet.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_begun_; });
    return {};
  }
  std::uint16_t port() const override { return port_; }
  bool is_listening() const override { return is_listening_; }

 private:
  runtime::status bind(const std::string& host, std::uint16_t port) {
    errno = 0;
    const int bound = port == 0                          ? server_.bind_to_any_port(host)
                      : server_.bind_to_port(host, port) ? port
                                                         : -1;
    if (bound <= 0)
      return {errno == EADDRINUSE ? errc::already_exists : errc::unavailable,
              "listening on " + to_string(endpoint{host, port}) + ": " +
                  (errno == 0 ? "it is not possible" : std::strerror(errno))};
    port_ = static_cast<std::uint16_t>(bound);
    (void)::listen(socket_, backlog);  // the library's is 5, fewer than scrape at once
    return {};
  }
  void begun() {
    const std::lock_guard lock(mutex_);
    has_begun_ = true;
    changed_.notify_all();
  }

  static void respond(const http_document& document, const httplib::Request& request,
                      httplib::Response& response) {
    http_request asked{.accept = request.get_header_value("Accept"), .parameters = {}};
    for (const auto& [name, value] : request.params) asked.parameters.try_emplace(name, value);
    const auto answer = document.read(asked);
    response.status = answer.status;
    if (!answer.content_policy.empty())
      response.set_header("Content-Security-Policy", answer.content_policy);
    if (!answer.tag.empty()) {
      const auto tag = "\"" + answer.tag + "\"";
      response.headers.erase("Cache-Control");
      response.set_header("Cache-Control", "no-cache");  // it is kept, and asked for again
      response.set_header("ETag", tag);
      if (request.get_header_value("If-None-Match") == tag) {
        response.status = http_not_modified;
        return;
      }
    }
    response.set_content(*answer.text, answer.type);
  }

  static bool is_of_user(const httplib::Request& request) {
    const auto user = user_of_peer(request.remote_port);
    return user && (*user == 0 || *user == ::geteuid());
  }
  static void refuse_user(httplib::Response& response) {
    response.status = http_forbidden;
    response.set_content(
        "without monitor.key_file this is for processes of the run's own user on its host\n",
        "text/plain");
  }

  bool is_public(const std::string& path) const {
    return std::any_of(documents_.begin(), documents_.end(),
                       [&](const http_document& document) {
                         return document.is_public && document.path == path;
                       });
  }

  bool is_allowed(const httplib::Request& request, httplib::Response& response) const {
    if (!key_.empty()) {
      if (is_public(request.path)) return true;
      const auto given = request.get_header_value("Authorization");
      if (is_same(given, "Bearer " + key_) ||
          is_same(given, httplib::make_basic_authentication_header("tidegate", key_).second))
        return true;
      response.status = http_unauthorized;
      response.set_header("WWW-Authenticate", "Basic realm=\"tidegate\"");
      response.set_content(
          "the key of monitor.key_file is wanted, as a bearer token or as the password of user "
          "tidegate\n",
          "text/plain");
      return false;
    }
    if (is_loopback_name(request.get_header_value("Host"))) return true;
    response.status = http_forbidden;
    response.set_content("the request names another host than this one\n", "text/plain");
    return false;
  }

  std::string key_;
  std::vector<http_document> documents_;
  pipe_signal pipe_signal_;  // before the server
  bounded_server server_;
  int socket_ = -1;  // the library's
  std::uint16_t port_ = 0;
  std::atomic<bool> is_listening_ = true;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_begun_ = false;
};

}  // namespace

runtime::expected<std::unique_ptr<http_server>> http_server::listen(
    const std::string& host, std::uint16_t port, const std::string& key,
    std::vector<http_document> documents) {
  auto server = std::make_unique<library_server>(key, std::move(documents));
  if (auto started = server->start(host, port); !started.ok()) return runtime::fail(started);
  return server;
}

runtime::expected<std::string> read_monitor_key(const std::string& path) {
  auto text = read_private_file(path);
  if (!text) return text;
  const auto* const blanks = " \t\r\n";
  const auto first = text->find_first_not_of(blanks);
  auto key = first == std::string::npos
                 ? std::string()
                 : text->substr(first, text->find_last_not_of(blanks) - first + 1);
  // The library takes "%41" for "A".
  if (key.size() < key_bytes_least ||
      key.find_first_of(std::string(blanks) + "%") != std::string::npos)
    return runtime::fail(errc::invalid_argument,
                         path + ": a key of " + std::to_string(key_bytes_least) +
                             " characters or more is wanted, in one word and without %");
  return key;
}

}  // namespace tidegate::launch
