// Real sockets: what a browser, a scraper and a stranger get.
#include "launch/monitor/http_server.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>

#include "launch/text/endpoint.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::launch {
namespace {

using runtime::errc;
using runtime::unique_fd;
using testing::HasSubstr;
using testing::StartsWith;

const std::string key = "a-key-of-many-characters";

http_answer answer(const std::string& text) {
  return {.type = "text/plain", .text = std::make_shared<const std::string>(text)};
}

struct http_server_test : testing::Test {
  void listen(const std::string& with_key = "", const std::string& host = "127.0.0.1") {
    auto listening = http_server::listen(
        host, 0, with_key,
        {{.path = "/metrics",
          .read =
              [this](const http_request& request) {
                ++reads;
                return answer("accept: " + request.accept + "\n" + request.parameter("job"));
              }},
         {.path = "/page.js",
          .read =
              [](const http_request&) {
                auto page = answer("draw();");
                page.tag = "abc";
                page.content_policy = "default-src 'none'";
                return page;
              },
          .is_public = true},
         {.path = "/log",
          .read = [](const http_request&) { return answer("a log"); },
          .is_of_user = true},
         {.path = "/refused", .read = [](const http_request&) {
            auto refused = answer("no");
            refused.status = 404;
            return refused;
          }}});
    ASSERT_TRUE(listening) << listening.error().message();
    server = std::move(*listening);
  }
  // Whose reads wait, though not for ever.
  unique_fd connection(const std::string& host = "127.0.0.1") const {
    const auto all = runtime::resolve(host, server->port());
    EXPECT_TRUE(all);
    auto connected = runtime::connect_to(**all, 1000);
    EXPECT_TRUE(connected);
    timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(connected->get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::fcntl(connected->get(), F_SETFL, ::fcntl(connected->get(), F_GETFL) & ~O_NONBLOCK);
    return std::move(*connected);
  }
  static std::string read_all(int from) {
    std::string text;
    char bytes[4096];
    for (;;) {
      const auto got = ::recv(from, bytes, sizeof bytes, 0);
      if (got <= 0) return text;
      text.append(bytes, static_cast<std::size_t>(got));
    }
  }
  // What comes back of a request, until the server closes.
  std::string ask(const std::string& request, const std::string& host = "127.0.0.1") const {
    const auto to = connection(host);
    EXPECT_EQ(::send(to.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return read_all(to.get());
  }
  std::string get(const std::string& path, const std::string& headers = "",
                  const std::string& host_header = "localhost") const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + host_header + "\r\n" + headers + "\r\n");
  }

  std::atomic<int> reads = 0;
  std::unique_ptr<http_server> server;
};

TEST_F(http_server_test, answers_with_documents_and_says_what_is_none) {
  listen();
  const auto found = get("/metrics", "Accept: this\r\n");
  EXPECT_THAT(found, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(found, HasSubstr("\r\n\r\naccept: this\n"));
  EXPECT_THAT(found, HasSubstr("Cache-Control: no-store"));
  EXPECT_THAT(get("/metricsx"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get("/../../etc/passwd"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_EQ(reads, 1);
  const auto head = ask("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(head, testing::Not(HasSubstr("accept:")));
}

TEST_F(http_server_test, hands_parameters_over_and_statuses_back) {
  listen();
  EXPECT_THAT(get("/metrics?job=a%20b&job=c&x=1"), HasSubstr("\na b"));
  EXPECT_THAT(get("/refused"), StartsWith("HTTP/1.1 404"));
}

TEST_F(http_server_test, spares_a_browser_of_what_it_has) {
  listen();
  const auto first = get("/page.js");
  EXPECT_THAT(first, HasSubstr("ETag: \"abc\"\r\n"));
  EXPECT_THAT(first, HasSubstr("Cache-Control: no-cache\r\n"));
  EXPECT_THAT(first, testing::Not(HasSubstr("no-store")));
  EXPECT_THAT(first, HasSubstr("Content-Security-Policy: default-src 'none'\r\n"));
  EXPECT_THAT(first, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  const auto again = get("/page.js", "If-None-Match: \"abc\"\r\n");
  EXPECT_THAT(again, StartsWith("HTTP/1.1 304"));
  EXPECT_THAT(again, testing::Not(HasSubstr("draw")));
  EXPECT_THAT(get("/page.js", "If-None-Match: \"abd\"\r\n"), HasSubstr("draw"));
}

TEST_F(http_server_test, wants_no_key_for_what_says_nothing_of_a_run) {
  listen(key);
  EXPECT_THAT(get("/page.js"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/page.js?x=/metrics"), StartsWith("HTTP/1.1 200"));
  for (const auto* path :
       {"/metrics", "/page.jsx", "//page.js", "/page.js/../metrics", "/PAGE.JS"})
    EXPECT_THAT(get(path), StartsWith("HTTP/1.1 401")) << path;
}

TEST_F(http_server_test, shows_what_is_its_users_to_no_other_user) {
  listen();
  EXPECT_THAT(get("/log"), HasSubstr("a log"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const auto as_nobody = [](const auto& act) {
    // The kernel's call is of this thread alone.
    std::thread([&] {
      constexpr int nobody = 65534;
      ::syscall(SYS_setfsuid, nobody);
      act();
    }).join();
  };
  as_nobody([&] {
    EXPECT_THAT(get("/log"), StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 200"));
  });
  server.reset();
  listen(key);  // who has the key may be anybody
  as_nobody([&] {
    EXPECT_THAT(get("/log", "Authorization: Bearer " + key + "\r\n"), HasSubstr("a log"));
  });
}

TEST_F(http_server_test, knows_its_user_over_ipv6_too) {
  listen("", "::1");
  EXPECT_THAT(ask("GET /log HTTP/1.1\r\nHost: [::1]\r\n\r\n", "::1"), HasSubstr("a log"));
}

TEST_F(http_server_test, answers_nobody_in_the_name_of_another_host) {
  listen();
  for (const auto* name : {"example.org", "example.org:9464", "", "127.0.0.1.example.org"})
    EXPECT_THAT(get("/metrics", "", name), StartsWith("HTTP/1.1 403")) << name;
  for (const auto* name : {"localhost:1", "127.0.0.1", "[::1]:9464"})
    EXPECT_THAT(get("/metrics", "", name), StartsWith("HTTP/1.1 200")) << name;
}

TEST_F(http_server_test, wants_its_key) {
  listen(key);
  const auto refused = get("/metrics");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Basic"));
  EXPECT_THAT(get("/metrics", "Authorization: Bearer " + key + "x\r\n"),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get("/metrics", "Authorization: Bearer \r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(reads, 0);
  EXPECT_THAT(get("/metrics", "Authorization: Bearer " + key + "\r\n", "any.host"),
              StartsWith("HTTP/1.1 200"));
  // "tidegate:a-key-of-many-characters"
  EXPECT_THAT(
      get("/metrics", "Authorization: Basic dGlkZWdhdGU6YS1rZXktb2YtbWFueS1jaGFyYWN0ZXJz\r\n"),
      StartsWith("HTTP/1.1 200"));
}

// The library would keep all of it in memory, and answer each range.
TEST_F(http_server_test, lets_little_of_a_request_through) {
  listen(key);
  const auto authorized = "Authorization: Bearer " + key + "\r\n";
  const auto ranged = get("/metrics", authorized + "Range: bytes=0-,0-,0-\r\n");
  EXPECT_THAT(ranged, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(ranged, testing::Not(HasSubstr("multipart")));
  EXPECT_THAT(get("/metrics", "X: " + std::string(20'000, 'x') + "\r\n" + authorized),
              StartsWith("HTTP/1.1 431"));
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "a: b\r\n";
  EXPECT_THAT(get("/metrics", many + authorized), StartsWith("HTTP/1.1 431"));
  // Lines of the library's that would be none of ours.
  EXPECT_THAT(get("/metrics", authorized + "Accept: x\nRange: bytes=0-,0-\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(get("/metrics", authorized + "Accept: x\rRange: bytes=0-,0-\r\n"),
              StartsWith("HTTP/1.1 400"));
}

TEST_F(http_server_test, survives_what_is_no_request) {
  listen();
  EXPECT_THAT(get("/" + std::string(100'000, 'x')), testing::Not(HasSubstr("200 OK")));
  ask(std::string(10'000, '\0') + "\r\n\r\n");
  ask("\r\n\r\n\r\n");
  EXPECT_THAT(get("/metrics"), HasSubstr("200 OK"));
}

// More than it has threads for: each is let go in the end.
TEST_F(http_server_test, goes_on_beside_connections_that_say_nothing) {
  listen();
  std::vector<unique_fd> silent;
  for (int i = 0; i < 6; ++i) silent.push_back(connection());
  EXPECT_THAT(get("/metrics"), HasSubstr("200 OK"));
}

// More than it has threads and room for, silent or slow.
TEST_F(http_server_test, ends_whatever_is_under_way) {
  listen();
  std::vector<unique_fd> others;
  for (int i = 0; i < 60; ++i) {
    others.push_back(connection());
    if (i % 2 == 0) ::send(others.back().get(), "GET /metr", 9, MSG_NOSIGNAL);
  }
  EXPECT_TRUE(server->is_listening());
  server.reset();
  for (const auto& other : others) {
    char byte = 0;
    const auto got = ::recv(other.get(), &byte, 1, 0);
    EXPECT_TRUE(got == 0 || errno == ECONNRESET) << std::strerror(errno);
  }
}

TEST_F(http_server_test, answers_many_at_once) {
  listen();
  std::vector<std::thread> askers;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i)
    askers.emplace_back([&] {
      for (int n = 0; n < 50; ++n)
        if (get("/metrics").find("200 OK") != std::string::npos) ++right;
    });
  for (auto& asker : askers) asker.join();
  EXPECT_EQ(right, 400);
}

TEST_F(http_server_test, listens_over_ipv6) {
  listen("", "::1");
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n", "::1"), HasSubstr("200 OK"));
}

TEST_F(http_server_test, says_why_it_cannot_listen) {
  listen();
  const auto again = http_server::listen("127.0.0.1", server->port(), "", {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), errc::already_exists);
  EXPECT_THAT(again.error().message(), HasSubstr("Address already in use"));
  const auto elsewhere = http_server::listen("192.0.2.77", 0, "", {});
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message(), HasSubstr("192.0.2.77"));
}

TEST_F(http_server_test, leaves_signals_as_they_were) {
  std::signal(SIGPIPE, SIG_DFL);
  listen();
  EXPECT_EQ(std::signal(SIGPIPE, SIG_DFL), SIG_DFL);
}

TEST(monitor_key, is_one_long_word_that_nobody_else_can_read) {
  const auto path = testing::TempDir() + "monitor_key";
  const auto write = [&](const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return read_monitor_key(path);
  };
  EXPECT_EQ(*write("  " + key + "\n", 0600), key);
  EXPECT_EQ(write(key, 0640).error().code(), errc::refused);
  EXPECT_EQ(write("short", 0600).error().code(), errc::invalid_argument);
  EXPECT_EQ(write("a-key-of-many%41characters", 0600).error().code(), errc::invalid_argument);
  EXPECT_EQ(write("two words of a key, longer", 0600).error().code(), errc::invalid_argument);
  EXPECT_EQ(write("\n", 0600).error().code(), errc::invalid_argument);
  std::remove(path.c_str());
  EXPECT_EQ(read_monitor_key(path).error().code(), errc::not_found);
}

}  // namespace
}  // namespace tidegate::launch
