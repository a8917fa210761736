# Whether and how kernels for GPUs are built. TIDEGATE_CUDA: ON, OFF, or AUTO, which is ON where there is an nvcc.
# Sets TIDEGATE_HAS_CUDA. Without it only what a CPU can test of them is built.
set(TIDEGATE_CUDA AUTO CACHE STRING "Kernels for GPUs: ON, OFF, or AUTO where there is an nvcc")
set_property(CACHE TIDEGATE_CUDA PROPERTY STRINGS AUTO ON OFF)

set(TIDEGATE_HAS_CUDA OFF)
if(TIDEGATE_SANITIZE)
  message(STATUS "Kernels for GPUs: not with sanitizers, which nvcc does not have")
elseif(TIDEGATE_CUDA)
  find_program(TIDEGATE_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin)
  if(TIDEGATE_NVCC)
    set(CMAKE_CUDA_COMPILER "${TIDEGATE_NVCC}" CACHE FILEPATH "nvcc")
  endif()
  if(TIDEGATE_NVCC OR NOT TIDEGATE_CUDA STREQUAL "AUTO")
    set(CMAKE_CUDA_ARCHITECTURES 80 CACHE STRING "Of CMake's own trials; targets say what they are built for")
    enable_language(CUDA)
    set(TIDEGATE_HAS_CUDA ON)
  endif()
endif()

# By the headers' contents: preprocessed text is that of one processor, and says nothing of the other's.
if(CCACHE_PROGRAM)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_DEPEND=1;${CCACHE_PROGRAM}")
endif()

set(TIDEGATE_CUDA_CODES compute_80,sm_80,sm_90)
if(TIDEGATE_HAS_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  string(APPEND TIDEGATE_CUDA_CODES ",sm_100")
endif()

# tidegate_cuda_target(NAME): how the .cu files of a target are compiled. The machine code of all architectures comes
# from the same PTX, because nothing in it is of one of them and a third less time is spent; newer devices compile
# the PTX. The options after that are nvcc's word for the arithmetic of IEEE 754.
function(tidegate_cuda_target name)
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES OFF)
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:\
    -std=c++20 --generate-code=arch=compute_80,code=[${TIDEGATE_CUDA_CODES}]\
    -fmad=false -prec-sqrt=true -prec-div=true -ftz=false -Xcompiler=-Wall,-Wextra>")
  if(TIDEGATE_WERROR)
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler=-Werror>")
  endif()
endfunction()
