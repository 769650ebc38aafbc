// Every kind of device code, against what inst_stream.h and stream_kind.h promise the SM and whoever builds a run. A
// scripted kind, registered here alone, shows that one file is enough: whole runs find it by the tenant's name.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <sstream>

#include "engine/archive.h"
#include "engine/check.h"
#include "frontend/functional_runner.h"
#include "frontend/stream_kind.h"
#include "run/exec.h"
#include "support/scratch.h"
#include "timing/scripted_stream.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

/// Its text is a list of operations, "load_add_barrier.script"; tenants name it in just that way.
class ScriptedKind final : public StreamKind {
 public:
  static constexpr u32 kRounds = 3;

  std::string_view name() const override { return "script"; }
  std::unique_ptr<InstStream> make(const DeviceCode& code, GuestMemory&, u32 warp_width) const override {
    return std::make_unique<ScriptedStream>(read(code), kRounds, warp_width);
  }
  void check(const DeviceCode& code) const override { read(code); }
  bool reads(std::string_view program) const override { return program.ends_with(".script"); }
  ProgramInstance load(const std::string& program, u64) const override {
    return {std::make_unique<ScriptProgram>(4, 64), {program, program.substr(0, program.find('.')), "script"}};
  }

 private:
  static std::vector<ScriptOp> read(const DeviceCode& code) {
    std::vector<ScriptOp> script;
    std::istringstream words(code.text);
    for (std::string word; std::getline(words, word, '_');) script.push_back(operation(word, code.file));
    return script;
  }
  static ScriptOp operation(const std::string& word, const std::string& file) {
    const auto address = [](const ScriptPlace& place, u32 lane) {
      return GuestMemory::kBase + (place.block * 64 + place.warp * 32 + lane) * 4 + place.round * 4096;
    };
    if (word == "add") return {plain_inst(InstClass::kInteger, {1}, {2})};
    if (word == "barrier") return {plain_inst(InstClass::kBarrier, {}, {})};
    if (word == "load") return {memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {0}, {1}), address};
    input_error("{}: there is no operation \"{}\"; available: add, barrier, load", file, word);
  }
};

const RegisterStreamKind<ScriptedKind> kScriptedKind;

constexpr char kPtx[] = R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 data) {
  .reg .u64 %at; .reg .u32 %i, %t, %v; .shared .u32 partner[64];
  ld.param.u64 %at, [data];
  mov.u32 %i, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, 64, %t;
  .reg .u64 %off; mul.wide.u32 %off, %i, 4; add.u64 %at, %at, %off;
  ld.global.u32 %v, [%at];
  .reg .u64 %s; mov.u64 %s, partner; mul.wide.u32 %off, %t, 4; add.u64 %s, %s, %off;
  st.shared.u32 [%s], %v;
  bar.sync 0;
  add.u32 %v, %v, 1;
  st.global.u32 [%at], %v;
  ret;
}
)";

/// A folder of a trace whose kernel does much the same.
std::string trace_folder() {
  static const Scratch scratch;
  std::string text =
      "-kernel name = k\n-grid dim = (4,1,1)\n-block dim = (64,1,1)\n-shmem = 256\n-nregs = 16\n"
      "-accelsim tracer version = 4\n";
  for (u32 block = 0; block < 4; ++block) {
    text += fmt::format("#BEGIN_TB\nthread block = {},0,0\n", block);
    for (u32 warp = 0; warp < 2; ++warp) {
      const u64 at = GuestMemory::kBase + (block * 2 + warp) * 128;
      text += fmt::format(
          "warp = {0}\ninsts = 6\n0000 ffffffff 1 R2 IADD3 2 R0 R1 0\n0010 ffffffff 1 R4 LDG.E 1 R2 4 1 {1:#x} 4\n"
          "0020 ffffffff 0 STS 2 R0 R4 4 1 {2:#x} 4\n0030 ffffffff 0 BAR.SYNC 0 0\n"
          "0040 0000ffff 0 STG.E 2 R2 R4 4 1 {1:#x} 4\n0050 ffffffff 0 EXIT 0 0\n",
          warp, at, warp * 128);
    }
    text += "#END_TB\n";
  }
  scratch.write("k/kernel-1.traceg", text);
  scratch.write("k/kernelslist.g", "kernel-1.traceg\n");
  return (scratch.path() / "k").string();
}

/// Code of a kind with a launch of four blocks of two warps over a buffer of a megabyte, with a barrier in it.
struct Example {
  DeviceCode code, wrong;
  std::vector<u32> widths{32, 64};  // of warps
};
const std::map<std::string_view, Example>& examples() {
  static const std::map<std::string_view, Example> all{
      {"ptx", {{"example.ptx", kPtx}, {"wrong.ptx", ".version 7.8\n.target sm_70\n.entry k( {"}}},
      {"script", {{"a.script", "load_add_barrier_load", "script"}, {"b.script", "load_jump", "script"}}},
      // Warps of recorded kernels have 32 threads.
      {"traces", {stream_kind("traces").load(trace_folder(), 1).code, {"nowhere", "no manifest", "traces"}, {32}}},
  };
  return all;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const StreamKind* kind : stream_kinds()) names.emplace_back(kind->name());
  return names;
}

class EveryStreamKind : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(examples().contains(GetParam())) << "give the kind an example in this file"; }
  const Example& example() const { return examples().at(GetParam()); }
};

/// A tenant that runs the example.
struct Tenant {
  explicit Tenant(const DeviceCode& code, u32 width = 32) : Tenant(code, width, {}) {
    shape = stream->begin_launch(launch);
  }
  /// Its launch has this shape, and is not begun.
  Tenant(const DeviceCode& code, u32 width, LaunchShape known)
      : memory(PageSize::k4K),
        buffer(memory, "data", 1 << 18),
        stream(make_stream(code, memory, width)),
        shape(std::move(known)) {
    launch.kernel = "k";
    launch.grid = {4};
    launch.block = {64};
    launch.argument(buffer);
  }
  BlockRef begin_block(u64 number, SmId sm = SmId{0}) { return stream->begin_block(shape.launch, number, sm); }
  /// One instruction of every warp of a block that can run; what each did, in words.
  std::string turn(BlockRef block) {
    std::string did;
    for (u32 w = 0; w < shape.warps_per_block; ++w) {
      const WarpRef warp = stream->warp(block, w);
      const WarpView& view = stream->view(warp);
      if (view.status != WarpStatus::kRunning) continue;
      const DecodedInst& inst = view.next();
      did += fmt::format("warp {} class {}", w, static_cast<u32>(inst.cls));
      stream->execute(warp, 7, stores, effect);
      stores.commit();
      did += fmt::format(" lanes {:x} status {}", effect.active, static_cast<u32>(effect.status));
      if (effect.action != MemoryAction::kNone)
        did += fmt::format(" at {:x}", effect.address[static_cast<u32>(std::countr_zero(effect.active))]);
      did += fmt::format(" frees {:x};", effect.released_warps);
    }
    return did;
  }

  GuestMemory memory;
  Buffer<u32> buffer;
  std::unique_ptr<InstStream> stream;
  LaunchShape shape;
  Launch launch;
  StoreLog stores;
  Effect effect;
};

TEST_P(EveryStreamKind, TheShapeOfALaunchIsWhatWasAskedFor) {
  for (const u32 width : example().widths) {
    const Tenant tenant(example().code, width);
    EXPECT_EQ(tenant.shape.kernel, "k");
    EXPECT_EQ(tenant.shape.blocks, 4u);
    EXPECT_EQ(tenant.shape.threads_per_block, 64u);
    EXPECT_EQ(tenant.shape.warps_per_block, 64 / width);
  }
}

TEST_P(EveryStreamKind, LookingChangesNothingAndNamesRegistersWithinTheScoreboard) {
  Tenant looks(example().code), does_not(example().code);
  const BlockRef a = looks.begin_block(2), b = does_not.begin_block(2);
  for (u32 step = 0; step < 1000; ++step) {
    for (u32 again = 0; again < 3; ++again) {
      const WarpView& view = looks.stream->view(looks.stream->warp(a, 0));
      if (view.status != WarpStatus::kRunning) continue;
      const DecodedInst& inst = view.next();
      for (u32 r = 0; r < u32{inst.sources} + inst.destinations; ++r)
        EXPECT_LT(inst.registers[r], looks.shape.scoreboard_names);
    }
    const std::string did = looks.turn(a);
    ASSERT_EQ(did, does_not.turn(b));
    if (did.empty()) break;
  }
}

TEST_P(EveryStreamKind, TheViewOfAWarpStaysWhereItIsWhileOtherBlocksComeAndGo) {
  Tenant tenant(example().code);
  const BlockRef first = tenant.begin_block(0);
  std::vector<const WarpView*> views;
  for (u32 w = 0; w < tenant.shape.warps_per_block; ++w)
    views.push_back(&tenant.stream->view(tenant.stream->warp(first, w)));
  std::vector<BlockRef> others;
  for (u64 number = 1; number < tenant.shape.blocks; ++number) others.push_back(tenant.begin_block(number));
  tenant.turn(first);
  for (const BlockRef other : others) {
    while (!tenant.turn(other).empty()) {
    }
    tenant.stream->end_block(other);
  }
  tenant.turn(first);
  for (u32 w = 0; w < tenant.shape.warps_per_block; ++w)
    EXPECT_EQ(&tenant.stream->view(tenant.stream->warp(first, w)), views[w]);
}

TEST_P(EveryStreamKind, EveryBlockEndsAndTouchesOnlyWhatTheTenantHas) {
  Tenant tenant(example().code);
  for (u64 number = 0; number < tenant.shape.blocks; ++number) {
    const BlockRef block = tenant.begin_block(number, SmId{1});
    u32 done = 0;
    for (u32 step = 0; step < 1000 && done < tenant.shape.warps_per_block; ++step) {
      for (u32 w = 0; w < tenant.shape.warps_per_block; ++w) {
        const WarpRef warp = tenant.stream->warp(block, w);
        if (tenant.stream->view(warp).status != WarpStatus::kRunning) continue;
        tenant.stream->execute(warp, step, tenant.stores, tenant.effect);
        tenant.stores.commit();
        // A warp that completes a barrier waits there and is let go at once.
        if (tenant.effect.released_warps == 0) {
          EXPECT_EQ(tenant.effect.status, tenant.stream->view(warp).status);
        }
        EXPECT_EQ(tenant.effect.active & ~u64{0xffff'ffff}, 0u) << "lanes beyond the warp";
        done += tenant.effect.status == WarpStatus::kDone;
        if (tenant.effect.action == MemoryAction::kNone || tenant.effect.space != MemorySpace::kGlobal) continue;
        for (u64 rest = tenant.effect.active; rest != 0; rest &= rest - 1) {
          const u64 at = tenant.effect.address[static_cast<u32>(std::countr_zero(rest))];
          EXPECT_TRUE(tenant.memory.contains({at}, tenant.effect.bytes));
        }
      }
    }
    EXPECT_EQ(done, tenant.shape.warps_per_block);
    tenant.stream->end_block(block);
  }
}

TEST_P(EveryStreamKind, ABlockThatIsSavedAndRestoredGoesOnWhereItWas) {
  Tenant whole(example().code), moved(example().code);
  const BlockRef a = whole.begin_block(3);
  BlockRef b = moved.begin_block(3);
  for (u32 step = 0; step < 1000; ++step) {
    const BlockImage image = moved.stream->save(b);
    moved.stream->end_block(b);
    b = moved.stream->restore(moved.shape.launch, image, SmId{static_cast<u16>(step % 4)});
    const std::string did = moved.turn(b);
    ASSERT_EQ(whole.turn(a), did);
    if (did.empty()) return;
  }
  FAIL() << "the block never ends";
}

TEST_P(EveryStreamKind, WhatIsSavedGoesOnInAFreshStreamUnderTheSameNumbers) {
  for (u32 after = 0; after < 1000; ++after) {
    Tenant whole(example().code);
    const BlockRef gone = whole.begin_block(1), one = whole.begin_block(3), two = whole.begin_block(0);
    whole.stream->end_block(gone);
    u32 done = 0;
    for (; done < after && !(whole.turn(one) + whole.turn(two)).empty(); ++done) {
    }
    if (done < after) return;
    const auto archive = [](Tenant& tenant, Archive& a) {
      tenant.stream->archive(a);
      tenant.memory.archive(a);
    };
    SavedState saved;
    archive(whole, saved);
    const auto bytes = saved.take();
    // As whoever goes on has it: the shape of the launch is known, and no launch has begun here.
    Tenant fresh(example().code, 32, whole.shape);
    RestoredState restored(bytes);
    archive(fresh, restored);
    SavedState again;
    archive(fresh, again);
    ASSERT_TRUE(again.take() == bytes);
    for (std::string did = "begun"; !did.empty();) {
      did = whole.turn(one) + whole.turn(two);
      ASSERT_EQ(fresh.turn(one) + fresh.turn(two), did) << "saved after " << after << " turns";
    }
    const BlockRef next = whole.begin_block(2);
    EXPECT_EQ(fresh.begin_block(2), next);
    EXPECT_EQ(fresh.turn(next), whole.turn(next));
    EXPECT_EQ(fresh.stream->begin_launch(fresh.launch).launch, whole.stream->begin_launch(whole.launch).launch);
    EXPECT_EQ(fresh.memory.digest(), whole.memory.digest());
  }
  FAIL() << "the blocks never end";
}

TEST_P(EveryStreamKind, LaunchesInFlightHaveRisingNumbersAndDoNotDisturbEachOther) {
  Tenant alone(example().code), both(example().code);
  const LaunchShape second = both.stream->begin_launch(both.launch);
  EXPECT_GT(both.shape.launch, LaunchId{0});
  EXPECT_GT(second.launch, both.shape.launch);
  const BlockRef a = alone.begin_block(1), b = both.begin_block(1);
  const BlockRef other = both.stream->begin_block(second.launch, 2);
  for (u32 step = 0; step < 1000; ++step) {
    both.turn(other);
    const std::string did = both.turn(b);
    ASSERT_EQ(alone.turn(a), did);
    if (!did.empty()) continue;
    for (const BlockRef block : {b, other}) both.stream->end_block(block);
    both.stream->end_launch(second.launch);
    both.stream->end_launch(both.shape.launch);
    return;
  }
  FAIL() << "the block never ends";
}

TEST_P(EveryStreamKind, CodeThatIsWrongIsRefusedByNameOfItsFile) {
  const StreamKind& kind = stream_kind(GetParam());
  kind.check(example().code);
  for (const bool only_check : {true, false}) {
    try {
      GuestMemory memory(PageSize::k4K);
      only_check ? kind.check(example().wrong) : void(make_stream(example().wrong, memory));
      FAIL() << "was accepted";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(example().wrong.file));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryStreamKind, ::testing::ValuesIn(kind_names()),
                         [](const auto& tested) { return tested.param; });

TEST(StreamKinds, AnUnknownKindIsNamedWithThoseThereAre) {
  GuestMemory memory(PageSize::k4K);
  try {
    make_stream({"x", "", "ptxx"}, memory);
    FAIL() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no kind of device code named \"ptxx\"; available: ptx, script, traces"));
  }
}

TEST(StreamKinds, ARunTakesAnyKindBesidesPtx) {
  const RunResult result = expect_laws(tenant_run("load_barrier_load_add.script mm"));
  // Four blocks of two warps, three rounds of four operations and the end.
  EXPECT_EQ(number(tenant_of(result, 0), "warp_instructions") % (8 * (3 * 4 + 1)), 0u);
  EXPECT_GE(number(tenant_of(result, 0), "completed_runs"), 1u);
  EXPECT_GE(number(tenant_of(result, 1), "completed_runs"), 1u);
}

TEST(StreamKinds, ExecTakesAnyKindBesidesPtx) {
  ExecOptions options;
  options.program = "load_add.script";
  EXPECT_EQ(execute_program(options).total.warp_instructions, 8u * (3 * 2 + 1));
}

}  // namespace
}  // namespace terrace
