// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "config/field_list.h"
#include "config/loader.h"
#include "config/registry.h"
#include "config/validation.h"
#include "engine/check.h"
#include "support/scratch.h"

namespace terrace {
namespace {

class Picker {
 public:
  struct Context {};
  static constexpr SlotInfo kSlot{"", "picker", "which comes next?"};
  virtual ~Picker() = default;
};
template <int>
class PickerOf final : public Picker {
 public:
  struct Params {
    u32 epoch = 200;
    Fraction share{510'000};
    void describe(Fields& v) {
      v("epoch", epoch, in(1, 1000), "arrivals between updates");
      v("share", share, in(0, Fraction::kOne), "share of each");
    }
    void validate(Validation& v) const { v.require(epoch != 13, "epoch", "brings bad luck"); }
  };
  PickerOf(const Context&, Params) {}
};
using Dws = PickerOf<0>;
using Fcfs = PickerOf<1>;
REGISTER_POLICY(Picker, Dws, "dws", .summary = "steals");
REGISTER_POLICY(Picker, Fcfs, "fcfs", .summary = "in order");

struct MmuConfig {
  u32 walkers = 16;
  u32 page_bytes = 4096;
  Policy<Picker> picker{"fcfs"};
  u32 after = 1;  // stands after a group: the dump must put it before the group's header
  void describe(Fields& v) {
    v("walkers", walkers, in(1, 1024), "page walkers working in parallel");
    v("page_bytes", page_bytes, in(1, 1 << 30), "bytes of a page");
    v.policy("picker", picker, "which walk an idle walker takes");
    v("after", after, in(0, 9), "");
  }
  void validate(Validation& v) const {
    v.require(page_bytes >= 128, "page_bytes", "is less than a line of {} bytes", 128);
  }
};

struct Root {
  MmuConfig mmu;
  std::string name = "none \"at\" all\n";
  std::vector<u64> sms{15, 15};
  void describe(Fields& v) {
    v.group("mmu", mmu, "translation");
    v("name", name, "what it is called");
    v("sms", sms, in(0, 100), "SMs per tenant");
  }
  void validate(Validation& v) const { v.require(sms.size() <= 2, "sms", "has more than two tenants"); }
};

class Loader : public ::testing::Test {
 protected:
  LayerFile file(const std::string& name, const std::string& text) { return {scratch_.write(name, text), name}; }
  std::string refused(const Layers& layers) {
    try {
      ConfigLoader<Root> loader(layers);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  std::string refused_gpu(const std::string& text) { return refused({.gpu = {file("gpu.toml", text)}}); }

  Scratch scratch_;
};

TEST_F(Loader, LaterLayersWinAndEachValueRemembersWhereItCameFrom) {
  const ConfigLoader<Root> loader({.gpu = {file("gpu.toml", "[mmu]\nwalkers = 4\npage_bytes = 8192\n")},
                                   .designs = {file("dws.toml", "# steals\nmmu.picker.use = \"dws\"\nmmu.walkers = 5")},
                                   .options = {split_assignment("mmu.walkers=7", "--set")}});
  EXPECT_EQ(loader.config().mmu.walkers, 7u);
  EXPECT_EQ(loader.config().mmu.page_bytes, 8192u);
  EXPECT_EQ(loader.config().mmu.picker.use, "dws");
  EXPECT_EQ(loader.history().origin("mmu.walkers").text(), "--set");
  EXPECT_EQ(loader.history().origin("mmu.page_bytes").text(), "gpu.toml:3");
  EXPECT_EQ(loader.history().origin("mmu.picker.use").text(), "dws.toml:2");
  EXPECT_EQ(loader.history().origin("name").text(), "default");
  std::string steps;
  for (const auto& step : loader.history().of("mmu.walkers")) steps += step.origin.text() + "=" + step.value + " ";
  EXPECT_EQ(steps, "gpu.toml:2=4 dws.toml:3=5 --set=7 ");
}

TEST_F(Loader, TheResolvedConfigurationReadBackIsTheSame) {
  const ConfigLoader<Root> loader(
      {.options = {split_assignment("mmu.picker.use=dws", "--set"),
                   split_assignment("mmu.picker.dws.share=0.3", "--set"), split_assignment("sms=[7]", "--set")}});
  Root config = loader.config();
  const std::string text = resolved_toml(config);
  EXPECT_EQ(text,
            "name = \"none \\\"at\\\" all\\u000a\"\nsms = [7]\n\n"
            "[mmu]\nwalkers = 16\npage_bytes = 4096\nafter = 1\n\n"
            "[mmu.picker]\nuse = \"dws\"\n\n"
            "[mmu.picker.dws]\nepoch = 200\nshare = 0.3\n");
  Root again = ConfigLoader<Root>({.gpu = {file("resolved.toml", text)}}).config();
  EXPECT_EQ(resolved_toml(again), text);
}

TEST_F(Loader, AResultFileIsReadBackThroughItsConfig) {
  Root config;
  config.mmu.walkers = 9;
  Tree result;
  result["schema"] = "terrace.run/1";
  result["config"] = parse_toml(resolved_toml(config), "resolved");
  Root again = ConfigLoader<Root>({.gpu = {file("result.json", json_text(result))}}).config();
  EXPECT_EQ(resolved_toml(again), resolved_toml(config));
}

TEST_F(Loader, ParametersOfAPolicyNotInUseDoNotChangeTheRunId) {
  Root plain;
  Root other = ConfigLoader<Root>({.options = {split_assignment("mmu.picker.dws.epoch=7", "--set")}}).config();
  EXPECT_EQ(resolved_toml(other), resolved_toml(plain));
}

TEST_F(Loader, DesignsThatAgreeMayBeCombinedAndThoseThatDoNotAreRefused) {
  const LayerFile a = file("a.toml", "[mmu]\nwalkers = 8\n"), b = file("b.toml", "[mmu]\n\nwalkers = 0x8\nafter = 2\n"),
                  c = file("c.toml", "mmu.walkers = 9\n");
  EXPECT_EQ(refused({.designs = {a, b}}), "accepted");
  EXPECT_EQ(refused({.designs = {a, b, c}}),
            "c.toml:1: mmu.walkers = 9 conflicts with a.toml:2, which sets it to 8; use only one of the two designs");
}

TEST_F(Loader, AnOptionGivenTwiceDifferentlyIsRefused) {
  EXPECT_EQ(
      refused({.options = {split_assignment("mmu.walkers=1", "--set"), split_assignment("mmu.walkers=2", "--set")}}),
      "--set: mmu.walkers is given twice, as 1 and as 2; give it once");
}

TEST_F(Loader, MistakesInAFileNameTheFileTheLineAndTheKey) {
  EXPECT_EQ(refused_gpu("[mmu]\nwalker = 3\n"), "gpu.toml:2: mmu.walker is not a known key; did you mean \"walkers\"?");
  EXPECT_EQ(refused_gpu("[mmmu]\nwalkers = 3\n"),
            "gpu.toml:2: mmmu.walkers is not a known key; did you mean \"mmu.walkers\"?");
  EXPECT_EQ(refused_gpu("[mmu]\nwalkers = 1985\n"),
            "gpu.toml:2: mmu.walkers must be a whole number from 1 to 1024, not 1985");
  EXPECT_EQ(refused_gpu("\n[mmu.picker]\nuse = \"dwz\"\n"),
            "gpu.toml:3: mmu.picker.use: no picker named \"dwz\"; available: dws, fcfs; did you mean \"dws\"?");
  EXPECT_EQ(refused_gpu("[mmu.pickr]\n"), "gpu.toml:1: mmu.pickr is not a known key; did you mean \"picker\"?");
  EXPECT_EQ(refused_gpu("mmu = 3\n"), "gpu.toml:1: mmu is a group of keys; set one of its keys");
  EXPECT_EQ(refused_gpu("[[sms]]\nx = 1\n"),
            "gpu.toml:1: sms must be a list of whole numbers from 0 to 100, and holds a table");
  EXPECT_EQ(refused_gpu("name = 1979-05-27\n"), "gpu.toml:1: dates and times are not supported; write text in quotes");
  EXPECT_EQ(refused_gpu("[mmu]\n\n[mmu.picker]\n"), "accepted");
}

TEST_F(Loader, TextThatIsNotTomlIsRefusedWithItsLine) {
  EXPECT_EQ(refused_gpu("[mmu]\nwalkers 3\n").substr(0, 28), "gpu.toml:2: not valid TOML: ");
  EXPECT_EQ(refused_gpu("a = 1\na = 2\n").substr(0, 28), "gpu.toml:2: not valid TOML: ");
}

TEST_F(Loader, ChecksOfSeveralFieldsNameTheValueAndItsOrigin) {
  EXPECT_EQ(refused_gpu("[mmu]\npage_bytes = 64\n"),
            "gpu.toml:2: mmu.page_bytes = 64 is less than a line of 128 bytes");
  EXPECT_EQ(refused_gpu("sms = [1, 2, 3]\n"), "gpu.toml:1: sms = [1, 2, 3] has more than two tenants");
  EXPECT_EQ(refused_gpu("mmu.picker.fcfs.epoch = 13\n"), "gpu.toml:1: mmu.picker.fcfs.epoch = 13 brings bad luck");
  EXPECT_EQ(refused_gpu("mmu.picker.dws.epoch = 13\n"), "accepted") << "a policy that is not in use checks nothing";
}

TEST_F(Loader, AFileThatCannotBeReadIsRefused) {
  EXPECT_EQ(refused({.gpu = {{"/nonexistent/gpu.toml", "gpu.toml"}}}),
            "/nonexistent/gpu.toml: cannot be read: No such file or directory");
}

TEST(FieldList, TellsValueRangeAndMeaningOfEveryKey) {
  Root root;
  std::string all;
  for (const FieldInfo& field : fields_of(root)) all += field.path + "|" + field.value + "|" + field.phrase + "\n";
  EXPECT_EQ(all,
            "mmu.walkers|16|a whole number from 1 to 1024\n"
            "mmu.page_bytes|4096|a whole number from 1 to 1073741824\n"
            "mmu.picker.use|\"fcfs\"|one of \"dws\", \"fcfs\"\n"
            "mmu.picker.dws.epoch|200|a whole number from 1 to 1000\n"
            "mmu.picker.dws.share|0.51|a decimal from 0.0 to 1.0\n"
            "mmu.picker.fcfs.epoch|200|a whole number from 1 to 1000\n"
            "mmu.picker.fcfs.share|0.51|a decimal from 0.0 to 1.0\n"
            "mmu.after|1|a whole number from 0 to 9\n"
            "name|\"none \\\"at\\\" all\\u000a\"|text\n"
            "sms|[15, 15]|a list of whole numbers from 0 to 100\n");
}

}  // namespace
}  // namespace terrace
