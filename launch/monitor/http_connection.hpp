// A connection of who asks over HTTP, as the library's stream: one request, of which little is
// let through, and one answer, both before a deadline. What the library would read without a
// limit (lines, headers, bodies, ranges) it never sees. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <httplib.h>
#include <string>

namespace tidegate::launch {

class http_connection final : public httplib::Stream {
 public:
  // `socket` stays the caller's. `deadline`: of steady_now(), for all that happens here.
  http_connection(int socket, std::int64_t deadline) : socket_(socket), deadline_(deadline) {}

  // Reads the head of a request. Returns true if it is one that the library may answer; else
  // it has been refused here, or its peer has left.
  bool read_request();

  bool is_readable() const override { return at_ < request_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* into, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  bool wait_for(short events) const;
  bool read_head(std::string& head);
  void refuse(const char* status);

  int socket_;
  std::int64_t deadline_;
  std::string request_;  // what the library reads
  std::size_t at_ = 0;   // of it has been read
};

}  // namespace tidegate::launch
