# What `cmake --install` puts where, for a user who writes workers:
#   bin/       tidegate and the example worker fashion_mnist
#   include/   tidegate/*.hpp, the whole public API
#   lib/       static libraries; cmake/tidegate/ with the package: find_package(tidegate),
#              target tidegate::client
#   share/tidegate/examples/   cluster files, and push_pull.cpp to copy
#   share/doc/tidegate/        README.md, docs/, LICENSE, CHANGELOG.md
#   share/man/, share/bash-completion/, share/zsh/, share/fish/   where Debian looks for manual pages and completion

if(NOT TARGET tidegate_session)
  return()  # without CAF there is nothing that a worker could use
endif()

include(CMakePackageConfigHelpers)
set(TIDEGATE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tidegate")

# All that a worker program links.
add_library(tidegate_client INTERFACE)
add_library(tidegate::client ALIAS tidegate_client)
set_target_properties(tidegate_client PROPERTIES EXPORT_NAME client)
target_link_libraries(tidegate_client INTERFACE tidegate_session tidegate_filters)

# The libraries below the client. What only a program needs stays out.
get_property(TIDEGATE_CLIENT_LIBRARIES GLOBAL PROPERTY TIDEGATE_LIBRARIES)
list(FILTER TIDEGATE_CLIENT_LIBRARIES EXCLUDE REGEX
  "^tidegate_(text|config|plan|processes|host_agents|monitor|trace|screen|run|page|top|submit|options|manual|door|kubernetes|cli|pages|bench|chaos|measure|sim|scenarios|scale|simulate|node|chunks|objects)$")
set_target_properties(tidegate_flags PROPERTIES EXPORT_NAME flags)
install(TARGETS tidegate_client ${TIDEGATE_CLIENT_LIBRARIES} tidegate_policies tidegate_flags
  EXPORT tidegateTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT tidegateTargets NAMESPACE tidegate:: DESTINATION "${TIDEGATE_PACKAGE_DIR}")

# tests/install compiles a program against these alone.
install(DIRECTORY include/tidegate DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

get_property(TIDEGATE_HAS_IPSEC_MB GLOBAL PROPERTY TIDEGATE_HAS_IPSEC_MB)
configure_package_config_file(cmake/tidegateConfig.cmake.in
  "${PROJECT_BINARY_DIR}/tidegateConfig.cmake"
  INSTALL_DESTINATION "${TIDEGATE_PACKAGE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tidegateConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/tidegateConfig.cmake"
  "${PROJECT_BINARY_DIR}/tidegateConfigVersion.cmake"
  cmake/FindCAF.cmake
  cmake/FindIPSecMB.cmake
  DESTINATION "${TIDEGATE_PACKAGE_DIR}")

foreach(program IN ITEMS tidegate fashion_mnist)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
install(FILES
  examples/fashion_mnist.yaml
  examples/fashion_mnist_softmax.yaml
  examples/notebook.ipynb
  examples/push_pull.cpp
  examples/push_pull.yaml
  examples/scale.yaml
  examples/two_hosts.yaml
  examples/two_jobs.yaml
  DESTINATION "${CMAKE_INSTALL_DATADIR}/tidegate/examples")
install(DIRECTORY examples/jax examples/numpy examples/pytorch DESTINATION "${CMAKE_INSTALL_DATADIR}/tidegate/examples"
  PATTERN __pycache__ EXCLUDE)
install(DIRECTORY "${PROJECT_BINARY_DIR}/manual/share/" DESTINATION "${CMAKE_INSTALL_DATADIR}" OPTIONAL)
install(FILES README.md LICENSE CHANGELOG.md CONTRIBUTING.md DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tidegate")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tidegate")
