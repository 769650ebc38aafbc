// The runtime library that CUDA programs load: every call of CUDA's is there, and does what CUDA says or says that it does not.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "engine/types.h"
#include "support/program.h"
#include "support/scratch.h"

namespace terrace {
namespace {

Outcome run_program(const std::string& program) {
  const Scratch scratch;
  return run_terrace({"cuda", "--gpu", "dws_30sm", "--quiet", "--", build_folder() + "/tests/cuda/" + program},
                     scratch.path().string());
}

TEST(CudaCalls, DoWhatCudaSaysWithOneDefaultStreamAndWithOnePerThread) {
  const Outcome outcome = run_program("calls_zstd");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("all calls passed\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err,
            "terrace: cudaLaunchKernelExC with clusters of blocks is not supported\n"
            "terrace: cudaFuncSetAttribute of clusters of blocks is not supported\n");
}

TEST(CudaCalls, ServeManagedVariablesAtOneAddressOnBothSides) {
  const Outcome outcome = run_program("managed");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("managed variables passed\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST(CudaCalls, LinkDeviceCodeThatWasCompiledApart) {
  const Outcome outcome = run_program("linked");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("linked device code passed\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST(CudaCalls, ServeArraysAndTextureObjects) {
  const Outcome outcome = run_program("textures_zstd");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("textures passed\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err,
            "terrace: cudaCreateTextureObject with sRGB is not supported\n"
            "terrace: cudaCreateTextureObject of mipmaps is not supported\n");
}

TEST(CudaCalls, ServeSurfaceObjects) {
  const Outcome outcome = run_program("surfaces_zstd");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("surfaces passed\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST(CudaCalls, AreAllThereAndNameThemselvesWhereTheyAreNotServed) {
  constexpr int kNotSupported = 801;
  for (const char* name : {"libcudart.so.12", "libcudart.so.13"}) {
    // It stays loaded: what it holds until the process ends would count as leaked once nothing points to it.
    void* library = dlopen((build_folder() + "/cudart/" + name).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(library, nullptr) << dlerror();
    std::ifstream list(source_folder() + "/tests/cuda/calls.txt");
    u32 calls = 0, unserved = 0;
    for (std::string line; std::getline(list, line);) {
      if (line.starts_with("#")) continue;
      std::istringstream words(line);
      std::string call, mark;
      words >> call >> mark;
      void* address = dlsym(library, call.c_str());
      EXPECT_NE(address, nullptr) << call;
      ++calls;
      if (mark != "-" || address == nullptr) continue;
      ++unserved;
      testing::internal::CaptureStderr();
      EXPECT_EQ(reinterpret_cast<int (*)()>(address)(), kNotSupported) << call;
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "terrace: " + call + " is not supported\n");
    }
    EXPECT_GT(calls, 400u);
    EXPECT_GT(unserved, 200u);
  }
}

}  // namespace
}  // namespace terrace
