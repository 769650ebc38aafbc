// Policies by name. A slot is an open question ("which waiting walk does an idle walker take?"), written as a
// pure-virtual interface; each answer is one class in one file that registers itself with one line:
//
//   REGISTER_POLICY(WalkScheduler, DwsWalkScheduler, "dws", .summary = "idle walkers steal", .paper = "HPCA 2021");
//
// The interface has `struct Context` (what a policy may see) and `static constexpr SlotInfo kSlot`. The class has
// `struct Params` with `describe(Fields&)` and is built as Class(const Interface::Context&, Params). A configuration
// struct has a member `Policy<WalkScheduler> walk_scheduler{"fcfs"}` and describes it with v.policy(...).
// The map is ordered and lives in a function-local static; a name that is taken aborts at start-up.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"

namespace terrace {

struct SlotInfo {
  std::string_view key;   // where the configuration chooses ("mmu.walk_scheduler"); empty: chosen elsewhere
  std::string_view name;  // in sentences: "walk scheduler"
  std::string_view doc;   // the question that a policy of this slot answers
};

struct PolicyText {
  std::string_view summary;
  std::string_view paper = "";
};

/// The parameters of some policy.
class PolicyParams {
 public:
  virtual ~PolicyParams() = default;
  virtual void describe(Fields& v) = 0;
  virtual void validate(Validation& checks) const = 0;
  virtual std::unique_ptr<PolicyParams> clone() const = 0;
};

template <class Params>
class ParamsOf final : public PolicyParams {
 public:
  void describe(Fields& v) override { value.describe(v); }
  void validate([[maybe_unused]] Validation& checks) const override {
    if constexpr (requires { value.validate(checks); }) value.validate(checks);
  }
  std::unique_ptr<PolicyParams> clone() const override { return std::make_unique<ParamsOf>(*this); }

  Params value;
};

/// What is known of a policy without building it.
class PolicyEntry {
 public:
  PolicyEntry(std::string_view its_name, PolicyText text) : name(its_name), about(text) {}
  virtual ~PolicyEntry() = default;
  virtual std::unique_ptr<PolicyParams> default_params() const = 0;

  const std::string name;
  const PolicyText about;
};

/// The policies of one slot, whatever its interface.
class PolicyTable {
 public:
  const SlotInfo& slot() const { return slot_; }
  /// By name, in alphabetical order.
  const std::map<std::string, std::unique_ptr<PolicyEntry>, std::less<>>& entries() const { return entries_; }
  std::vector<std::string> names() const;
  /// An unknown name is an InputError that lists those there are.
  const PolicyEntry& find(std::string_view name) const;
  /// The sentence for a name that is not there: `no walk scheduler named "dwz"; available: dws, fcfs`.
  std::string unknown(std::string_view name) const;

  /// Every slot that a policy or a configuration names, ordered by key then name.
  static std::vector<const PolicyTable*> all();

 protected:
  explicit PolicyTable(const SlotInfo& slot);
  PolicyTable(const PolicyTable&) = delete;
  ~PolicyTable() = default;
  void add(std::unique_ptr<PolicyEntry> entry);

 private:
  SlotInfo slot_;
  std::map<std::string, std::unique_ptr<PolicyEntry>, std::less<>> entries_;
};

template <class Interface>
class Registry final : public PolicyTable {
 public:
  using Context = typename Interface::Context;

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  template <class Class>
  bool add(std::string_view name, PolicyText about) {
    PolicyTable::add(std::make_unique<EntryOf<Class>>(name, about));
    return true;
  }

  std::unique_ptr<Interface> make(std::string_view name, const Context& context, const PolicyParams& params) const {
    return static_cast<const Entry&>(find(name)).make(context, params);
  }
  /// With the parameters' defaults.
  std::unique_ptr<Interface> make(std::string_view name, const Context& context) const {
    return make(name, context, *find(name).default_params());
  }

 private:
  struct Entry : PolicyEntry {
    using PolicyEntry::PolicyEntry;
    virtual std::unique_ptr<Interface> make(const Context& context, const PolicyParams& params) const = 0;
  };
  template <class Class>
  struct EntryOf final : Entry {
    using Entry::Entry;
    using Params = ParamsOf<typename Class::Params>;
    std::unique_ptr<PolicyParams> default_params() const override { return std::make_unique<Params>(); }
    std::unique_ptr<Interface> make(const Context& context, const PolicyParams& params) const override {
      return std::make_unique<Class>(context, dynamic_cast<const Params&>(params).value);
    }
  };

  Registry() : PolicyTable(Interface::kSlot) {}
};

/// Which policy fills a slot, and the parameters of each that was mentioned: a value, like any field.
class PolicyChoice {
 public:
  PolicyChoice(const PolicyTable& table, std::string_view in_use) : use(in_use), table_(&table) {}
  PolicyChoice(const PolicyChoice& other) { *this = other; }
  PolicyChoice& operator=(const PolicyChoice& other);
  PolicyChoice(PolicyChoice&&) = default;
  PolicyChoice& operator=(PolicyChoice&&) = default;

  const PolicyTable& table() const { return *table_; }
  /// The parameters of a policy of this slot, in use or not.
  PolicyParams& params(std::string_view policy);

  std::string use;

 private:
  const PolicyTable* table_ = nullptr;
  std::map<std::string, std::unique_ptr<PolicyParams>, std::less<>> params_;
};

template <class Interface>
class Policy final : public PolicyChoice {
 public:
  explicit Policy(std::string_view in_use) : PolicyChoice(Registry<Interface>::instance(), in_use) {
    static_cast<void>(kNamed);
  }
  std::unique_ptr<Interface> make(const typename Interface::Context& context) const {
    PolicyChoice copy = *this;
    return Registry<Interface>::instance().make(use, context, copy.params(use));
  }

 private:
  // A slot that some configuration names is listed even when no policy fills it: the contract suite then fails.
  static inline const bool kNamed = (static_cast<void>(Registry<Interface>::instance()), true);
};

}  // namespace terrace

#define REGISTER_POLICY(Interface, Class, name, ...) \
  [[maybe_unused]] const bool registered_##Class =   \
      ::terrace::Registry<Interface>::instance().add<Class>(name, ::terrace::PolicyText{__VA_ARGS__})
