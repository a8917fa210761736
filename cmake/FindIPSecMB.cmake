# Intel's Multi-Buffer Crypto for IPsec, for processors of x86-64; it ships no CMake package. Defines IPSecMB::IPSecMB.
find_path(IPSecMB_INCLUDE_DIR NAMES intel-ipsec-mb.h)
find_library(IPSecMB_LIBRARY NAMES IPSec_MB)

if(IPSecMB_INCLUDE_DIR)
  file(STRINGS "${IPSecMB_INCLUDE_DIR}/intel-ipsec-mb.h" IPSecMB_VERSION REGEX "^#define IMB_VERSION_STR ")
  string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" IPSecMB_VERSION "${IPSecMB_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(IPSecMB REQUIRED_VARS IPSecMB_LIBRARY IPSecMB_INCLUDE_DIR VERSION_VAR IPSecMB_VERSION)

if(IPSecMB_FOUND AND NOT TARGET IPSecMB::IPSecMB)
  add_library(IPSecMB::IPSecMB UNKNOWN IMPORTED)
  set_target_properties(IPSecMB::IPSecMB PROPERTIES IMPORTED_LOCATION "${IPSecMB_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${IPSecMB_INCLUDE_DIR}")
endif()
mark_as_advanced(IPSecMB_INCLUDE_DIR IPSecMB_LIBRARY)
