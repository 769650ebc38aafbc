// SPDX-License-Identifier: MIT
#include "frontend/ptx/decode/decode.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "frontend/ptx/decode/control_flow.h"
#include "frontend/ptx/decode/liveness.h"
#include "frontend/ptx/decode/loop_facts.h"
#include "frontend/ptx/decode/polling.h"

namespace terrace::ptx {
namespace {

struct OpcodeEntry {
  std::string_view opcode;
  DecodeFunction decode;
  InstClass cls;
};

constexpr InstClass kInt = InstClass::kInteger, kFlt = InstClass::kFloat, kMem = InstClass::kMemory,
                    kCtl = InstClass::kControl, kSpec = InstClass::kSpecial, kTensor = InstClass::kTensor;

/// Sorted by opcode. The class is what the instruction uses unless its decoder says otherwise (f64, integer division).
constexpr std::array kOpcodes = std::to_array<OpcodeEntry>({
    {"abs", decode_neg_abs, kInt},
    {"activemask", decode_activemask, kInt},
    {"add", decode_add_sub, kInt},
    {"addc", decode_carry, kInt},
    {"and", decode_logic, kInt},
    {"applypriority", decode_prefetch, kInt},
    {"atom", decode_atom, kMem},
    {"bar", decode_bar, InstClass::kBarrier},
    {"barrier", decode_bar, InstClass::kBarrier},
    {"bfe", decode_bit_field, kInt},
    {"bfi", decode_bit_field, kInt},
    {"bfind", decode_bits, kInt},
    {"bmsk", decode_bit_field, kInt},
    {"bra", decode_bra, kCtl},
    {"brev", decode_bits, kInt},
    {"brkpt", decode_nothing, kCtl},
    {"brx", decode_brx, kCtl},
    {"call", decode_call, kCtl},
    {"clz", decode_bits, kInt},
    {"cnot", decode_cnot, kInt},
    {"copysign", decode_copysign, kInt},
    {"cos", decode_approx, kSpec},
    {"cp", decode_cp, kMem},
    {"cvt", decode_cvt, kInt},
    {"cvta", decode_cvta, kInt},
    {"discard", decode_prefetch, kInt},
    {"div", decode_div, kInt},
    {"dp2a", decode_dot_product, kInt},
    {"dp4a", decode_dot_product, kInt},
    {"elect", decode_elect, kInt},
    {"ex2", decode_approx, kSpec},
    {"exit", decode_ret, kCtl},
    {"fence", decode_fence, InstClass::kFence},
    {"fma", decode_fma, kFlt},
    {"fns", decode_bit_field, kInt},
    {"isspacep", decode_isspacep, kInt},
    {"ld", decode_ld, kMem},
    {"ldmatrix", decode_ldmatrix, kMem},
    {"ldu", decode_ld, kMem},
    {"lg2", decode_approx, kSpec},
    {"lop3", decode_lop3, kInt},
    {"mad", decode_mad, kInt},
    {"mad24", decode_mul24, kInt},
    {"madc", decode_carry, kInt},
    {"match", decode_match, kInt},
    {"max", decode_min_max, kInt},
    {"mbarrier", decode_mbarrier, kMem},
    {"membar", decode_fence, InstClass::kFence},
    {"min", decode_min_max, kInt},
    {"mma", decode_mma, kTensor},
    {"mov", decode_mov, kInt},
    {"movmatrix", decode_movmatrix, kInt},
    {"mul", decode_mul, kInt},
    {"mul24", decode_mul24, kInt},
    {"nanosleep", decode_nothing, kCtl},
    {"neg", decode_neg_abs, kInt},
    {"not", decode_logic, kInt},
    {"or", decode_logic, kInt},
    {"pmevent", decode_nothing, kCtl},
    {"popc", decode_bits, kInt},
    {"prefetch", decode_prefetch, kInt},
    {"prefetchu", decode_prefetch, kInt},
    {"prmt", decode_prmt, kInt},
    {"rcp", decode_rcp_sqrt, kSpec},
    {"red", decode_atom, kMem},
    {"redux", decode_redux, kInt},
    {"rem", decode_rem, kInt},
    {"ret", decode_ret, kCtl},
    {"rsqrt", decode_approx, kSpec},
    {"sad", decode_sad, kInt},
    {"selp", decode_selp, kInt},
    {"set", decode_set, kInt},
    {"setp", decode_setp, kInt},
    {"shf", decode_funnel_shift, kInt},
    {"shfl", decode_shfl, kInt},
    {"shl", decode_shift, kInt},
    {"shr", decode_shift, kInt},
    {"sin", decode_approx, kSpec},
    {"slct", decode_slct, kInt},
    {"sqrt", decode_rcp_sqrt, kSpec},
    {"st", decode_st, kMem},
    {"stmatrix", decode_stmatrix, kMem},
    {"sub", decode_add_sub, kInt},
    {"subc", decode_carry, kInt},
    {"suld", decode_suld, kMem},
    {"sust", decode_sust, kMem},
    {"tanh", decode_approx, kSpec},
    {"testp", decode_testp, kInt},
    {"tex", decode_tex, kMem},
    {"trap", decode_trap, kCtl},
    {"vabsdiff", decode_video, kInt},
    {"vabsdiff2", decode_video, kInt},
    {"vabsdiff4", decode_video, kInt},
    {"vadd", decode_video, kInt},
    {"vadd2", decode_video, kInt},
    {"vadd4", decode_video, kInt},
    {"vavrg2", decode_video, kInt},
    {"vavrg4", decode_video, kInt},
    {"vmad", decode_video, kInt},
    {"vmax", decode_video, kInt},
    {"vmax2", decode_video, kInt},
    {"vmax4", decode_video, kInt},
    {"vmin", decode_video, kInt},
    {"vmin2", decode_video, kInt},
    {"vmin4", decode_video, kInt},
    {"vote", decode_vote, kInt},
    {"vset", decode_video, kInt},
    {"vset2", decode_video, kInt},
    {"vset4", decode_video, kInt},
    {"vshl", decode_video, kInt},
    {"vshr", decode_video, kInt},
    {"vsub", decode_video, kInt},
    {"vsub2", decode_video, kInt},
    {"vsub4", decode_video, kInt},
    {"wmma", decode_wmma, kTensor},
    {"xor", decode_logic, kInt},
});
static_assert(std::is_sorted(kOpcodes.begin(), kOpcodes.end(),
                             [](const OpcodeEntry& a, const OpcodeEntry& b) { return a.opcode < b.opcode; }));

/// Families this machine refuses by name, with what to do instead.
struct Refusal {
  std::string_view opcode_prefix;
  std::string_view remedy;
};
constexpr std::array kRefusals = std::to_array<Refusal>({
    {"tld4", "gathering from textures is not supported; read single texels with tex instead"},
    {"txq", "queries of textures are not supported; pass their sizes to the kernel instead"},
    {"su", "of surfaces only suld and sust are supported; use atomics on global memory instead"},
    {"wgmma", "this tensor instruction is not supported; use mma or wmma instead"},
    {"tcgen05", "this tensor instruction is not supported; use mma or wmma instead"},
});

[[noreturn]] void refuse_opcode(const Decoding& decoding) {
  for (const Refusal& refusal : kRefusals) {
    if (decoding.statement.opcode.starts_with(refusal.opcode_prefix)) decoding.refuse("{}", refusal.remedy);
  }
  decoding.refuse("the instruction is not known; compile for sm_70 to sm_90, without inline PTX of newer kinds");
}

void decode_statement(Decoding& d) {
  const auto entry = std::lower_bound(kOpcodes.begin(), kOpcodes.end(), d.statement.opcode,
                                      [](const OpcodeEntry& e, std::string_view o) { return e.opcode < o; });
  if (entry == kOpcodes.end() || entry->opcode != d.statement.opcode) refuse_opcode(d);
  d.facts.cls = entry->cls;
  const auto modified = [](const Operand& operand) { return operand.minus || !operand.part.empty(); };
  if (entry->decode != decode_video && std::ranges::any_of(d.statement.operands, modified))
    d.refuse("only video instructions take parts of registers, and negated ones");
  entry->decode(d);
}

bool calls_pointer(const Statement& statement) {
  return statement.opcode == "call" && std::any_of(statement.operands.begin(), statement.operands.end(),
                                                   [](const Operand& o) { return o.kind == OperandKind::kRegister; });
}

/// The functions that a kernel can call, the kernel first.
class Reachable {
 public:
  Reachable(const Module& module, const Function& kernel) : module_(module) {
    add(kernel);
    for (u64 at = 0; at < found_.size(); ++at) {
      for (const Statement& statement : found_[at]->body) {
        if (statement.opcode != "call") continue;
        for (const Operand& operand : statement.operands) note(operand);
        if (calls_pointer(statement)) add_pointed_to();
      }
    }
  }
  std::vector<const Function*> found() { return std::move(found_); }

 private:
  void add(const Function& function) {
    if (!is_provided(function) && known_.insert(&function).second) found_.push_back(&function);
  }
  void note(const Operand& operand) {
    if (operand.kind != OperandKind::kSymbol) return;
    const auto callee = module_.function_index.find(operand.name);
    if (callee != module_.function_index.end()) add(module_.functions[callee->second]);
  }
  /// Every function of the module whose address is taken may be behind a pointer.
  void add_pointed_to() {
    if (std::exchange(pointed_to_, true)) return;
    const auto note_name = [&](std::string_view name) {
      const auto found = module_.function_index.find(name);
      if (found == module_.function_index.end()) return;
      const Function& function = module_.functions[found->second];
      if (function.defined && !function.entry) add(function);
    };
    for (const Variable& variable : module_.variables)
      for (const Relocation& relocation : variable.relocations) note_name(relocation.symbol);
    for (const Function& function : module_.functions) {
      for (const Statement& statement : function.body) {
        if (statement.opcode != "mov") continue;
        for (const Operand& operand : statement.operands)
          if (operand.kind == OperandKind::kSymbol) note_name(operand.name);
      }
    }
  }

  const Module& module_;
  std::vector<const Function*> found_;
  std::set<const Function*> known_;
  bool pointed_to_ = false;
};

/// What an instruction may call: one function, or those behind a pointer.
std::vector<u32> callees_of(const Code& code, const Inst& inst) {
  if (inst.flow == Flow::kCall) return {inst.target};
  std::vector<u32> callees;
  if (inst.flow != Flow::kCallPointer) return callees;
  for (u32 c = 0; c < inst.target; ++c) callees.push_back(pointer_callee(code, inst, c).function);
  return callees;
}

void place_shared(Layout& layout, std::pair<const Function*, std::string_view> key, const Variable& variable) {
  if (layout.shared.contains(key)) return;
  u32& end = layout.static_shared_bytes;
  end = (end + variable.align - 1) / variable.align * variable.align;
  layout.shared[key] = end;
  end += static_cast<u32>(variable.bytes);
}

/// Shared variables that the kernel or its functions name, in the order in which they are declared.
void lay_out_shared(const Module& module, const std::vector<const Function*>& functions, Layout& layout) {
  std::set<std::string_view> named;
  u32 dynamic_align = 16;  // at least what any vector access needs
  const auto note = [&](const Operand& operand) {
    if (operand.kind == OperandKind::kSymbol || operand.kind == OperandKind::kSpecial) named.insert(operand.name);
  };
  for (const Function* function : functions) {
    for (const Statement& statement : function->body) {
      for (const Operand& operand : statement.operands) {
        note(operand);
        for (const Operand& part : operand.parts) note(part);
      }
    }
  }
  for (const Variable& variable : module.variables) {
    if (variable.space != Space::kShared || !named.contains(variable.name)) continue;
    if (variable.bytes > GuestMemory::kWindowBytes)
      input_error("{}:{}: shared variable {} of {} bytes is larger than any shared memory; make it smaller",
                  module.file, variable.line, variable.name, variable.bytes);
    if (variable.dynamic)
      dynamic_align = std::max(dynamic_align, variable.align);
    else
      place_shared(layout, {nullptr, variable.name}, variable);
  }
  for (const Function* function : functions) {
    for (const Variable& variable : function->variables)
      if (variable.space == Space::kShared) place_shared(layout, {function, variable.name}, variable);
  }
  if (named.contains(kReservedShared)) {
    Variable reserved;  // as large as GPUs since Ampere have it; those have it for every kernel
    reserved.bytes = 1024;
    reserved.align = 16;
    place_shared(layout, {nullptr, kReservedShared}, reserved);
  }
  if (layout.static_shared_bytes > GuestMemory::kWindowBytes)
    input_error("{}: kernel {} declares {} bytes of shared memory; make its arrays smaller", module.file,
                functions[0]->name, layout.static_shared_bytes);
  layout.static_shared_bytes = (layout.static_shared_bytes + dynamic_align - 1) / dynamic_align * dynamic_align;
  for (const Variable& variable : module.variables)
    if (variable.dynamic) layout.shared[{nullptr, variable.name}] = layout.static_shared_bytes;
}

/// Decodes one function and knows, once all are decoded, where its registers lie.
struct DecodedFunction {
  FunctionDecoder decoder;
  Liveness liveness;
  Placement placement;
};

void decode_body(DecodedFunction& decoded) {
  FunctionDecoder& decoder = decoded.decoder;
  Code& code = decoder.kernel.code;
  decoder.first = static_cast<u32>(code.insts.size());
  for (const Statement& statement : decoder.function.body) {
    Decoding decoding(decoder, statement);
    decode_statement(decoding);
    if (decoding.has_modifiers()) decoding.refuse_leftover();
    decoding.uses.elementwise = decoding.elementwise;
    code.insts.push_back(decoding.inst);
    code.decoded.push_back(decoding.facts);
    code.statements.push_back(&statement);
    decoder.uses.push_back(std::move(decoding.uses));
  }
  const u32 end = static_cast<u32>(code.insts.size());
  // Where returning lanes meet. It runs only if lanes fall off the end.
  Inst meeting;
  meeting.flow = Flow::kReturn;
  meeting.run = end_of_function(decoder.function.entry);
  code.insts.push_back(meeting);
  DecodedInst facts;
  facts.cls = InstClass::kControl;
  facts.line = decoder.function.end_line;
  code.decoded.push_back(facts);
  code.statements.push_back(nullptr);
  if (end == decoder.first) {
    decoded.liveness.ranges.resize(decoder.function.registers.size());
    decoded.placement = place_registers(decoder.function, decoded.liveness);
    return;
  }
  const ControlFlow flow = analyse_control_flow(code, decoder.first, end);
  set_reconvergence(code, flow, end);
  decoded.liveness = analyse_liveness(decoder, flow);
  mark_polling_loops(decoder, flow, decoded.liveness);
  decoded.placement = place_registers(decoder.function, decoded.liveness);
  note_loops(decoder, flow, decoded.liveness, decoded.placement);
}

void set_place(Code& code, const Patch& patch, u32 place) {
  Inst& inst = code.insts[patch.inst];
  switch (patch.field) {
    case kFieldD:
      inst.d = place;
      return;
    case kFieldA:
      inst.a = place;
      return;
    case kFieldB:
      inst.b = place;
      return;
    case kFieldC:
      inst.c = place;
      return;
    case kFieldE:
      inst.e = place;
      return;
    case kFieldGuard:
      inst.guard = static_cast<u16>(place);
      return;
    case kFieldMembers:
      inst.members = place;
      return;
    default:
      code.lists[patch.field - kFieldList] = place;
  }
}

/// Replaces register numbers by places, and tells the scoreboard's names.
void apply_placement(const DecodedFunction& decoded, u32 stride, u32 predicate_names) {
  Code& code = decoded.decoder.kernel.code;
  const auto& registers = decoded.decoder.function.registers;
  for (const Patch& patch : decoded.decoder.patches) {
    const u32 place = decoded.placement.place[patch.reg];
    set_place(code, patch, registers[patch.reg].type == Type::kPred ? place : place * stride * 4);
  }
  for (u32 i = 0; i < decoded.decoder.uses.size(); ++i) {
    DecodedInst& facts = code.decoded[decoded.decoder.first + i];
    const auto name = [&](const std::vector<u32>& list, u8& count, u8 first) {
      for (const u32 reg : list) {
        const u32 place = decoded.placement.place[reg];
        const u32 rows = rows_of(registers[reg].type);
        const u32 names = std::max(rows, 1u);
        for (u32 s = 0; s < names; ++s) {
          const u16 value = static_cast<u16>((rows == 0 ? predicate_names : 0) + place + s);
          const auto begin = facts.registers.begin() + first, end = begin + count;
          if (std::find(begin, end, value) != end) continue;
          SIM_CHECK(end != facts.registers.end(), "line {} names too many registers", facts.line);
          *end = value;
          ++count;
        }
      }
    };
    name(decoded.decoder.uses[i].reads, facts.sources, 0);
    name(decoded.decoder.uses[i].writes, facts.destinations, facts.sources);
  }
}

/// What the deepest chain of calls needs, recursion not counted.
class CallChains {
 public:
  CallChains(Code& code, const std::vector<DecodedFunction>& functions) : code_(code), functions_(functions) {}

  void run() {
    const u32 count = static_cast<u32>(functions_.size());
    needs_.resize(count);
    // Callees first: repeat until nothing changes; a cycle is cut after as many rounds as there are functions.
    for (u32 round = 0; round < count; ++round)
      for (u32 f = count; f-- > 0;) update(f);
    const Need& kernel = needs_[0];
    code_.rows_total = kernel.rows;
    code_.predicates_total = kernel.predicates;
    code_.params_total = kernel.params;
    code_.local_bytes = kernel.local;
    code_.recursive = recursive();
    code_.registers_per_thread = std::max(8u, (kernel.live + 7) / 8 * 8);
  }

 private:
  struct Need {
    u32 rows = 0, predicates = 0, params = 0, local = 0, live = 0;
  };

  void update(u32 f) {
    const FunctionImage& image = code_.functions[f];
    Need deepest, need;
    u32 live = functions_[f].liveness.max_live;
    for (u32 i = image.first; i < image.end; ++i) {
      const Inst& inst = code_.insts[i];
      for (const u32 called : callees_of(code_, inst)) {
        if (reaches(called, f)) continue;
        const Need& callee = needs_[called];
        deepest.rows = std::max(deepest.rows, callee.rows);
        deepest.predicates = std::max(deepest.predicates, callee.predicates);
        deepest.params = std::max(deepest.params, callee.params);
        deepest.local = std::max(deepest.local, callee.local);
        live = std::max(live, functions_[f].liveness.live_after[i - image.first] + callee.live);
      }
    }
    need.rows = image.rows + deepest.rows;
    need.predicates = image.predicates + deepest.predicates;
    need.params = image.param_bytes + deepest.params;
    need.local = image.local_bytes + deepest.local;
    need.live = live;
    needs_[f] = need;
  }

  bool reaches(u32 from, u32 to) const {
    std::vector<bool> seen(functions_.size(), false);
    std::vector<u32> work{from};
    while (!work.empty()) {
      const u32 f = work.back();
      work.pop_back();
      if (f == to) return true;
      if (seen[f]) continue;
      seen[f] = true;
      for (const u32 callee : code_.functions[f].callees) work.push_back(callee);
    }
    return false;
  }
  bool recursive() const {
    for (u32 f = 0; f < functions_.size(); ++f)
      for (const u32 callee : code_.functions[f].callees)
        if (reaches(callee, f)) return true;
    return false;
  }

  Code& code_;
  const std::vector<DecodedFunction>& functions_;
  std::vector<Need> needs_;
};

FunctionImage image_of(const DecodedFunction& decoded, const Code& code) {
  FunctionImage image;
  image.source = &decoded.decoder.function;
  image.first = decoded.decoder.first;
  image.end = image.first + static_cast<u32>(decoded.decoder.uses.size());
  image.rows = decoded.placement.rows;
  image.predicates = decoded.placement.predicates;
  image.max_live = decoded.liveness.max_live;
  image.local_bytes = static_cast<u32>((image.source->local_bytes + 15) / 16 * 16);
  image.param_bytes = static_cast<u32>((image.source->param_bytes + 15) / 16 * 16);
  for (u32 i = image.first; i < image.end; ++i)
    for (const u32 callee : callees_of(code, code.insts[i])) image.callees.push_back(callee);
  return image;
}

}  // namespace

void Decoding::refuse_leftover() const {
  refuse("modifier .{} is not supported here", modifiers_.front());
}

Code decode_kernel(const Module& module, const Function& kernel, const std::map<std::string_view, VirtAddr>& variables,
                   u32 stride) {
  Code code;
  code.module = &module;
  code.kernel = kernel.name;
  const std::vector<const Function*> functions = Reachable(module, kernel).found();
  KernelDecoder decoder{module, code, {variables, {}, 0}, stride, {}, {}};
  lay_out_shared(module, functions, decoder.layout);
  for (u32 f = 0; f < functions.size(); ++f) decoder.function_index[functions[f]] = f;

  std::vector<DecodedFunction> decoded;
  for (const Function* function : functions) {
    if (!function->defined)
      input_error("{}:{}: function {} is called but not defined; link the module that defines it", module.file,
                  function->line, function->name);
    decoded.push_back({{decoder, *function, 0, {}, {}}, {}, {}});
    decode_body(decoded.back());
  }
  u32 rows = 0, predicates = 0;
  for (const DecodedFunction& function : decoded) {
    code.functions.push_back(image_of(function, code));
    rows = std::max(rows, function.placement.rows);
    predicates = std::max(predicates, function.placement.predicates);
  }
  constexpr u32 kMostNames = 60'000;  // scoreboard names are 16 bits wide
  if (rows + predicates > kMostNames)
    input_error("{}:{}: kernel {} keeps {} registers at once; split it", module.file, kernel.line, kernel.name, rows);
  code.scoreboard_names = rows + predicates;
  for (const DecodedFunction& function : decoded) apply_placement(function, stride, rows);
  CallChains(code, decoded).run();
  code.static_shared_bytes = decoder.layout.static_shared_bytes;
  return code;
}

}  // namespace terrace::ptx
