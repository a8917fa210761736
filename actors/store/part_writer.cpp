#include "actors/store/part_writer.hpp"

#include <utility>

namespace tidegate::actors {

void part_writer::start(folder_opener open, policies::file_writer file, completion done) {
  wait();
  thread_ = std::thread(
      [open = std::move(open), file = std::move(file), done = std::move(done)]() mutable {
        auto storage = open();
        if (!storage) return done(runtime::fail(storage.error()));
        done(policies::write_all(std::move(file), **storage));
      });
}

// The last to hold the owner may be what `done` was made of, which goes on that thread: there
// is nothing left to wait for then.
void part_writer::wait() {
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

}  // namespace tidegate::actors
