// Slots of one kind that are kept and used again, of this folder alone: UCX holds the address
// of one from post to completion. Grows when all are out; from then on nothing is allocated.
// One thread.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include <ucp/api/ucp.h>

namespace tidegate::runtime {

// `Slot` has a pointer `owner`, which each gets once.
template <class Slot, class Owner>
class slot_pool {
 public:
  explicit slot_pool(Owner* owner) : owner_(owner) {}

  Slot& take() {
    if (free_.empty()) {
      free_.reserve(slots_.size() + 1);
      free_.push_back(&slots_.emplace_back());
      free_.back()->owner = owner_;
    }
    auto* slot = free_.back();
    free_.pop_back();
    return *slot;
  }
  void give_back(Slot& slot) { free_.push_back(&slot); }

  std::size_t out() const noexcept { return slots_.size() - free_.size(); }
  std::deque<Slot>& all() noexcept { return slots_; }

 private:
  Owner* owner_;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_;
};

// UCX's callbacks for requests whose user data is a slot: the slot's owner finishes it with
// this method.
template <auto Finish>
struct completion;

template <class Owner, class Slot, void (Owner::*Finish)(Slot&, ucs_status_t)>
struct completion<Finish> {
  static void of_send(void* request, ucs_status_t code, void* slot) {
    auto& done = *static_cast<Slot*>(slot);
    (done.owner->*Finish)(done, code);
    ucp_request_free(request);
  }
  static void of_receive(void* request, ucs_status_t code, std::size_t, void* slot) {
    of_send(request, code, slot);
  }

  static ucp_request_param_t send_param(Slot& slot, unsigned flags) {
    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = flags;
    param.cb.send = &of_send;
    param.user_data = &slot;
    return param;
  }
};

}  // namespace tidegate::runtime
