# runtime/kernels/cuda and its tests alone, for machines that have CUDA, CMake and a C++ compiler and none of Tidegate's
# packages (preset cuda-kernels).
if(NOT TIDEGATE_HAS_CUDA)
  message(FATAL_ERROR "TIDEGATE_ONLY_CUDA_KERNELS needs nvcc; set CUDA_PATH, or TIDEGATE_NVCC to its path")
endif()
enable_testing()

# In place of the libraries of these folders, what the kernels need of them.
add_library(tidegate_kernels STATIC
  runtime/base/assert.cpp runtime/kernels/tree.cpp runtime/optimizers/schedule.cpp)
add_library(tidegate::kernels ALIAS tidegate_kernels)
target_link_libraries(tidegate_kernels PUBLIC tidegate_flags PRIVATE tidegate_warnings)

add_subdirectory(runtime/kernels/cuda)
add_subdirectory(tests/runtime/kernels/cuda)
