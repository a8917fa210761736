# Writes a source that holds the files FILES byte by byte, as launch/page/assets.hpp has them:
# cmake -DFILES="a;b" -DOUT=x.cpp -P embed_page.cmake
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  if(name MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  elseif(name MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  elseif(name MATCHES "\\.js$")
    set(type "text/javascript; charset=utf-8")
  elseif(name MATCHES "\\.svg$")
    set(type "image/svg+xml")
  else()
    message(FATAL_ERROR "${file}: what type it has is not known to embed_page.cmake")
  endif()
  set(path "/page/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  file(SHA256 "${file}" tag)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "const char file_${number}[] = {\n${bytes}};\n")
  string(APPEND rows "    {\"${path}\", \"${type}\", {file_${number}, sizeof file_${number}}, \"${tag}\"},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUT}" "#include \"launch/page/assets.hpp\"

namespace tidegate::launch {

namespace {

${arrays}
const page_asset files[] = {
${rows}};

}  // namespace

std::span<const page_asset> page_assets() noexcept {
  return files;
}

}  // namespace tidegate::launch
")
