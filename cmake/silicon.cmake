# Two measurements on a real NVIDIA GPU (docs/silicon.md). Built when asked for; needs no CUDA toolkit, and libraries travel in
# a folder beside it (scripts/prepare_silicon).
set(silicon_in ${PROJECT_SOURCE_DIR}/bench/silicon)
set(silicon_modules ${PROJECT_BINARY_DIR}/silicon_modules)
set(silicon_module ${silicon_modules}/silicon.ptx)
add_custom_command(OUTPUT ${silicon_module} DEPENDS ${silicon_in}/silicon.cu ${device_headers}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${silicon_modules}
  COMMAND ${TERRACE_CLANG} ${TERRACE_DEVICE_FLAGS} -Wall -Wextra -Werror -I${workloads_in}/include ${silicon_in}/silicon.cu -o ${silicon_module}
  COMMENT "Device code silicon.ptx" VERBATIM)
add_custom_target(silicon_module DEPENDS ${silicon_module})
add_executable(silicon ${silicon_in}/main.cc ${silicon_in}/scaling.cc ${silicon_in}/multiplex.cc
  tests/real_gpu/cuda_driver.cc tests/real_gpu/gpu_runner.cc)
target_include_directories(silicon PRIVATE ${PROJECT_SOURCE_DIR}/tests ${silicon_in})
target_link_libraries(silicon PRIVATE terrace_objects ${CMAKE_DL_LIBS})
target_link_options(silicon PRIVATE -Wl,--disable-new-dtags)
if(TERRACE_LTO)
  target_link_options(silicon PRIVATE -fno-lto)
endif()
add_dependencies(silicon silicon_module terrace_modules)
set_target_properties(silicon PROPERTIES EXCLUDE_FROM_ALL TRUE BUILD_RPATH "$ORIGIN/lib")
