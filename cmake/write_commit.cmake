# Writes OUT with the commit of the checkout SOURCE, if it changed.
execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
endif()
set(text "#include \"launch/simulate/version.hpp\"

namespace tidegate::simulate {

std::string built_commit() {
  return \"${commit}\";
}

}  // namespace tidegate::simulate
")
if(EXISTS "${OUT}")
  file(READ "${OUT}" before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE "${OUT}" "${text}")
endif()
