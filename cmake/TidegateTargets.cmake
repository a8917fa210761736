# How every target of Tidegate is built: one library per folder, one flag set for all.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without these ccache keeps nothing that is compiled with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE_PROGRAM}")
endif()

# Tests link the same libraries a hundred times.
find_program(MOLD_PROGRAM mold)
if(TIDEGATE_BUILD_TESTS AND MOLD_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

add_library(tidegate_flags INTERFACE)
target_compile_features(tidegate_flags INTERFACE cxx_std_20)
# Same bits everywhere: no contraction into FMA, no reassociation. errno of sqrt is not read by anyone.
target_compile_options(tidegate_flags INTERFACE -ffp-contract=off -fno-math-errno)
target_include_directories(tidegate_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

add_library(tidegate_warnings INTERFACE)
# GCC 12 sees overlapping copies in `"text" + std::string` (GCC bug 105651) and uninitialised members in
# moved variants (bug 105562 and kin).
# Designated initialisers name what differs from the defaults, and no more.
# In a unity build names shadow those of sources that see nothing of each other otherwise.
target_compile_options(tidegate_warnings INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Wnon-virtual-dtor
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized>
  $<$<AND:$<BOOL:${TIDEGATE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)  # to nvcc it is another option

# For tests' own sources, which take longer to compile than to run: a third less.
add_library(tidegate_test_flags INTERFACE)
target_compile_options(tidegate_test_flags INTERFACE $<$<CONFIG:Release>:-O1>)

if(TIDEGATE_SANITIZE)
  add_compile_options(-fsanitize=${TIDEGATE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TIDEGATE_SANITIZE})
  if(TIDEGATE_SANITIZE MATCHES "undefined")
    # CAF's headers bind references to null on purpose.
    add_compile_options(-fno-sanitize=null -fno-sanitize-recover=undefined)
  endif()
endif()

# In builds with tests known mistakes can be made (runtime/base/planted.hpp).
if(TIDEGATE_BUILD_TESTS)
  target_compile_definitions(tidegate_flags INTERFACE $<BUILD_INTERFACE:TIDEGATE_PLANTED_BUGS>)
endif()

# The standard library's headers, parsed once for all libraries that link this.
set(source "${PROJECT_BINARY_DIR}/standard_headers.cpp")
file(CONFIGURE OUTPUT "${source}" CONTENT "")
add_library(tidegate_standard_headers OBJECT EXCLUDE_FROM_ALL "${source}")
target_link_libraries(tidegate_standard_headers PRIVATE tidegate_flags tidegate_warnings)
set_target_properties(tidegate_standard_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_precompile_headers(tidegate_standard_headers PRIVATE <algorithm> <array> <cstdint> <cstring> <functional>
  <map> <memory> <optional> <set> <span> <string> <string_view> <tl/expected.hpp> <unordered_map> <utility> <variant>
  <vector>)

# tidegate_library(NAME SOURCES a.cpp ... DEPENDS target ... [OWN_HEADERS] [SEPARATE])
# Static library tidegate_NAME, alias tidegate::NAME. DEPENDS are public. Its sources are compiled as one where
# TIDEGATE_UNITY is on, unless they are SEPARATE. OWN_HEADERS: it does not take the precompiled
# standard headers, because it has its own or is built with other flags; TIDEGATE_OWN_HEADERS says so for a folder.
function(tidegate_library name)
  cmake_parse_arguments(ARG "OWN_HEADERS;SEPARATE" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(tidegate_${name} STATIC ${ARG_SOURCES})
  add_library(tidegate::${name} ALIAS tidegate_${name})
  target_link_libraries(tidegate_${name} PUBLIC tidegate_flags ${ARG_DEPENDS}
    PRIVATE ${ARG_PRIVATE_DEPENDS} $<BUILD_INTERFACE:tidegate_warnings>)
  set_target_properties(tidegate_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  if(TIDEGATE_UNITY AND NOT ARG_SEPARATE)
    set_target_properties(tidegate_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
  if(NOT ARG_OWN_HEADERS AND NOT TIDEGATE_OWN_HEADERS)
    target_precompile_headers(tidegate_${name} REUSE_FROM tidegate_standard_headers)
  endif()
  set_property(GLOBAL APPEND PROPERTY TIDEGATE_LIBRARIES tidegate_${name})
endfunction()

# tidegate_program(NAME SOURCES a.cpp ... DEPENDS target ...)
function(tidegate_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} tidegate_flags tidegate_warnings)
endfunction()

# GoogleTest's headers, parsed once for all tests.
function(tidegate_precompile_test name)
  if(NOT TARGET tidegate_test_headers)
    set(source "${PROJECT_BINARY_DIR}/test_headers.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "")
    add_library(tidegate_test_headers OBJECT "${source}")
    target_link_libraries(tidegate_test_headers PRIVATE tidegate_flags tidegate_warnings tidegate_test_flags
      GTest::gmock)
    target_precompile_headers(tidegate_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${name} REUSE_FROM tidegate_test_headers)
endfunction()

# tidegate_test(NAME SOURCES a.cpp ... DEPENDS target ... [LABELS l] [TIMEOUT s] [SEPARATE])
# A GoogleTest program; one CTest per program. Without LABELS it has those of TIDEGATE_TEST_LABELS, which a folder
# sets. SEPARATE: its sources use the same names for different things, so
# that each is compiled by itself.
function(tidegate_test name)
  cmake_parse_arguments(ARG "SEPARATE" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} tidegate_flags tidegate_warnings
    tidegate_test_flags GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  tidegate_precompile_test(${name})
  # What they include takes longer than they do: several at a time.
  list(LENGTH ARG_SOURCES count)
  if(count GREATER 2 AND NOT ARG_SEPARATE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS ${TIDEGATE_TEST_LABELS})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  set_property(GLOBAL APPEND PROPERTY TIDEGATE_TEST_SOURCES ${ARG_SOURCES})
endfunction()
