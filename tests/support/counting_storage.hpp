// A storage that counts what is asked of another one, by file. One thread, as any storage.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/storage.hpp"

namespace tidegate::tests {

struct storage_counts {
  std::uint64_t looks = 0;        // size()
  std::uint64_t reads_begun = 0;  // from byte 0 on
  std::uint64_t reads = 0;
  std::uint64_t bytes_read = 0;
};

class counting_storage : public runtime::storage {
 public:
  // Both must outlive it.
  counting_storage(runtime::storage& below, std::map<std::string, storage_counts>& files)
      : below_(below), files_(files) {}

  runtime::status create(const std::string& name) override { return below_.create(name); }
  runtime::status append(const std::string& name, std::span<const std::byte> bytes) override {
    return below_.append(name, bytes);
  }
  runtime::status sync(const std::string& name) override { return below_.sync(name); }
  runtime::status close(const std::string& name) override { return below_.close(name); }
  runtime::status rename(const std::string& from, const std::string& to) override {
    return below_.rename(from, to);
  }
  runtime::status remove(const std::string& name) override { return below_.remove(name); }
  runtime::status sync_folder() override { return below_.sync_folder(); }
  runtime::expected<std::vector<std::string>> list() override { return below_.list(); }
  runtime::expected<std::uint64_t> size(const std::string& name) override {
    ++files_[name].looks;
    return below_.size(name);
  }
  runtime::status read(const std::string& name, std::uint64_t offset,
                       std::span<std::byte> into) override {
    auto& file = files_[name];
    ++file.reads;
    if (offset == 0) ++file.reads_begun;
    file.bytes_read += into.size();
    return below_.read(name, offset, into);
  }

 private:
  runtime::storage& below_;
  std::map<std::string, storage_counts>& files_;
};

}  // namespace tidegate::tests
