# Measurements on a real NVIDIA GPU (docs/silicon.md). Built when asked for; needs no CUDA toolkit, and libraries travel in
# a folder beside it (scripts/prepare_silicon).
set(silicon_in ${PROJECT_SOURCE_DIR}/bench/silicon)
set(silicon_modules ${PROJECT_BINARY_DIR}/silicon_modules)
set(silicon_built "")
foreach(name silicon micro tenants)
  set(module ${silicon_modules}/${name}.ptx)
  add_custom_command(OUTPUT ${module} DEPENDS ${silicon_in}/${name}.cu ${silicon_in}/device_clock.h ${silicon_in}/device_memory.h ${device_headers}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${silicon_modules}
    COMMAND ${TERRACE_CLANG} ${TERRACE_DEVICE_FLAGS} -Wall -Wextra -Werror -I${workloads_in}/include ${silicon_in}/${name}.cu -o ${module}
    COMMENT "Device code ${name}.ptx" VERBATIM)
  list(APPEND silicon_built ${module})
endforeach()
add_custom_target(silicon_module DEPENDS ${silicon_built})
add_executable(silicon ${silicon_in}/main.cc ${silicon_in}/scaling.cc ${silicon_in}/multiplex.cc
  ${silicon_in}/micro.cc ${silicon_in}/micro_points.cc ${silicon_in}/json_file.cc ${silicon_in}/simulated.cc
  ${silicon_in}/tenants.cc ${silicon_in}/pairs.cc ${silicon_in}/predicted.cc ${silicon_in}/recording.cc
  ${silicon_in}/processes.cc ${silicon_in}/workload_times.cc ${silicon_in}/workloads.cc ${silicon_in}/simulated_workloads.cc
  tests/real_gpu/cuda_driver.cc tests/real_gpu/gpu_runner.cc)
target_include_directories(silicon PRIVATE ${PROJECT_SOURCE_DIR}/tests ${silicon_in})
target_link_libraries(silicon PRIVATE terrace_objects ${CMAKE_DL_LIBS})
target_link_options(silicon PRIVATE -Wl,--disable-new-dtags)
if(TERRACE_LTO)
  target_link_options(silicon PRIVATE -fno-lto)
endif()
add_dependencies(silicon silicon_module terrace_modules)
set_target_properties(silicon PROPERTIES EXCLUDE_FROM_ALL TRUE BUILD_RPATH "$ORIGIN/lib")
configure_file(${silicon_in}/pairs.txt ${silicon_modules}/pairs.txt COPYONLY)

# What can be tested of it without a GPU.
terrace_tests(silicon_test silicon)
target_sources(silicon_test PRIVATE ${silicon_in}/micro_points.cc ${silicon_in}/json_file.cc ${silicon_in}/simulated.cc
  ${silicon_in}/tenants.cc ${silicon_in}/processes.cc ${silicon_in}/workload_times.cc ${silicon_in}/simulated_workloads.cc)
target_include_directories(silicon_test PRIVATE ${PROJECT_SOURCE_DIR}/tests ${silicon_in})
add_dependencies(silicon_test silicon_module)
terrace_list_tests(silicon_test)
