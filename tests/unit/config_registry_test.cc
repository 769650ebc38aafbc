// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "config/assign.h"
#include "config/registry.h"
#include "engine/check.h"
#include "support/assign_list.h"

namespace terrace {
namespace {

class Greeter {
 public:
  struct Context {
    std::string name;
  };
  static constexpr SlotInfo kSlot{"", "greeter", "how does one greet?"};
  virtual ~Greeter() = default;
  virtual std::string greet() const = 0;
};

class Loud final : public Greeter {
 public:
  struct Params {
    u32 marks = 1;
    void describe(Fields& v) { v("marks", marks, in(0, 5), "exclamation marks"); }
  };
  Loud(const Context& context, Params params) : text_(context.name + std::string(params.marks, '!')) {}
  std::string greet() const override { return text_; }

 private:
  std::string text_;
};
REGISTER_POLICY(Greeter, Loud, "loud", .summary = "with exclamation marks", .paper = "none");

class Mute final : public Greeter {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  Mute(const Context&, Params) {}
  std::string greet() const override { return ""; }
};
REGISTER_POLICY(Greeter, Mute, "mute", .summary = "says nothing");

struct Config {
  Policy<Greeter> greeter{"mute"};
  void describe(Fields& v) { v.policy("greeter", greeter, "how to greet"); }
};

std::string refused(std::string_view list) {
  Config config;
  try {
    assign_list(config, list, "--set");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Registry, APolicyIsBuiltByNameFromItsOwnParameters) {
  Config config;
  assign_list(config, "greeter.use=loud,greeter.loud.marks=3", "--set");
  EXPECT_EQ(config.greeter.make({"hello"})->greet(), "hello!!!");
}

TEST(Registry, ParametersOfAPolicyNotInUseAreKept) {
  Config config;
  assign_list(config, "greeter.loud.marks=2", "--set");
  EXPECT_EQ(config.greeter.make({"hello"})->greet(), "");
  const Config copy = config;
  assign_list(config, "greeter.use=loud,greeter.loud.marks=5", "--set");
  Config other = copy;
  other.greeter.use = "loud";
  EXPECT_EQ(other.greeter.make({"hello"})->greet(), "hello!!") << "a copy shares no parameters with its original";
}

TEST(Registry, ListsPoliciesInAlphabeticalOrderWithTheirText) {
  const auto& table = Registry<Greeter>::instance();
  EXPECT_EQ(table.names(), (std::vector<std::string>{"loud", "mute"}));
  EXPECT_EQ(table.find("loud").about.summary, "with exclamation marks");
  EXPECT_EQ(table.find("loud").about.paper, "none");
}

TEST(Registry, AnUnknownPolicyIsRefusedWithThoseThereAre) {
  EXPECT_EQ(refused("greeter.use=lod"),
            "--set: greeter.use: no greeter named \"lod\"; available: loud, mute; did you mean \"loud\"?");
  EXPECT_EQ(refused("greeter.use=quiet"), "--set: greeter.use: no greeter named \"quiet\"; available: loud, mute");
  EXPECT_EQ(refused("greeter.lod.marks=1"),
            "--set: greeter.lod.marks: no greeter named \"lod\"; available: loud, mute; did you mean \"loud\"?");
  EXPECT_EQ(refused("greeter.loud.mark=1"), "--set: greeter.loud.mark is not a known key; did you mean \"marks\"?");
  EXPECT_EQ(refused("greeter=loud"), "--set: greeter is a group of keys; set its key \"use\"");
}

TEST(RegistryDeathTest, ANameThatIsTakenAborts) {
  EXPECT_DEATH(Registry<Greeter>::instance().add<Mute>("loud", {.summary = "again"}),
               "two classes register the greeter \"loud\"");
}

TEST(Registry, EverySlotIsListed) {
  bool found = false;
  for (const PolicyTable* table : PolicyTable::all()) found |= table->slot().name == "greeter";
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace terrace
