// What UCX sees of a stream that its peer has reset.
#include "runtime/ucx/stream_refusals.hpp"

#include <array>
#include <cerrno>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

using send_function = ssize_t (*)(int, const void*, size_t, int);

class stream_refusals_test : public testing::Test {
 protected:
  // Connects two sockets of loopback, and resets the far one.
  void SetUp() override {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listening, name, bytes), 0);
    ASSERT_EQ(::listen(listening, 1), 0);
    ASSERT_EQ(::getsockname(listening, name, &bytes), 0);
    near = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::connect(near, name, bytes), 0);
    const int far = ::accept(listening, nullptr, nullptr);
    const linger reset{.l_onoff = 1, .l_linger = 0};
    ASSERT_EQ(::setsockopt(far, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    ::close(far);
    ::close(listening);
  }

  // Returns the error of a send, by the function that UCX's libraries call.
  int error_of_send() const {
    const auto as_libraries_see_it =
        reinterpret_cast<send_function>(::dlsym(RTLD_DEFAULT, "send"));
    errno = 0;
    return as_libraries_see_it(near, "x", 1, MSG_NOSIGNAL) < 0 ? errno : 0;
  }

  // Stays open, as the last number that was answered "try again" is remembered.
  int near = -1;
};

TEST_F(stream_refusals_test, are_told_at_once_to_others_than_ucx) {
  EXPECT_EQ(error_of_send(), ECONNRESET);
  EXPECT_EQ(error_of_send(), EPIPE);
}

TEST_F(stream_refusals_test, are_left_to_the_receiver_the_first_time) {
  const stream_refusals postponed;
  EXPECT_EQ(error_of_send(), EAGAIN);
  std::array<char, 1> received{};
  EXPECT_EQ(::recv(near, received.data(), received.size(), MSG_DONTWAIT), 0) << "the end";
}

// UCX repeats some sends until they are taken or refused.
TEST_F(stream_refusals_test, are_told_when_the_send_is_repeated) {
  const stream_refusals postponed;
  EXPECT_EQ(error_of_send(), EAGAIN);
  EXPECT_EQ(error_of_send(), EPIPE);
}

}  // namespace
}  // namespace tidegate::runtime
