// The files of the page, which are built into the program: web/ of this folder and Chart.js.
// Any thread.
#pragma once

#include <span>
#include <string_view>

namespace tidegate::launch {

struct page_asset {
  std::string_view path;  // that it is asked for by: "/page/main.js"
  std::string_view type;  // Content-Type
  std::string_view text;
  std::string_view tag;  // its SHA-256
};

std::span<const page_asset> page_assets() noexcept;

}  // namespace tidegate::launch
