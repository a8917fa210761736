// The two ends of a stream of messages that outlives its connections: messages are numbered
// from 1, kept until the other side has taken them, and sent again over each new connection.
// So each is taken once, in order, as long as both sides live. Values; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace tidegate::policies {

template <class Message>
class message_outbox {
 public:
  // Keeps the message, and returns its number.
  std::uint64_t add(Message message) {
    kept_.push_back(std::move(message));
    return first_ + kept_.size() - 1;
  }
  // The other side has taken all messages up to this number.
  void taken(std::uint64_t number) {
    while (!kept_.empty() && first_ <= number) {
      kept_.pop_front();
      ++first_;
    }
  }
  // Calls visit(number, message) for each that is kept, the oldest first.
  template <class Visit>
  void visit(const Visit& visit_message) const {
    auto number = first_;
    for (const auto& message : kept_) visit_message(number++, message);
  }
  // Returns how many the other side has not taken, as far as is known.
  std::size_t size() const noexcept { return kept_.size(); }
  // Begins anew with another receiver, who has taken nothing.
  void clear() { *this = {}; }

 private:
  std::deque<Message> kept_;
  std::uint64_t first_ = 1;  // the number of kept_.front()
};

class message_inbox {
 public:
  // Returns true if this message is the next, and counts it as taken. One that comes again is
  // not; nor is one behind a gap, which no sender of this kind leaves: see is_gap().
  bool take(std::uint64_t number) noexcept {
    if (number != taken_ + 1) return false;
    taken_ = number;
    return true;
  }
  bool is_gap(std::uint64_t number) const noexcept { return number > taken_ + 1; }
  std::uint64_t taken() const noexcept { return taken_; }
  void clear() noexcept { taken_ = 0; }

 private:
  std::uint64_t taken_ = 0;
};

}  // namespace tidegate::policies
