// Finds barriers of a work-group that a part of its work-items does not reach. The OpenCL CPU runtime runs the work-items
// of a group, or short vectors of them, one after another, each to its next barrier. Then all go on from the barrier that
// the last one has reached, wherever the others are; the work-items of a vector pass the barriers of each other.
//
// Each barrier, each call of a function with barriers and the end of a kernel has a number. In tables in local memory, a
// work-item stores the number of what it has reached, which it compares when it goes on, and a sum over all that it has
// reached, which has to be that of work-item 0 when the kernel ends. The first that finds a difference fills the record in
// barrier_record.hpp. If it stands at a barrier, it stays there for ever, since its variables have no values.
// A kernel ends with one barrier more, so that those who wait before are seen.
#include <map>
#include <set>

#include "barrier_record.hpp"
#include "opencl.hpp"
#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

namespace {

enum : uint32_t {
  physical64 = 2,
  capabilityLinkage = 5,
  exported = 0,
  builtInWorkgroupSize = 25,
  builtInLocalIndex = 29,
  scopeDevice = 1,
  scopeWorkgroup = 2,
  orderOfGroup = 0x110,  // sequentially consistent, local memory
  dontInline = 2,
  volatileAccess = 1,
};

struct Called {
  uint32_t result = 0;                 // id of the type of its result
  bool kernel = false, meets = false;  // whether it has barriers, itself or in what it calls
  std::vector<uint32_t> calls;
  uint32_t end = 0, exit = 0;          // of a kernel: the number of its end, the label there
};

class Barriers {
 public:
  explicit Barriers(const std::string &spirv) : in_(spirv), out_(in_) {}
  bool find();
  std::string checked();

 private:
  void read(const Instruction &i);
  bool isBarrier(const Instruction &i) const;
  bool meets(const Instruction &i) const;
  void spread();
  void plan();
  void planIn(const Instruction &i);
  uint32_t numbered(Reached kind);
  uint32_t constant(uint32_t value);
  uint32_t type(std::vector<uint32_t> words);
  void decorate();
  void declare();
  void declareTables();
  void declareRecord();
  void defineReport();
  void stay(uint32_t how);
  uint32_t copyTable(uint32_t table, uint32_t first, uint32_t items, uint32_t before);
  uint32_t itemsOfGroup();
  uint32_t emitted(uint32_t op, uint32_t type, std::vector<uint32_t> operands);
  void label(uint32_t id) { out_.emit(OpLabel, {id}); }
  uint32_t field(Field place) { return emitted(OpInBoundsAccessChain, toRecord_, {record_, constant((uint32_t)place)}); }
  void set(Field place, uint32_t value) { out_.emit(OpStore, {field(place), value}); }
  uint32_t word(uint32_t table, uint32_t item) { return emitted(OpInBoundsAccessChain, toTable_, {table, item}); }
  uint32_t item() { return emitted(OpLoad, u64_, {localIndex_}); }
  void begin();
  void arrive(uint32_t number);
  void compare(uint32_t table, uint32_t wanted, Found how, uint32_t next);
  void emitBarrier(const Instruction &i);
  void emitEnd(const Called &kernel);
  void emitBody(const Instruction &i);
  void emitPhi(const Instruction &i);

  Words in_;
  NewWords out_;
  std::map<std::vector<uint32_t>, uint32_t> types_;    // ids by operation and operands
  std::map<uint32_t, uint32_t> values_;                // first words of constants by id
  std::map<uint32_t, uint32_t> constants_;             // ids of this file's constants by value
  std::set<uint32_t> kernels_;
  std::map<uint32_t, Called> functions_;
  std::map<const uint32_t *, uint32_t> numbers_, next_;  // of barriers and calls: number, label of what follows
  std::map<uint32_t, uint32_t> steps_;                 // what a number adds to the sum, by number
  std::map<uint32_t, uint32_t> lastLabel_;             // of a block that is divided, by its label
  std::set<const Called *> begun_;                     // kernels whose first block has begun
  Called *function_ = nullptr;
  uint32_t block_ = 0, last_ = 0;
  bool is64_ = false, linkage_ = false, any_ = false, first_ = false;
  bool hasIndex_ = false, hasSize_ = false;  // whether the module itself declares these variables
  uint32_t void_ = 0, bool_ = 0, u32_ = 0, u64_ = 0, toRecord_ = 0, toTable_ = 0;
  uint32_t localIndex_ = 0, groupSize_ = 0, record_ = 0, places_ = 0, sums_ = 0, report_ = 0, zero64_ = 0;
};

bool Barriers::isBarrier(const Instruction &i) const {
  const bool operation = i.op() >= OpGroupAll && i.op() <= OpGroupSMax;
  const size_t scope = i.op() == OpControlBarrier ? 1 : operation ? 3 : 0;
  auto found = scope ? values_.find(i[scope]) : values_.end();
  return found != values_.end() && found->second == scopeWorkgroup;
}

// Returns whether an instruction calls a function with barriers.
bool Barriers::meets(const Instruction &i) const {
  auto found = i.op() == OpFunctionCall ? functions_.find(i[3]) : functions_.end();
  return found != functions_.end() && found->second.meets;
}

void Barriers::read(const Instruction &i) {
  const uint32_t op = i.op();
  if (op == OpMemoryModel) is64_ = i[1] == physical64;
  if (op == OpCapability && i[1] == capabilityLinkage) linkage_ = true;
  if (op == OpDecorate && i[2] == decorationBuiltIn && i[3] == builtInLocalIndex) localIndex_ = i[1];
  if (op == OpDecorate && i[2] == decorationBuiltIn && i[3] == builtInWorkgroupSize) groupSize_ = i[1];
  if (op == OpEntryPoint && i[1] == executionModelKernel) kernels_.insert(i[2]);
  if (op >= OpTypeVoid && op <= OpTypeFunction) {
    std::vector<uint32_t> words = {op};
    words.insert(words.end(), i.begin() + 2, i.end());
    types_.emplace(words, i[1]);
  }
  if (op == OpConstant) values_[i[2]] = i[3];
  if (op == OpFunction) {
    function_ = &functions_[i[2]];
    function_->result = i[1], function_->kernel = kernels_.count(i[2]);
  }
  if (op == OpFunctionCall) function_->calls.push_back(i[3]);
  if (isBarrier(i)) function_->meets = any_ = true;
}

// Marks what calls functions with barriers.
void Barriers::spread() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &entry : functions_) {
      bool meets = entry.second.meets;
      for (uint32_t id : entry.second.calls) meets |= functions_[id].meets;
      changed |= meets != entry.second.meets;
      entry.second.meets = meets;
    }
  }
}

// Returns whether the module has barriers of work-groups.
bool Barriers::find() {
  for (auto &i : in_.instructions) read(i);
  if (!any_ || !is64_) return false;
  spread();
  return true;
}

uint32_t Barriers::constant(uint32_t value) {
  uint32_t &id = constants_[value];
  if (!id) id = out_.newId();
  return id;
}

// The sum has the number of barriers in its lower half.
uint32_t Barriers::numbered(Reached kind) {
  const uint32_t number = constant((uint32_t)kind << kindShift | ++last_);
  steps_[number] = constant(kind == Reached::end ? 0 : (kind != Reached::call) | last_ << 16);
  return number;
}

// Numbers what an instruction reaches, and divides its block there.
void Barriers::planIn(const Instruction &i) {
  if (i.op() == OpFunction) {
    function_ = &functions_[i[2]];
    if (function_->meets && function_->kernel)
      function_->end = numbered(Reached::end), function_->exit = out_.newId();
  }
  if (i.op() == OpLabel) block_ = i[1];
  if (meets(i)) numbers_[i.words] = numbered(Reached::call);
  if (!isBarrier(i)) return;
  numbers_[i.words] = numbered(i.op() == OpControlBarrier ? Reached::barrier : Reached::operation);
  next_[i.words] = lastLabel_[block_] = out_.newId();
}

void Barriers::plan() {
  for (auto &i : in_.instructions) planIn(i);
  for (uint32_t value : {0u, 1u, (uint32_t)scopeWorkgroup, (uint32_t)orderOfGroup}) constant(value);
  for (uint32_t at = 0; at <= placesAt; ++at) constant(at);
  for (uint32_t value : {sumsAt, recordWords, maxGroupSize}) constant(value);
  hasIndex_ = localIndex_, hasSize_ = groupSize_;
  if (!hasIndex_) localIndex_ = out_.newId();
  if (!hasSize_) groupSize_ = out_.newId();
  for (uint32_t *id : {&record_, &places_, &sums_, &report_, &zero64_}) *id = out_.newId();
}

// The id of a type, which is declared unless it is. `words` are the operation and its operands.
uint32_t Barriers::type(std::vector<uint32_t> words) {
  uint32_t &id = types_[words];
  if (id) return id;
  const uint32_t op = words[0];
  words[0] = id = out_.newId();
  out_.emit(op, words);
  return id;
}

void Barriers::decorate() {
  if (!hasIndex_) out_.emit(OpDecorate, {localIndex_, decorationBuiltIn, builtInLocalIndex});
  if (!hasSize_) out_.emit(OpDecorate, {groupSize_, decorationBuiltIn, builtInWorkgroupSize});
  out_.emit(OpDecorate, joined(joined({record_, decorationLinkage}, literal(recordName)), {exported}));
}

void Barriers::declareTables() {
  const uint32_t length = constant(maxGroupSize), words = out_.newId();
  out_.emit(OpTypeArray, {words, u32_, length});
  const uint32_t pointer = type({OpTypePointer, storageWorkgroup, words});
  toTable_ = type({OpTypePointer, storageWorkgroup, u32_});
  for (uint32_t table : {places_, sums_}) out_.emit(OpVariable, {pointer, table, storageWorkgroup});
}

void Barriers::declareRecord() {
  const uint32_t length = constant(recordWords), words = out_.newId(), zeros = out_.newId();
  out_.emit(OpTypeArray, {words, u32_, length});
  out_.emit(OpConstantNull, {words, zeros});
  const uint32_t pointer = type({OpTypePointer, storageCrossWorkgroup, words});
  toRecord_ = type({OpTypePointer, storageCrossWorkgroup, u32_});
  out_.emit(OpVariable, {pointer, record_, storageCrossWorkgroup, zeros});
}

// Declares types, constants and variables, after those of the module.
void Barriers::declare() {
  void_ = type({OpTypeVoid});
  bool_ = type({OpTypeBool});
  u32_ = type({OpTypeInt, 32, 0});
  u64_ = type({OpTypeInt, 64, 0});
  const uint32_t vector = type({OpTypeVector, u64_, 3});
  for (auto &each : constants_) out_.emit(OpConstant, {u32_, each.second, each.first});
  out_.emit(OpConstant, {u64_, zero64_, 0, 0});
  declareTables();
  declareRecord();
  const uint32_t toIndex = type({OpTypePointer, storageInput, u64_}), toSize = type({OpTypePointer, storageInput, vector});
  if (!hasIndex_) out_.emit(OpVariable, {toIndex, localIndex_, storageInput});
  if (!hasSize_) out_.emit(OpVariable, {toSize, groupSize_, storageInput});
  type({OpTypeFunction, void_, u64_, u32_, u32_});
}

uint32_t Barriers::emitted(uint32_t op, uint32_t type, std::vector<uint32_t> operands) {
  const uint32_t id = out_.newId();
  operands.insert(operands.begin(), {type, id});
  out_.emit(op, operands);
  return id;
}

// Copies a table of as many work-items as the group has to the record; `before` is the label of the current block.
// Returns the label of the last one.
uint32_t Barriers::copyTable(uint32_t table, uint32_t first, uint32_t items, uint32_t before) {
  const uint32_t head = out_.newId(), body = out_.newId(), after = out_.newId(), i = out_.newId(), next = out_.newId();
  out_.emit(OpBranch, {head});
  label(head);
  out_.emit(OpPhi, {u64_, i, zero64_, before, next, body});
  out_.emit(OpBranchConditional, {emitted(OpULessThan, bool_, {i, items}), body, after});
  label(body);
  const uint32_t place = emitted(OpIAdd, u64_, {i, emitted(OpUConvert, u64_, {constant(first)})});
  const uint32_t to = emitted(OpInBoundsAccessChain, toRecord_, {record_, place});
  out_.emit(OpStore, {to, emitted(OpLoad, u32_, {word(table, i)})});
  out_.emit(OpIAdd, {u64_, next, i, emitted(OpUConvert, u64_, {constant(1)})});
  out_.emit(OpBranch, {head});
  label(after);
  return after;
}

uint32_t Barriers::itemsOfGroup() {
  const uint32_t size = emitted(OpLoad, type({OpTypeVector, u64_, 3}), {groupSize_});
  uint32_t items = emitted(OpCompositeExtract, u64_, {size, 0});
  for (uint32_t at : {1u, 2u}) items = emitted(OpIMul, u64_, {items, emitted(OpCompositeExtract, u64_, {size, at})});
  return items;
}

// Defines the function that fills the record, unless it is filled. Its parameters are those of the record.
void Barriers::defineReport() {
  const uint32_t signature = type({OpTypeFunction, void_, u64_, u32_, u32_});
  out_.emit(OpFunction, {void_, report_, dontInline, signature});
  const uint32_t lid = emitted(OpFunctionParameter, u64_, {}), number = emitted(OpFunctionParameter, u32_, {});
  const uint32_t how = emitted(OpFunctionParameter, u32_, {});
  const uint32_t fill = out_.newId(), end = out_.newId(), zero = constant(0), one = constant(1);
  label(out_.newId());
  const uint32_t was = emitted(OpAtomicExchange, u32_, {field(Field::claimed), one, zero, one});
  out_.emit(OpBranchConditional, {emitted(OpIEqual, bool_, {was, zero}), fill, end});
  label(fill);
  set(Field::number, number);
  set(Field::item, emitted(OpUConvert, u32_, {lid}));
  set(Field::found, how);
  const uint32_t items = itemsOfGroup();
  set(Field::items, emitted(OpUConvert, u32_, {items}));
  copyTable(sums_, sumsAt, items, copyTable(places_, placesAt, items, fill));
  set(Field::complete, one);
  out_.emit(OpBranch, {end});
  label(end);
  stay(how);
  out_.emit(OpFunctionEnd, {});
}

// A work-item at a barrier that it has not reached stays there: its variables have no values.
void Barriers::stay(uint32_t how) {
  const uint32_t loop = out_.newId(), end = out_.newId(), zero = constant(0);
  out_.emit(OpBranchConditional, {emitted(OpIEqual, bool_, {how, zero}), loop, end});
  label(loop);
  const uint32_t claimed = emitted(OpLoad, u32_, {field(Field::claimed), volatileAccess});
  out_.emit(OpBranchConditional, {emitted(OpIEqual, bool_, {claimed, zero}), end, loop});
  label(end);
  out_.emit(OpReturn, {});
}

// At the begin of a kernel.
void Barriers::begin() {
  out_.emit(OpStore, {word(sums_, item()), constant(0)});
  first_ = false;
}

void Barriers::arrive(uint32_t number) {
  const uint32_t lid = item(), sum = word(sums_, lid);
  out_.emit(OpStore, {word(places_, lid), number});
  out_.emit(OpStore, {sum, emitted(OpIAdd, u32_, {emitted(OpLoad, u32_, {sum}), steps_.at(number)})});
}

// Reports unless this work-item has the number or sum `wanted`, and goes on at the label `next`.
void Barriers::compare(uint32_t table, uint32_t wanted, Found how, uint32_t next) {
  const uint32_t lid = item(), has = emitted(OpLoad, u32_, {word(table, lid)}), wrong = out_.newId();
  out_.emit(OpBranchConditional, {emitted(OpINotEqual, bool_, {has, wanted}), wrong, next});
  label(wrong);
  out_.emit(OpFunctionCall, {void_, out_.newId(), report_, lid, wanted, constant((uint32_t)how)});
  out_.emit(OpBranch, {next});
  label(next);
}

void Barriers::emitBarrier(const Instruction &i) {
  const uint32_t number = numbers_.at(i.words);
  arrive(number);
  out_.append(i);
  compare(places_, number, Found::barrier, next_.at(i.words));
}

// The end of a kernel, to which its returns go: a barrier.
void Barriers::emitEnd(const Called &kernel) {
  label(kernel.exit);
  arrive(kernel.end);
  const uint32_t group = constant(scopeWorkgroup);
  out_.emit(OpControlBarrier, {group, group, constant(orderOfGroup)});
  compare(places_, kernel.end, Found::end, out_.newId());
  compare(sums_, emitted(OpLoad, u32_, {word(sums_, zero64_)}), Found::sum, out_.newId());
  out_.emit(OpReturn, {});
}

// A block that is divided ends in another one, which its successors name.
void Barriers::emitPhi(const Instruction &i) {
  std::vector<uint32_t> operands(i.begin() + 1, i.end());
  for (size_t at = 3; at < operands.size(); at += 2) {
    auto found = lastLabel_.find(operands[at]);
    if (found != lastLabel_.end()) operands[at] = found->second;
  }
  out_.emit(OpPhi, operands);
}

void Barriers::emitBody(const Instruction &i) {
  if (i.op() == OpFunction) function_ = &functions_[i[2]];
  if (i.op() == OpPhi) return emitPhi(i);
  if (!function_ || !function_->meets) return out_.append(i);
  if (first_ && i.op() != OpVariable && i.op() != OpLine && i.op() != OpNoLine) begin();
  first_ |= i.op() == OpLabel && function_->kernel && begun_.insert(function_).second;
  if (meets(i)) arrive(numbers_.at(i.words));
  if (isBarrier(i)) return emitBarrier(i);
  if (function_->kernel && i.op() == OpReturn) return out_.emit(OpBranch, {function_->exit});
  if (function_->kernel && i.op() == OpFunctionEnd) emitEnd(*function_);
  out_.append(i);
}

std::string Barriers::checked() {
  plan();
  function_ = nullptr;
  if (!linkage_) out_.emit(OpCapability, {capabilityLinkage});
  for (auto &i : in_.instructions) {
    if (in_.isFirstType(i)) decorate();
    if (in_.isFirstFunction(i)) declare();
    emitBody(i);
  }
  defineReport();
  return out_.bytes();
}

}  // namespace

std::string withCheckedBarriers(const std::string &spirv) {
  Barriers barriers(spirv);
  return barriers.find() ? barriers.checked() : spirv;
}

}  // namespace simulator
