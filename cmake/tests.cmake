# Tests link into few executables, one per kind. ctest lists each test by its own name, except where sanitizers make a program
# start slowly: there a program runs its tests in shards, each of many tests.
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
include(GoogleTest)

# The folders of this build are told to one small file: no other object depends on them, so that the compiler cache serves
# every clone.
add_library(test_paths OBJECT tests/support/paths.cc)
target_include_directories(test_paths PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(test_paths PRIVATE TERRACE_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}"
  TERRACE_BUILD_FOLDER="${PROJECT_BINARY_DIR}" TERRACE_PROGRAM="$<TARGET_FILE:terrace>")
target_link_libraries(test_paths PRIVATE terrace_flags)

function(terrace_tests name)
  set(sources "")
  foreach(folder ${ARGN})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cc)
    list(APPEND sources ${found})
  endforeach()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE terrace_objects test_paths GTest::gtest GTest::gmock GTest::gtest_main)
  # Tests are built more often than they run; what they test is optimised all the same.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(TERRACE_LTO)
    target_link_options(${name} PRIVATE -fno-lto)
  endif()
endfunction()
function(terrace_list_tests name)
  if(TERRACE_SANITIZE)
    # Starting takes 0.4 s, so that thousands of tests of their own would take longer to start than to run. Every 40th test
    # shares a process: the tests of a suite, which tend to be alike in length, spread over all shards.
    set(shards 40)
    math(EXPR last "${shards} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.part_${shard}_of_${shards} COMMAND ${name})
      set_tests_properties(${name}.part_${shard}_of_${shards} PROPERTIES LABELS ${name} TIMEOUT 1800
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
    endforeach()
    return()
  endif()
  # NO_PRETTY_VALUES: parameters have names in words; their values would be printed as bytes.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES PROPERTIES LABELS ${name} TIMEOUT 900 ${ARGN})
endfunction()

terrace_tests(unit unit contract timing papers benches)
# MPFR is the reference that the arithmetic of PTX is held to.
target_link_libraries(unit PRIVATE mpfr gmp)
# A test looks into every object of the program for calls of the math library.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/objects.txt CONTENT "$<JOIN:$<TARGET_OBJECTS:terrace_objects>,\n>\n")
terrace_list_tests(unit)
# What scripts/check_mistakes builds anew for each mistake: tests that need no whole machine, which take long to compile, and
# the policies that they use. Built when asked for.
terrace_tests(single_units benches)
file(GLOB single_unit_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/timing/dram_*_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/engine_*_test.cc)
target_sources(single_units PRIVATE ${single_unit_tests} tests/contract/memory_policy_contract_test.cc
  tests/papers/cd_search_policies_test.cc tests/papers/intra_sm_policies_test.cc tests/papers/mask_policies_test.cc
  tests/unit/fault_list_test.cc tests/unit/fbt_table_test.cc tests/unit/l1_cache_test.cc tests/unit/translation_test.cc tests/unit/warp_scheduler_test.cc)
set_target_properties(single_units PROPERTIES EXCLUDE_FROM_ALL TRUE)

terrace_tests(laws laws random_kernels)
terrace_list_tests(laws)
terrace_tests(cli cli)
add_dependencies(cli terrace)
terrace_list_tests(cli)

# Compares Terrace with an NVIDIA GPU (docs/real_gpu.md). Built when asked for; libraries travel in a folder beside it.
terrace_tests(real_gpu real_gpu)
file(GLOB opcode_rows CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/ptx_opcode_*_rows.cc)
target_sources(real_gpu PRIVATE tests/random_kernels/generator.cc tests/random_kernels/instructions.cc
  tests/random_kernels/random_program.cc ${opcode_rows})
target_link_libraries(real_gpu PRIVATE mpfr gmp ${CMAKE_DL_LIBS})
target_link_options(real_gpu PRIVATE -Wl,--disable-new-dtags)
set_target_properties(real_gpu PROPERTIES EXCLUDE_FROM_ALL TRUE BUILD_RPATH "$ORIGIN/lib")

include(cmake/silicon.cmake)

# The examples of docs/add_a_policy.md compile. They are linked into nothing: a reader who follows the page adds them to src/.
add_library(example_policy OBJECT docs/examples/turns.cc docs/examples/busiest.cc docs/examples/leaf_bypass.cc)
target_link_libraries(example_policy PRIVATE terrace_flags fmt::fmt)

# Benchmarks, and the floors under them, mean something in the release build only. A floor is measured with nothing beside it.
if(TERRACE_LTO)
  # Built when asked for (cmake --build --preset release --target bench_gpu): each links the whole program once more.
  function(terrace_benchmark name)
    terrace_program(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE benchmark::benchmark)
  endfunction()
  terrace_benchmark(bench_engine bench/engine.cc tests/laws/toy/toy_machine.cc)
  terrace_benchmark(bench_exec bench/exec.cc)
  terrace_benchmark(bench_dram bench/dram.cc)
  terrace_benchmark(bench_gpu bench/gpu.cc)

  # What holds of the machines' results holds in every build: golden digests say that those are the same.
  terrace_tests(substrate substrate)
  terrace_list_tests(substrate)

  terrace_tests(speed speed laws/toy)
  target_compile_options(speed PRIVATE -O3)
  terrace_list_tests(speed RUN_SERIAL TRUE)
endif()

# Tests of the scripts around the program.
function(terrace_script_test name label)
  add_test(NAME scripts.${name} COMMAND ${ARGN})
  set_tests_properties(scripts.${name} PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()
set(script_tests ${PROJECT_SOURCE_DIR}/tests/scripts)
terrace_script_test(setup unit ${script_tests}/setup_test.sh ${PROJECT_SOURCE_DIR})
terrace_script_test(checks unit ${script_tests}/checks_test.sh ${PROJECT_SOURCE_DIR})
terrace_script_test(characterise unit python3 ${script_tests}/characterise_test.py ${PROJECT_SOURCE_DIR})
terrace_script_test(fit_silicon unit python3 ${script_tests}/fit_silicon_test.py ${PROJECT_SOURCE_DIR}/scripts/fit_silicon)
terrace_script_test(plot_silicon unit python3 ${script_tests}/plot_silicon_test.py ${PROJECT_SOURCE_DIR}/scripts/plot_silicon)
terrace_script_test(docs_links unit ${PROJECT_SOURCE_DIR}/scripts/check_docs)
terrace_script_test(docs_commands cli ${PROJECT_SOURCE_DIR}/scripts/check_docs $<TARGET_FILE:terrace>)

# What takes long: only ./check --all runs it.
add_test(NAME random_kernels.all COMMAND laws --gtest_also_run_disabled_tests --gtest_filter=RandomKernelsAll.*)
set_tests_properties(random_kernels.all PROPERTIES LABELS slow TIMEOUT 3600)
add_test(NAME laws.whole_matrix COMMAND laws --gtest_also_run_disabled_tests --gtest_filter=GpuLawsMatrix.*)
set_tests_properties(laws.whole_matrix PROPERTIES LABELS slow TIMEOUT 3600)
add_test(NAME virtual_storm.long COMMAND unit --gtest_also_run_disabled_tests --gtest_filter=VirtualStormLong.*)
set_tests_properties(virtual_storm.long PROPERTIES LABELS slow TIMEOUT 3600)
add_test(NAME cuda.long COMMAND cli --gtest_also_run_disabled_tests --gtest_filter=CudaLong.*:ServeLong.*)
set_tests_properties(cuda.long PROPERTIES LABELS slow TIMEOUT 3600)
foreach(workload 3ds atax bc bfs bicg bino blk bp cfd color color_maxmin cons cp dwt2d dxtc fft fw fw_block fwt gaussian gesummv gups
    histo hs jpeg kmeans lavamd lbm leu lib lps lud luh merge mis mm mum mvt nn nw pagerank pagerank_spmv pathfinder pvc qtc ray red sad
    sc scan scp srad sssp tpacf trd xsbench)
  add_test(NAME small.${workload} COMMAND terrace exec ${workload} --size small --check)
  set_tests_properties(small.${workload} PROPERTIES LABELS slow TIMEOUT 3600)
endforeach()

# CUDA programs that the tests of `terrace cuda` run, with their PTX embedded in each form that compilers use. clang builds them
# without a CUDA toolkit: it needs one only to make fat binaries, which a small program here does.
add_executable(make_fat_binary tests/cuda/make_fat_binary.cc)
target_link_libraries(make_fat_binary PRIVATE terrace_flags ${ZSTD})
set(cuda_out ${PROJECT_BINARY_DIR}/tests/cuda)
set(cuda_flags -x cuda --cuda-gpu-arch=sm_70 --cuda-path=/nonexistent -nocudainc -nocudalib -fms-extensions -std=c++17 -O1
    -Xclang -target-sdk-version=11.8 -Wno-unknown-cuda-version -Wall -Wextra -Werror)
set(cuda_programs "")
function(add_cuda_program name)
  set(source ${PROJECT_SOURCE_DIR}/tests/cuda/${name}.cu)
  add_custom_command(OUTPUT ${cuda_out}/${name}.ptx DEPENDS ${source} tests/cuda/cuda_mini.h tests/cuda/expect.h tests/cuda/grid_barrier.h
    tests/cuda/compared.h tests/cuda/sampling.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${cuda_out}
    COMMAND ${TERRACE_CLANG} ${cuda_flags} --cuda-device-only -S -Xclang -target-feature -Xclang +ptx78 ${source} -o
            ${cuda_out}/${name}.ptx
    COMMENT "Device code of the CUDA test program ${name}" VERBATIM)
  foreach(form ${ARGN})
    set(program ${cuda_out}/${name}_${form})
    add_custom_command(OUTPUT ${program} DEPENDS ${cuda_out}/${name}.ptx make_fat_binary cudart_13
      COMMAND make_fat_binary ${cuda_out}/${name}.ptx ${program}.fatbin ${form}
      COMMAND ${TERRACE_CLANG} ${cuda_flags} --cuda-host-only -c -Xclang -fcuda-include-gpubinary -Xclang ${program}.fatbin
              ${source} -o ${program}.o
      COMMAND ${TERRACE_CLANG} ${program}.o $<TARGET_FILE:cudart_13> -lpthread -o ${program}
      COMMENT "CUDA test program ${name}, ${form}" VERBATIM)
    list(APPEND cuda_programs ${program})
  endforeach()
  set(cuda_programs ${cuda_programs} PARENT_SCOPE)
endfunction()
add_cuda_program(api plain lz4 zstd)
add_cuda_program(calls zstd)
add_cuda_program(device_calls plain)
add_cuda_program(sampling plain)
add_cuda_program(surface_bytes plain)
add_cuda_program(surfaces zstd)
add_cuda_program(textures zstd)
# These say by hand what only nvcc's output says.
foreach(name managed linked)
  add_executable(cuda_${name} tests/cuda/${name}.cc)
  target_compile_options(cuda_${name} PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(cuda_${name} PRIVATE cudart_13)
  set_target_properties(cuda_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${cuda_out} OUTPUT_NAME ${name})
endforeach()
# Where a toolkit of the same version as the runtime library is at hand, its compiler builds programs, too: those of above, and one whose device code
# is linked.
if(TERRACE_NVCC)
  execute_process(COMMAND ${TERRACE_NVCC} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
endif()
if(TERRACE_NVCC AND nvcc_version MATCHES "release 13\\.")
  function(add_nvcc_program name)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/tests/cuda/ OUTPUT_VARIABLE sources)
    add_custom_command(OUTPUT ${cuda_out}/nvcc/${name} DEPENDS ${sources} tests/cuda/compared.h tests/cuda/sampling.h tests/cuda/linking.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${cuda_out}/nvcc
      COMMAND ${TERRACE_NVCC} -rdc=true -arch=sm_75 -cudart shared -std=c++17 -O2 -Xcompiler -Wall,-Wextra -Xnvlink --suppress-stack-size-warning ${sources} -o
              ${cuda_out}/nvcc/${name}
      COMMENT "CUDA test program ${name}, by nvcc" VERBATIM)
    set(cuda_programs ${cuda_programs} ${cuda_out}/nvcc/${name} PARENT_SCOPE)
  endfunction()
  add_nvcc_program(device_calls device_calls.cu)
  add_nvcc_program(sampling sampling.cu)
  add_nvcc_program(surface_bytes surface_bytes.cu)
  add_nvcc_program(linking linking_main.cu linking_rules.cu linking_deep.cu)
endif()
add_custom_target(cuda_programs ALL DEPENDS ${cuda_programs})
add_dependencies(cli cuda_programs cuda_managed cuda_linked)
