// Messages that carry frames into a mailbox without allocating: a mailbox element per frame,
// kept and used again.
//
// CAF gives an element back through request_deletion(); these go back to their store. Of the
// reactor's thread; elements may outlive the store's owner, as a mailbox is emptied last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/control/messages.hpp"

namespace tidegate::actors {

class frame_element final : public caf::mailbox_element, public caf::type_erased_tuple {
 public:
  // Elements that wait for their next frame. Its owner closes it, which ends a cycle: elements
  // hold their store.
  struct store {
    std::vector<std::unique_ptr<frame_element>> free;
    std::size_t created = 0;
    bool open = true;

    void close() {
      open = false;
      free.clear();
    }
  };

  explicit frame_element(std::shared_ptr<store> home)
      : caf::mailbox_element(nullptr, caf::make_message_id(), {}), home_(std::move(home)) {}

  static caf::mailbox_element_ptr take(const std::shared_ptr<store>& home,
                                       const runtime::frame_header& header,
                                       runtime::buffer payload, std::uint64_t copied) {
    if (home->free.empty()) {
      home->free.reserve(++home->created);
      home->free.push_back(std::make_unique<frame_element>(home));
    }
    auto* element = home->free.back().release();
    home->free.pop_back();
    element->event_.header = header;
    element->event_.payload = std::move(payload);
    element->event_.copied = copied;
    return caf::mailbox_element_ptr(element);
  }

  caf::type_erased_tuple& content() override { return *this; }
  const caf::type_erased_tuple& content() const override { return *this; }
  caf::message move_content_to_message() override {
    return caf::make_message(std::move(event_));
  }
  caf::message copy_content_to_message() const override { return caf::make_message(event_); }

  // The content: one value, which never leaves the process.
  std::size_t size() const noexcept override { return 1; }
  std::uint32_t type_token() const noexcept override {
    return caf::make_type_token<frame_event>();
  }
  caf::rtti_pair type(std::size_t) const noexcept override {
    return caf::make_rtti_pair<frame_event>();
  }
  const void* get(std::size_t) const noexcept override { return &event_; }
  void* get_mutable(std::size_t) override { return &event_; }
  std::string stringify(std::size_t) const override { return "frame_event"; }
  caf::type_erased_value_ptr copy(std::size_t) const override {
    return caf::make_type_erased_value<frame_event>(event_);
  }
  caf::error load(std::size_t, caf::deserializer&) override {
    return caf::sec::invalid_argument;
  }
  caf::error save(std::size_t, caf::serializer&) const override {
    return caf::sec::invalid_argument;
  }

  void request_deletion(bool) const noexcept override {
    auto* self = const_cast<frame_element*>(this);
    self->event_.payload = {};
    self->next = nullptr;
    if (home_->open)
      home_->free.emplace_back(self);  // within what take() reserved
    else
      delete self;
  }

 private:
  frame_event event_;
  std::shared_ptr<store> home_;
};

}  // namespace tidegate::actors
