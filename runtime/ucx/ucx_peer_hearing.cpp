// Asks peers whether they still hear what is sent to them; see ucx_hearing.hpp.
#include "runtime/ucx/ucx_link_impl.hpp"

namespace tidegate::runtime {

namespace {

// Three answers and a pause: who is deaf is known within two seconds.
constexpr std::uint32_t pause_between_questions_ms = 400;
// A turn that finds nothing to do costs less than a look at the timer.
constexpr unsigned turns_between_looks = 64;

}  // namespace

void ucx_link::use(connection& to) {
  to.hears.use();
  if (!questions_.runs()) questions_.start(pause_between_questions_ms);
}

unsigned ucx_link::ask_when_due() {
  if (!slept_ && ++turns_ % turns_between_looks != 0) return 0;
  slept_ = false;
  if (!questions_.over()) return 0;
  bool asked = false;
  for (auto& peer : peers_) {
    if (peer.lost || !peer.endpoint) continue;
    const auto questions = peer.hears.ask();
    if (!questions) continue;
    asked = true;
    hearing_message message{
        .sender = number_, .connection = peer.id, .round = questions->round};
    if (questions->first) {
      message.kind = hearing_kind::named_question;
      say(peer, message);
      message.kind = hearing_kind::question;
    }
    say(peer, message);
  }
  if (asked) questions_.start(pause_between_questions_ms);
  return 1;
}

// UCX names the pair in messages that can be replied to.
void ucx_link::say(connection& to, const hearing_message& message) {
  auto& slot = sayings_.take();
  slot.message = message;
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  if (message.kind == hearing_kind::named_question) param.flags |= UCP_AM_SEND_FLAG_REPLY;
  param.cb.send = &ucx_link::on_said;
  param.user_data = &slot;
  auto* request = ucp_am_send_nbx(to.endpoint, hearing_am_id, &slot.message,
                                  sizeof slot.message, nullptr, 0, &param);
  if (!UCS_PTR_IS_PTR(request)) sayings_.give_back(slot);  // a connection that broke is told of
}

void ucx_link::on_said(void* request, ucs_status_t, void* slot) {
  auto& said = *static_cast<hearing_slot*>(slot);
  said.owner->sayings_.give_back(said);
  ucp_request_free(request);
}

ucs_status_t ucx_link::on_hearing(void* self, const void* header, std::size_t header_length,
                                  void*, std::size_t length, const ucp_am_recv_param_t*) {
  auto& link = *static_cast<ucx_link*>(self);
  const auto message =
      decode_hearing({static_cast<const std::byte*>(header), length == 0 ? header_length : 0});
  if (message)
    link.heard_.push_back(*message);
  else
    link.bad_frame({errc::corrupt, "a question or answer of a link that does not exist"});
  return UCS_OK;
}

// Not in the callback: UCX asserts that no connection ends while it goes through the events of
// its sockets, and an answer over a broken socket ends one.
unsigned ucx_link::hear_all() {
  const auto count = heard_.size();
  for (std::size_t i = 0; i < count; ++i) hear(heard_[i]);
  heard_.clear();
  return static_cast<unsigned>(count);
}

void ucx_link::hear(hearing_message message) {
  const bool asks =
      message.kind == hearing_kind::named_question || message.kind == hearing_kind::question;
  if (asks) return answer(message);
  if (message.connection >= peers_.size()) return;
  auto& peer = peers_[message.connection];
  if (peer.lost || peer.number != message.sender) return;
  if (message.kind == hearing_kind::named_answer) return peer.hears.named_answer(message.round);
  if (peer.hears.answer(message.round)) lose(peer, UCS_ERR_ENDPOINT_TIMEOUT);
}

// Over this side's own connection. Before it exists the question comes again.
void ucx_link::answer(hearing_message question) {
  for (auto& peer : peers_) {
    if (peer.lost || !peer.endpoint || peer.number != question.sender) continue;
    question.kind = question.kind == hearing_kind::named_question ? hearing_kind::named_answer
                                                                  : hearing_kind::answer;
    question.sender = number_;
    return say(peer, question);
  }
}

}  // namespace tidegate::runtime
