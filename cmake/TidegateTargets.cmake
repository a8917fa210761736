# How every target of Tidegate is built: one library per folder, one flag set for all.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without these ccache keeps nothing that is compiled with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE_PROGRAM}")
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

add_library(tidegate_flags INTERFACE)
target_compile_features(tidegate_flags INTERFACE cxx_std_20)
# Same bits everywhere: no contraction into FMA, no reassociation. errno of sqrt is not read by anyone.
target_compile_options(tidegate_flags INTERFACE -ffp-contract=off -fno-math-errno)
target_include_directories(tidegate_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/tidegate>)

add_library(tidegate_warnings INTERFACE)
# GCC 12 sees overlapping copies in `"text" + std::string` (GCC bug 105651) and uninitialised members in
# moved variants (bug 105562 and kin).
# In a unity build names shadow those of sources that see nothing of each other otherwise.
target_compile_options(tidegate_warnings INTERFACE -Wall -Wextra -Wnon-virtual-dtor
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized>
  $<$<BOOL:${TIDEGATE_WERROR}>:-Werror>)

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

# tidegate_library(NAME SOURCES a.cpp ... DEPENDS target ...)
# Static library tidegate_NAME, alias tidegate::NAME. DEPENDS are public.
function(tidegate_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(tidegate_${name} STATIC ${ARG_SOURCES})
  add_library(tidegate::${name} ALIAS tidegate_${name})
  target_link_libraries(tidegate_${name} PUBLIC tidegate_flags ${ARG_DEPENDS}
    PRIVATE ${ARG_PRIVATE_DEPENDS} $<BUILD_INTERFACE:tidegate_warnings>)
  set_target_properties(tidegate_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
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

# tidegate_test(NAME SOURCES a.cpp ... DEPENDS target ... [LABELS l] [TIMEOUT s])
# A GoogleTest program; one CTest per program.
function(tidegate_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} tidegate_flags tidegate_warnings
    tidegate_test_flags GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  tidegate_precompile_test(${name})
  # What they include takes longer than they do: several at a time.
  list(LENGTH ARG_SOURCES count)
  if(count GREATER 2)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  set_property(GLOBAL APPEND PROPERTY TIDEGATE_TEST_SOURCES ${ARG_SOURCES})
endfunction()
