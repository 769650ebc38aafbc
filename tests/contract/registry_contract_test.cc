// What holds for every slot and every policy, by being registered.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/root_config.h"
#include "config/field_list.h"
#include "config/registry.h"
#include "support/paths.h"
#include "text/tree.h"

namespace terrace {
namespace {

TEST(EverySlot, HasAPolicy) {
  ASSERT_FALSE(PolicyTable::all().empty());
  for (const PolicyTable* slot : PolicyTable::all())
    EXPECT_FALSE(slot->entries().empty()) << "nothing fills the slot \"" << slot->slot().name << "\"";
}

TEST(EverySlot, IsAKeyOfTheConfigurationWhoseDefaultExists) {
  RootConfig config;
  const auto fields = fields_of(config);
  for (const PolicyTable* slot : PolicyTable::all()) {
    if (slot->slot().key.empty()) continue;
    const std::string key = std::string(slot->slot().key) + ".use";
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.path == key; });
    ASSERT_NE(field, fields.end()) << key << " is described by no configuration struct";
    const std::string use = field->value.substr(1, field->value.size() - 2);
    EXPECT_TRUE(slot->entries().contains(use)) << key << " = " << use;
  }
}

TEST(EverySlot, SaysWhichQuestionItsPoliciesAnswer) {
  for (const PolicyTable* slot : PolicyTable::all()) {
    EXPECT_FALSE(slot->slot().name.empty());
    EXPECT_FALSE(slot->slot().doc.empty()) << slot->slot().name;
  }
}

TEST(EveryPolicy, HasASummaryAndANameThatIsAlsoAKeyAndAFileName) {
  for (const PolicyTable* slot : PolicyTable::all()) {
    for (const auto& [name, entry] : slot->entries()) {
      EXPECT_FALSE(entry->about.summary.empty()) << name;
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos) << name;
    }
  }
}

TEST(EveryPolicy, DocumentsItsParametersAndHasDefaultsWithinTheirRanges) {
  for (const PolicyTable* slot : PolicyTable::all()) {
    for (const auto& [name, entry] : slot->entries()) {
      const auto params = entry->default_params();
      for (const FieldInfo& field : fields_of(*params))
        EXPECT_FALSE(field.doc.empty()) << slot->slot().name << " " << name << ": " << field.path;
    }
  }
}

TEST(TheExamplesOfTheDocument, StandThereAsTheyCompile) {
  const std::string root = source_folder();
  for (const std::string example : {"turns", "busiest"}) {
    const std::string code = read_file(root + "/docs/examples/" + example + ".cc");
    EXPECT_NE(read_file(root + "/docs/add_a_policy.md").find("```cpp\n" + code + "```\n"), std::string::npos)
        << "docs/add_a_policy.md and docs/examples/" << example << ".cc differ";
  }
}

}  // namespace
}  // namespace terrace
