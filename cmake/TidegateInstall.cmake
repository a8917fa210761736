# What `cmake --install` puts where, for a user who writes workers:
#   bin/       tidegate and the example worker fashion_mnist
#   include/   tidegate/client.hpp and, below tidegate/, the few headers that it needs
#   lib/       static libraries; cmake/tidegate/ with the package: find_package(tidegate),
#              target tidegate::client
#   share/tidegate/examples/   cluster files, and push_pull.cpp to copy

if(NOT TARGET tidegate_actors)
  return()  # without CAF there is nothing that a worker could use
endif()

include(CMakePackageConfigHelpers)
set(TIDEGATE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tidegate")

# All that a worker program links.
add_library(tidegate_client INTERFACE)
add_library(tidegate::client ALIAS tidegate_client)
set_target_properties(tidegate_client PROPERTIES EXPORT_NAME client)
target_link_libraries(tidegate_client INTERFACE tidegate_actors)
target_include_directories(tidegate_client INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/actors/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# The libraries below the client. What only a program needs stays out.
get_property(TIDEGATE_CLIENT_LIBRARIES GLOBAL PROPERTY TIDEGATE_LIBRARIES)
list(FILTER TIDEGATE_CLIENT_LIBRARIES EXCLUDE REGEX
  "^tidegate_(launch|bench|chaos|measure|sim|scenarios|scale|simulate)$")
set_target_properties(tidegate_flags PROPERTIES EXPORT_NAME flags)
install(TARGETS tidegate_client ${TIDEGATE_CLIENT_LIBRARIES} tidegate_flags
  EXPORT tidegateTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT tidegateTargets NAMESPACE tidegate:: DESTINATION "${TIDEGATE_PACKAGE_DIR}")

# The front door, and the headers it includes under the names it uses. tests/install compiles a program
# against these alone, so one that is missing here is noticed.
install(FILES actors/include/tidegate/client.hpp
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tidegate")
foreach(header IN ITEMS actors/client.hpp runtime/base/status.hpp)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tidegate/${folder}")
endforeach()

configure_package_config_file(cmake/tidegateConfig.cmake.in
  "${PROJECT_BINARY_DIR}/tidegateConfig.cmake"
  INSTALL_DESTINATION "${TIDEGATE_PACKAGE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tidegateConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/tidegateConfig.cmake"
  "${PROJECT_BINARY_DIR}/tidegateConfigVersion.cmake"
  cmake/FindCAF.cmake
  DESTINATION "${TIDEGATE_PACKAGE_DIR}")

foreach(program IN ITEMS tidegate fashion_mnist)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
install(FILES
  examples/fashion_mnist.yaml
  examples/fashion_mnist_softmax.yaml
  examples/push_pull.cpp
  examples/push_pull.yaml
  examples/scale.yaml
  examples/two_jobs.yaml
  DESTINATION "${CMAKE_INSTALL_DATADIR}/tidegate/examples")
