// What UCX sees of a stream that its peer has reset.
#include "runtime/ucx/stream_refusals.hpp"

#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>
#include <ucs/sys/sock.h>

namespace tidegate::runtime {
namespace {

// A stream of loopback, whose far end is reset or not.
class stream_pair {
 public:
  stream_pair() {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listening, name, bytes), 0);
    EXPECT_EQ(::listen(listening, 1), 0);
    EXPECT_EQ(::getsockname(listening, name, &bytes), 0);
    near_ = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(near_, name, bytes), 0);
    far_ = ::accept(listening, nullptr, nullptr);
    ::close(listening);
  }
  ~stream_pair() {
    ::close(near_);
    if (far_ >= 0) ::close(far_);
  }
  stream_pair(const stream_pair&) = delete;
  stream_pair& operator=(const stream_pair&) = delete;

  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    EXPECT_EQ(::setsockopt(far_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    ::close(std::exchange(far_, -1));
  }
  int near() const { return near_; }

  // Returns the error of a send, by the functions that UCX is given.
  int error_of_send() const {
    errno = 0;
    return send_for_ucx(near_, "x", 1, MSG_NOSIGNAL) < 0 ? errno : 0;
  }
  int error_of_sendmsg() const {
    char byte = 'x';
    iovec piece{.iov_base = &byte, .iov_len = 1};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    errno = 0;
    return sendmsg_for_ucx(near_, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
  }
  // Returns the outcome of sends that UCX makes.
  ucs_status_t outcome_in_ucx() const {
    std::size_t bytes = 1;
    return ucs_socket_send_nb(near_, "x", &bytes);
  }
  ucs_status_t outcome_of_message_in_ucx() const {
    char byte = 'x';
    iovec piece{.iov_base = &byte, .iov_len = 1};
    std::size_t bytes = 1;
    return ucs_socket_sendv_nb(near_, &piece, 1, &bytes);
  }

 private:
  int near_ = -1;
  int far_ = -1;
};

TEST(stream_refusals, are_postponed_in_ucx_itself) {
  ASSERT_TRUE(stream_refusals::take_over_sends());
  for (const bool by_message : {false, true}) {
    stream_pair pair;
    pair.reset();
    const auto outcome = [&] {
      return by_message ? pair.outcome_of_message_in_ucx() : pair.outcome_in_ucx();
    };
    const stream_refusals postponed;
    EXPECT_EQ(outcome(), UCS_ERR_NO_PROGRESS);
    EXPECT_NE(outcome(), UCS_ERR_NO_PROGRESS);
  }
}

TEST(stream_refusals, are_told_at_once_while_none_lives) {
  stream_pair pair;
  pair.reset();
  EXPECT_EQ(pair.error_of_send(), ECONNRESET);
  EXPECT_EQ(pair.error_of_sendmsg(), EPIPE);
}

TEST(stream_refusals, are_left_to_the_receiver_the_first_time) {
  for (const bool by_message : {false, true}) {
    stream_pair pair;
    pair.reset();
    const stream_refusals postponed;
    EXPECT_EQ(by_message ? pair.error_of_sendmsg() : pair.error_of_send(), EAGAIN);
    std::array<char, 1> received{};
    EXPECT_EQ(::recv(pair.near(), received.data(), received.size(), MSG_DONTWAIT), 0);
  }
}

// UCX repeats some sends until they are taken or refused.
TEST(stream_refusals, are_told_when_the_send_is_repeated) {
  stream_pair first, second;
  first.reset();
  second.reset();
  const stream_refusals postponed;
  EXPECT_EQ(first.error_of_send(), EAGAIN);
  EXPECT_EQ(second.error_of_sendmsg(), EAGAIN);
  EXPECT_EQ(first.error_of_sendmsg(), EPIPE);
  EXPECT_EQ(second.error_of_send(), EPIPE);
}

// The number of a closed descriptor is given to the next one.
TEST(stream_refusals, of_another_stream_with_the_same_number_are_left_to_the_receiver) {
  const stream_refusals postponed;
  int number = -1;
  for (int time = 0; time < 3; ++time) {
    stream_pair pair;
    if (number >= 0) {
      EXPECT_EQ(pair.near(), number);
    }
    number = pair.near();
    pair.reset();
    EXPECT_EQ(pair.error_of_send(), EAGAIN);
  }
}

TEST(stream_refusals, leave_a_stream_that_is_whole_alone) {
  const stream_pair pair;
  const stream_refusals postponed;
  EXPECT_EQ(pair.error_of_send(), 0);
  EXPECT_EQ(pair.error_of_sendmsg(), 0);
}

}  // namespace
}  // namespace tidegate::runtime
