# Writes a source that holds the files FILES as text: cmake -DFILES="a;b" -DOUT=x.cpp -P embed_texts.cmake
set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND rows "    {\"${name}\", R\"scenario(${text})scenario\"},\n")
endforeach()
file(WRITE "${OUT}" "#include \"launch/simulate/standard_texts.hpp\"

namespace tidegate::simulate {

namespace {

constexpr scenario_text texts[] = {
${rows}};

}  // namespace

std::span<const scenario_text> standard_texts() {
  return texts;
}

}  // namespace tidegate::simulate
")
