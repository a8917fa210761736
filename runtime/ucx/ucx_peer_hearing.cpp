#include "runtime/ucx/ucx_peer_hearing.hpp"

namespace tidegate::runtime {

namespace {

// Three answers and a pause: who is deaf is known within two seconds.
constexpr std::uint32_t pause_between_questions_ms = 400;
// A turn that finds nothing to do costs less than a look at the timer.
constexpr unsigned turns_between_looks = 64;

}  // namespace

status ucx_peer_hearing::open() {
  if (auto set = worker_.handle(hearing_am_id, &ucx_peer_hearing::on_message, this); !set.ok())
    return set;
  return questions_.open();
}

void ucx_peer_hearing::start_pause() {
  questions_.start(pause_between_questions_ms);
}

unsigned ucx_peer_hearing::ask_when_due() {
  if (!slept_ && ++turns_ % turns_between_looks != 0) return 0;
  slept_ = false;
  if (!questions_.over()) return 0;
  bool asked = false;
  for (peer_id peer = 0; peer < connections_.size(); ++peer) {
    const auto endpoint = connections_.endpoint(peer);
    if (endpoint == nullptr) continue;
    const auto questions = hears_[peer].ask();
    if (!questions) continue;
    asked = true;
    hearing_message message{
        .sender = worker_.number(), .connection = peer, .round = questions->round};
    if (questions->first) {
      message.kind = hearing_kind::named_question;
      say(endpoint, message);
      message.kind = hearing_kind::question;
    }
    say(endpoint, message);
  }
  if (asked) start_pause();
  return 1;
}

void ucx_peer_hearing::tell_given_up(peer_id over, std::span<const peer_id> gone) {
  const auto endpoint = connections_.endpoint(over);
  for (const auto peer : gone)
    if (endpoint != nullptr)
      say(endpoint,
          {.kind = hearing_kind::given_up, .sender = worker_.number(), .connection = peer});
}

// UCX names the pair in messages that can be replied to.
void ucx_peer_hearing::say(ucp_ep_h endpoint, const hearing_message& message) {
  auto& slot = sayings_.take();
  slot.message = message;
  auto param = completion<&ucx_peer_hearing::finish>::send_param(slot, UCP_AM_SEND_FLAG_EAGER);
  if (message.kind == hearing_kind::named_question) param.flags |= UCP_AM_SEND_FLAG_REPLY;
  auto* request = ucp_am_send_nbx(endpoint, hearing_am_id, &slot.message, sizeof slot.message,
                                  nullptr, 0, &param);
  if (!UCS_PTR_IS_PTR(request)) sayings_.give_back(slot);  // a connection that broke is told of
}

ucs_status_t ucx_peer_hearing::on_message(void* self, const void* header,
                                          std::size_t header_length, void*, std::size_t length,
                                          const ucp_am_recv_param_t*) {
  auto& hearing = *static_cast<ucx_peer_hearing*>(self);
  const auto message =
      decode_hearing({static_cast<const std::byte*>(header), length == 0 ? header_length : 0});
  if (message)
    hearing.heard_.push_back(*message);
  else
    hearing.delivery_.bad_frame(
        {errc::corrupt, "a question or answer of a link that does not exist"});
  return UCS_OK;
}

// Not in the callback: UCX asserts that no connection ends while it goes through the events of
// its sockets, and an answer over a broken socket ends one.
unsigned ucx_peer_hearing::hear_all() {
  const auto count = heard_.size();
  for (std::size_t i = 0; i < count; ++i) hear(heard_[i]);
  heard_.clear();
  return static_cast<unsigned>(count);
}

void ucx_peer_hearing::hear(const hearing_message& message) {
  const bool asks =
      message.kind == hearing_kind::named_question || message.kind == hearing_kind::question;
  if (asks) return answer(message);
  if (message.kind == hearing_kind::given_up)
    return given_up_.push_back({.worker = message.sender, .connection = message.connection});
  const peer_id peer = message.connection;
  if (peer >= connections_.size()) return;
  if (connections_.endpoint(peer) == nullptr) return;
  if (connections_.number(peer) != message.sender) return;
  if (message.kind == hearing_kind::named_answer)
    return hears_[peer].named_answer(message.round);
  if (hears_[peer].answer(message.round)) connections_.lose(peer, UCS_ERR_ENDPOINT_TIMEOUT);
}

// Over this side's own connection. Before it exists the question comes again.
void ucx_peer_hearing::answer(hearing_message question) {
  for (peer_id peer = 0; peer < connections_.size(); ++peer) {
    const auto endpoint = connections_.endpoint(peer);
    if (endpoint == nullptr || connections_.number(peer) != question.sender) continue;
    question.kind = question.kind == hearing_kind::named_question ? hearing_kind::named_answer
                                                                  : hearing_kind::answer;
    question.sender = worker_.number();
    return say(endpoint, question);
  }
}

}  // namespace tidegate::runtime
