// Messages that carry frames into a mailbox without allocating: a mailbox element per frame,
// kept and used again.
//
// CAF gives an element back through request_deletion(); these go back to their store. Of the
// reactor's thread; elements may outlive the store's owner, as a mailbox is emptied last.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/messages.hpp"

namespace tidegate::actors {

class frame_element final
    : public caf::mailbox_element,
      public caf::detail::tuple_vals_impl<caf::type_erased_tuple, frame_event> {
 public:
  using content_tuple = caf::detail::tuple_vals_impl<caf::type_erased_tuple, frame_event>;

  // Elements that wait for their next frame. Its owner closes it, which ends a cycle: elements
  // hold their store.
  struct store {
    std::vector<std::unique_ptr<frame_element>> free;
    std::size_t made = 0;
    bool open = true;

    void close() {
      open = false;
      free.clear();
    }
  };

  explicit frame_element(std::shared_ptr<store> home)
      : caf::mailbox_element(nullptr, caf::make_message_id(), {}),
        content_tuple(frame_event{}),
        home_(std::move(home)) {}

  static caf::mailbox_element_ptr take(const std::shared_ptr<store>& home,
                                       const runtime::frame_header& header,
                                       runtime::buffer payload, std::uint64_t copied) {
    if (home->free.empty()) {
      home->free.reserve(++home->made);
      home->free.push_back(std::make_unique<frame_element>(home));
    }
    auto* element = home->free.back().release();
    home->free.pop_back();
    auto& event = std::get<0>(element->data());
    event.header = header;
    event.payload = std::move(payload);
    event.copied = copied;
    return caf::mailbox_element_ptr(element);
  }

  caf::type_erased_tuple& content() override { return *this; }
  const caf::type_erased_tuple& content() const override { return *this; }
  caf::message move_content_to_message() override {
    return caf::make_message(std::move(std::get<0>(data())));
  }
  caf::message copy_content_to_message() const override {
    return caf::make_message(std::get<0>(data()));
  }

  void request_deletion(bool) const noexcept override {
    auto* self = const_cast<frame_element*>(this);
    std::get<0>(self->data()).payload = {};
    self->next = nullptr;
    if (home_->open)
      home_->free.emplace_back(self);  // within what take() reserved
    else
      delete self;
  }

 private:
  std::shared_ptr<store> home_;
};

}  // namespace tidegate::actors
