// Checkpoints of what programs and streams hold: saved in the middle, restored beside a fresh program, machine and memory, and
// then both go on alike.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/archive.h"
#include "frontend/functional_runner.h"
#include "frontend/stream_kind.h"
#include "frontend/user_program.h"
#include "support/scratch.h"
#include "unit/ptx_harness.h"

namespace terrace {
namespace {

using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

/// A program with memory and stream of its own, executed launch by launch.
struct Tenant {
  explicit Tenant(ProgramInstance its)
      : instance(std::move(its)), memory(PageSize::k4K), stream(made_stream()), runner(*stream) {}
  std::unique_ptr<InstStream> made_stream() {
    instance.program->allocate(memory);
    return make_stream(instance.code, memory);
  }

  void initialise() {
    stream->begin_run();
    instance.program->initialise(memory);
  }
  bool step() {
    const std::optional<Launch> launch = instance.program->next(memory);
    if (launch) runner.run(*launch);
    return launch.has_value();
  }
  u64 finish() {
    u64 launches = 0;
    while (step()) ++launches;
    return launches;
  }
  void archive(Archive& a) {
    instance.program->archive(a);
    stream->archive(a);
    memory.archive(a);
  }
  Bytes save() {
    SavedState state;
    archive(state);
    return state.take();
  }
  void restore(const Bytes& bytes) {
    RestoredState state(bytes);
    archive(state);
  }

  ProgramInstance instance;
  GuestMemory memory;
  std::unique_ptr<InstStream> stream;
  FunctionalRunner runner;
};

/// A run that is saved after so many launches and its restored copy end alike, and right.
template <class Make>
void expect_same_end(Make&& make, u64 executions_before, u64 launches) {
  Tenant undisturbed(make());
  for (u64 i = 0; i <= executions_before; ++i) {
    undisturbed.initialise();
    if (i < executions_before) undisturbed.finish();
  }
  for (u64 i = 0; i < launches; ++i) ASSERT_TRUE(undisturbed.step());
  const Bytes saved = undisturbed.save();
  Tenant restored(make());
  restored.initialise();
  restored.restore(saved);
  EXPECT_TRUE(restored.save() == saved) << "what was restored is not what was saved";
  EXPECT_EQ(restored.finish(), undisturbed.finish()) << "launches";
  EXPECT_EQ(restored.memory.digest(), undisturbed.memory.digest());
  EXPECT_TRUE(restored.save() == undisturbed.save());
  const CheckResult there = undisturbed.instance.program->check(undisturbed.memory);
  const CheckResult here = restored.instance.program->check(restored.memory);
  EXPECT_TRUE(there.passed) << there.message;
  EXPECT_TRUE(here.passed) << here.message;
  EXPECT_EQ(here.message, there.message);
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Workload* workload : all_workloads()) names.emplace_back(workload->info().name);
  return names;
}

class SavedWorkload : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Archive, SavedWorkload, testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

TEST_P(SavedWorkload, EndsAsIfNobodyHadSavedIt) {
  for (const std::string with : {"", ":iters=3"}) {
    const auto make = [&] { return make_workload(parse_workload(GetParam() + with, InputSize::kMini)); };
    Tenant whole(make());
    whole.initialise();
    const u64 launches = whole.finish();
    expect_same_end(make, 0, launches / 2);
    expect_same_end(make, 1, launches / 2);
    expect_same_end(make, 0, launches);  // only the check is left
  }
}

constexpr char kAddPtx[] = R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry add(.param .u64 from, .param .u64 to, .param .u32 n) {
  .reg .u64 %rd<5>; .reg .u32 %r<5>;
  ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
  ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, %r1; ld.global.u32 %r4, [%rd2]; add.u32 %r3, %r3, %r4;
  st.global.u32 [%rd2], %r3;
  ret;
}
)";

TEST(SavedUserProgram, GoesOnInTheMiddleOfItsGroupsAndWithItsMappings) {
  const Scratch scratch;
  scratch.write("add.ptx", kAddPtx);
  scratch.write("program.toml", R"(source = "add.ptx"
[[buffer]]
name = "x"
type = "u32"
count = 32
init = "iota"
[[buffer]]
name = "again"
same_as = "x"
read_only = true
[[buffer]]
name = "y"
type = "u32"
count = 32
[[group]]
name = "rounds"
repeat = 3
[[launch]]
kernel = "add"
grid = [1]
block = [32]
group = "rounds"
repeat = 2
args = ["again", "y", { expr = "10 * round + i" }]
[[launch]]
kernel = "add"
grid = [1]
block = [32]
group = "rounds"
fill = [{ buffer = "x", offset = 3, count = 2, value = 7 }]
args = ["y", "x", { u32 = 1 }]
[[launch]]
kernel = "add"
grid = [1]
block = [32]
unmap = ["x"]
read_write = ["again"]
args = ["y", "again", { u32 = 5 }]
)");
  const auto make = [&] { return load_user_program((scratch.path() / "program.toml").string()); };
  Tenant whole(make());
  whole.initialise();
  const u64 launches = whole.finish();
  ASSERT_EQ(launches, 10u);
  for (u64 before = 0; before < 2; ++before) {
    for (u64 after = 0; after <= launches; ++after) {
      Tenant undisturbed(make());
      for (u64 i = 0; i < before; ++i) undisturbed.initialise(), undisturbed.finish();
      undisturbed.initialise();
      for (u64 i = 0; i < after; ++i) ASSERT_TRUE(undisturbed.step());
      Tenant restored(make());
      restored.initialise();
      restored.restore(undisturbed.save());
      for (u64 again = 0; again < 2; ++again) {
        EXPECT_EQ(undisturbed.finish(), restored.finish());
        EXPECT_EQ(undisturbed.memory.digest(), restored.memory.digest()) << after << " launches";
        EXPECT_TRUE(undisturbed.save() == restored.save());
        undisturbed.initialise();
        restored.initialise();
      }
    }
  }
}

/// Everything that a warp can be in the middle of: lanes that part, calls, barriers, atomics, copies, a lock that lanes of one
/// warp take after each other, memory from malloc, text.
constexpr char kEverything[] = R"(.version 7.8
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc(.param .b64 a);
.extern .func free(.param .b64 a);
.global .align 1 .b8 format[8] = {116, 37, 100, 32, 37, 120, 10, 0};
.global .align 4 .b32 total = 5;
.func (.param .b32 r) twice(.param .b32 a) {
  .reg .b32 %x<3>;
  ld.param.b32 %x1, [a]; add.u32 %x2, %x1, %x1; st.param.b32 [r], %x2; ret;
}
.visible .entry k(.param .u64 out, .param .u64 lock) {
  .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>;
  .local .align 8 .b8 depot[16];
  .shared .align 8 .b64 bar; .shared .align 4 .b32 part[64]; .shared .align 4 .b32 copied[64];
  ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [lock];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd1, %rd3; mul.wide.u32 %rd4, %r1, 4;
  // Lanes part: loops of different lengths.
  and.b32 %r5, %r1, 7; mov.u32 %r6, 1;
LOOP:
  setp.eq.u32 %p1, %r5, 0; @%p1 bra DONE;
  { .param .b32 p; .param .b32 q; st.param.b32 [p], %r6; call.uni (q), twice, (p); ld.param.b32 %r6, [q]; }
  sub.u32 %r5, %r5, 1; bra LOOP;
DONE:
  setp.eq.u32 %p2, %r1, 0;
  cvt.u64.u32 %rd5, %r3; cvt.u32.u64 %r7, %rd5;
  @%p2 mbarrier.init.shared.b64 [bar], %r7;
  mov.u64 %rd6, part; add.u64 %rd6, %rd6, %rd4; st.shared.u32 [%rd6], %r6;
  // The second warp comes later to the barrier.
  shr.u32 %r8, %r1, 5; mul.lo.u32 %r8, %r8, 20;
LATE:
  setp.eq.u32 %p3, %r8, 0; @%p3 bra THERE;
  sub.u32 %r8, %r8, 1; bra LATE;
THERE:
  bar.sync 1;
  xor.b32 %r9, %r1, 63; mul.wide.u32 %rd7, %r9, 4; mov.u64 %rd8, part; add.u64 %rd7, %rd8, %rd7;
  ld.shared.u32 %r10, [%rd7]; add.u32 %r6, %r6, %r10; st.global.u32 [%rd3], %r6;
  red.global.add.u32 [total], %r6;
  // A copy, and a wait for it.
  mov.u64 %rd9, copied; add.u64 %rd9, %rd9, %rd4;
  cp.async.ca.shared.global [%rd9], [%rd3], 4;
  cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
  mov.u32 %r11, 0;
WAIT:
  mbarrier.test_wait.parity.shared.b64 %p4, [bar], %r11; @!%p4 bra WAIT;
  ld.shared.u32 %r12, [%rd9]; add.u32 %r6, %r6, %r12;
  // Memory of its own.
  mov.u64 %rd10, 20;
  { .param .b64 p; .param .b64 q; st.param.b64 [p], %rd10; call.uni (q), malloc, (p); ld.param.b64 %rd11, [q]; }
  st.u32 [%rd11], %r6;
  // Three lanes of each warp take a lock.
  and.b32 %r13, %r1, 31; setp.ge.u32 %p5, %r13, 3; @%p5 bra LEFT;
SPIN:
  atom.global.cas.b32 %r14, [%rd2], 0, 1; setp.ne.u32 %p6, %r14, 0; @%p6 bra SPIN;
  ld.volatile.global.u32 %r15, [%rd2+4]; mad.lo.u32 %r15, %r15, 3, %r1; st.volatile.global.u32 [%rd2+4], %r15;
  membar.gl; atom.global.exch.b32 %r16, [%rd2], 0;
LEFT:
  ld.u32 %r17, [%rd11]; add.u32 %r6, %r17, 1;
  { .param .b64 p; st.param.b64 [p], %rd11; call.uni free, (p); }
  atom.global.add.u32 %r18, [total], 1; st.global.u32 [%rd3], %r6;
  @!%p2 bra END;
  mov.u64 %rd12, depot; st.local.u32 [%rd12], %r4; st.local.u32 [%rd12+4], %r6; cvta.local.u64 %rd13, %rd12;
  mov.u64 %rd14, format; cvta.global.u64 %rd14, %rd14;
  { .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0], %rd14; st.param.b64 [p1], %rd13;
    call.uni (q), vprintf, (p0, p1); }
END:
  ret;
}
)";

/// What an SM knows: which blocks and atomics there are, by their numbers. Atomics are performed late, half of the lanes at a
/// time; two of three blocks run at once, and the kernel is launched twice.
class Driver {
 public:
  static constexpr u32 kBlocks = 3, kThreads = 64;

  explicit Driver(const std::string& text = kEverything)
      : memory_(PageSize::k4K),
        machine_(ptx::parse_module("k.ptx", text), memory_),
        out_(memory_, "out", kBlocks * kThreads),
        lock_(memory_, "lock", 2) {}

  void begin() {
    Launch launch;
    launch.kernel = "k";
    launch.grid = {kBlocks};
    launch.block = {kThreads};
    launch.argument(out_).argument(lock_);
    shape_ = machine_.begin_launch(launch);
    for (u32 i = 0; i < 2; ++i) begin_block();
  }
  /// One instruction of each warp that can run; false when all is done.
  bool step() {
    ++steps_;
    if (steps_ % 3 == 0 && !pending_.empty()) perform();
    for (Resident& resident : residents_) turn(resident);
    const auto is_done = [&](const Resident& resident) {
      return resident.done == shape_.warps_per_block &&
             std::ranges::none_of(pending_, [&](const Pending& p) { return p.block == resident.block; });
    };
    for (u64 i = residents_.size(); i-- > 0;) {
      if (!is_done(residents_[i])) continue;
      machine_.end_block(residents_[i].block);
      residents_.erase(residents_.begin() + static_cast<i64>(i));
      if (begun_ < kBlocks) begin_block();
    }
    if (!residents_.empty()) return true;
    machine_.end_launch(shape_.launch);
    if (++launches_ == 2) return false;
    begun_ = 0;
    begin();
    return true;
  }
  void archive(Archive& a) {
    a(shape_.launch, shape_.warps_per_block, residents_, pending_, begun_, launches_, steps_, places_);
    machine_.archive(a);
    memory_.archive(a);
  }
  Bytes save() {
    SavedState state;
    archive(state);
    return state.take();
  }
  void restore(const Bytes& bytes) {
    RestoredState state(bytes);
    archive(state);
  }

  u64 digest() const { return memory_.digest(); }
  u64 steps() const { return steps_; }
  std::string take_printed() { return machine_.take_printed(); }
  /// What a warp is in the middle of now.
  bool waits_at_barrier() const {
    return std::ranges::any_of(residents_, [&](const Resident& resident) {
      for (u32 w = 0; w < shape_.warps_per_block; ++w)
        if (machine_.view(machine_.warp(resident.block, w)).status == WarpStatus::kAtBarrier) return true;
      return false;
    });
  }
  std::string whereabouts() const {
    std::string text;
    for (const Resident& resident : residents_)
      for (u32 w = 0; w < shape_.warps_per_block; ++w)
        text += machine_.whereabouts(machine_.warp(resident.block, w)) + "; ";
    return text;
  }
  bool half_performed() const {
    return std::ranges::any_of(pending_, [](const Pending& p) { return p.begun; });
  }
  bool has_polled() const { return polled_; }

 private:
  struct Resident {
    BlockRef block{};
    u32 done = 0;
  };
  struct Pending {
    AtomicRef atomic{};
    u64 lanes = 0;
    BlockRef block{};
    WarpRef warp{};
    bool begun = false;
  };
  void begin_block() {
    places_.push_back(machine_.begin_block(shape_.launch, begun_++, SmId{7}));
    residents_.push_back({places_.back()});
  }
  void perform() {
    Pending& oldest = pending_.front();
    const u64 lanes = oldest.begun ? oldest.lanes : oldest.lanes & 0xffff'0000'ffff'0000;
    if (lanes != 0) machine_.perform_atomic(oldest.atomic, lanes);
    oldest.lanes &= ~lanes;
    oldest.begun = true;
    if (oldest.lanes == 0) pending_.erase(pending_.begin());
  }
  void turn(Resident& resident) {
    for (u32 w = 0; w < shape_.warps_per_block; ++w) {
      const WarpRef warp = machine_.warp(resident.block, w);
      if (machine_.view(warp).status != WarpStatus::kRunning) continue;
      if (std::ranges::any_of(pending_, [&](const Pending& p) { return p.warp == warp; })) continue;
      machine_.execute(warp, steps_, stores_, effect_);
      stores_.commit();
      ASSERT_NE(effect_.status, WarpStatus::kFaulted) << effect_.fault;
      polled_ |= effect_.polls;
      if (effect_.atomic != kNoAtomic)
        pending_.push_back({effect_.atomic, effect_.atomic_lanes, resident.block, warp, false});
      resident.done += effect_.status == WarpStatus::kDone;
    }
  }

  GuestMemory memory_;
  ptx::Machine machine_;
  Buffer<u32> out_, lock_;
  LaunchShape shape_;
  std::vector<Resident> residents_;
  std::vector<Pending> pending_;
  std::vector<BlockRef> places_;  // of all blocks so far
  u64 begun_ = 0, launches_ = 0, steps_ = 0;
  StoreLog stores_;
  Effect effect_;
  bool polled_ = false;
};

TEST(SavedMachine, GoesOnInTheMiddleOfAKernel) {
  Driver whole;
  whole.begin();
  while (whole.step()) ASSERT_LT(whole.steps(), 100'000u);
  const std::string printed = whole.take_printed();
  EXPECT_THAT(printed, HasSubstr("t0 "));
  EXPECT_TRUE(whole.has_polled());
  const Bytes end = whole.save();
  u32 at_barrier = 0, half_performed = 0;
  Driver undisturbed;
  undisturbed.begin();
  do {
    if (undisturbed.steps() % 29 != 0) continue;
    at_barrier += undisturbed.waits_at_barrier();
    half_performed += undisturbed.half_performed();
    const Bytes saved = undisturbed.save();
    Driver restored;
    restored.restore(saved);
    ASSERT_TRUE(restored.save() == saved) << "after " << undisturbed.steps() << " steps";
    EXPECT_EQ(restored.whereabouts(), undisturbed.whereabouts());
    while (restored.step()) ASSERT_LE(restored.steps(), whole.steps());
    EXPECT_EQ(restored.steps(), whole.steps());
    EXPECT_EQ(restored.digest(), whole.digest());
    EXPECT_EQ(restored.take_printed(), printed);
    ASSERT_TRUE(restored.save() == end) << "saved at step " << undisturbed.steps();
  } while (undisturbed.step());
  EXPECT_GT(at_barrier, 0u);
  EXPECT_GT(half_performed, 0u);
}

TEST(SavedMachine, TellsAnEndlessLoopAsSoonAsTheOneThatWasSaved) {
  const std::string text =
      ptx::kernel_text({"u64 flag"},
                       "ld.param.u64 %rd1, [flag]; SPIN: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; "
                       "@%p1 bra SPIN; ret;");
  ptx::Harness whole(text), restored(text);
  const auto flag = whole.buffer("flag", std::vector<u32>(1));
  const LaunchShape shape = whole.machine.begin_launch(whole.launch({1}, {32}, flag));
  const WarpRef warp = whole.machine.warp(whole.machine.begin_block(shape.launch, 0, SmId{0}), 0);
  StoreLog stores;
  Effect effect;
  const auto go_round = [&](ptx::Machine& machine) {
    for (u32 i = 0; i < 30; ++i) machine.execute(warp, i, stores, effect);
    return machine.find_endless_loop();
  };
  EXPECT_FALSE(go_round(whole.machine)) << "the first look only counts";
  SavedState saved;
  whole.machine.archive(saved);
  whole.memory.archive(saved);
  const Bytes bytes = saved.take();
  RestoredState state(bytes);
  restored.machine.archive(state);
  restored.memory.archive(state);
  const auto found = go_round(whole.machine);
  ASSERT_TRUE(found);
  EXPECT_EQ(go_round(restored.machine), found);
}

TEST(SavedMachine, IsRefusedByAnotherProgram) {
  Driver one;
  one.begin();
  const Bytes saved = one.save();
  std::string text = kEverything;
  text.replace(text.find("mov.u32 %r6, 1"), 14, "mov.u32 %r6, 2");
  Driver other(text);
  try {
    other.restore(saved);
    FAIL() << "was accepted";
  } catch (const ModelError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the hash of the device code k.ptx"));
  }
}

TEST(SavedLaunch, IsTheSameAndWhatACudaProcessWaitsForIsRefused) {
  Launch launch;
  launch.kernel = "k";
  launch.origin = "a.toml:3";
  launch.grid = {3, 2, 1};
  launch.block = {32};
  launch.argument(7).argument(2.5);
  launch.arguments[0].kind = KernelArgument::Kind::kWhole;
  launch.stream = 2;
  launch.host_waits = false;
  launch.block_limit = 4;
  launch.ticket = 9;
  launch.after = {3, 4};
  launch.host_cycles = 100;
  SavedState state;
  state(launch);
  const Bytes bytes = state.take();
  Launch other;
  RestoredState restored(bytes);
  restored(other);
  SavedState again;
  again(other);
  EXPECT_TRUE(again.take() == bytes);
  EXPECT_EQ(other.kernel, "k");
  EXPECT_EQ(other.grid, (Dim3{3, 2, 1}));
  ASSERT_EQ(other.arguments.size(), 2u);
  EXPECT_EQ(other.arguments[1].bytes, launch.arguments[1].bytes);
  EXPECT_EQ(other.after, launch.after);
  EXPECT_EQ(other.blocks(), 4u);
  launch.action = [](GuestMemory&, Cycle) {};
  EXPECT_THAT(ptx::refusal([&] {
                SavedState refused;
                refused(launch);
              }),
              HasSubstr("CUDA process"));
}

}  // namespace
}  // namespace terrace
