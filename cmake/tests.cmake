# Tests link into few executables, one per kind; ctest lists each test by its own name.
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
include(GoogleTest)

function(terrace_tests name)
  set(sources "")
  foreach(folder ${ARGN})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cc)
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE TERRACE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE terrace_objects GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${name} TIMEOUT 300)
endfunction()

terrace_tests(unit unit contract)

# Micro-benchmarks; linked like the program, since their speed is what they are about.
terrace_program(bench_exec bench/exec.cc)
target_link_libraries(bench_exec PRIVATE benchmark::benchmark)

# MPFR is the reference that the arithmetic of PTX is held to.
target_link_libraries(unit PRIVATE mpfr gmp)
# A test looks into every object of the program for calls of the math library.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/objects.txt CONTENT "$<JOIN:$<TARGET_OBJECTS:terrace_objects>,\n>\n")
target_compile_definitions(unit PRIVATE TERRACE_OBJECT_LIST="${PROJECT_BINARY_DIR}/objects.txt")
