#include "runtime/transport/deferred_reports.hpp"

namespace tidegate::runtime {

void deferred_reports::send_failed(send_token token, const status& why) {
  if (token != 0) sends_.push({token, why});
}

void deferred_reports::bad_frame(const status& why) {
  delivery_.count_bad_frame();
  bad_.push_back(why);
}

void deferred_reports::forget(peer_id peer) {
  std::erase_if(peers_, [&](const auto& entry) { return entry.first == peer; });
}

unsigned deferred_reports::tell() {
  unsigned happened = 0;
  for (; !sends_.empty(); ++happened) {
    const auto failed = std::move(sends_.front());
    sends_.pop();
    delivery_.sink().on_sent(failed.token, failed.why);
  }
  for (; !frames_.empty(); ++happened) {
    const auto header = frames_.back();
    frames_.pop_back();
    delivery_.sink().on_frame_lost(header);
  }
  for (; !bad_.empty(); ++happened) {
    const auto why = std::move(bad_.back());
    bad_.pop_back();
    delivery_.sink().on_bad_frame(why);
  }
  for (; !peers_.empty(); ++happened) {
    const auto lost = std::move(peers_.back());
    peers_.pop_back();
    delivery_.sink().on_peer_lost(lost.first, lost.second);
  }
  return happened;
}

void deferred_reports::clear() noexcept {
  sends_.clear();
  peers_.clear();
  frames_.clear();
  bad_.clear();
}

}  // namespace tidegate::runtime
