#include "decode.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

#include "operands.hpp"
#include "memory_message.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

Op op_of(const std::string& mnemonic) {
  static const std::unordered_map<std::string, Op> ops{
      {"add", Op::Add}, {"add3", Op::Add3}, {"addc", Op::Addc}, {"and", Op::And}, {"asr", Op::Asr}, {"avg", Op::Avg},
      {"bfe", Op::Bfe}, {"bfi1", Op::Bfi1}, {"bfi2", Op::Bfi2}, {"bfn", Op::Bfn}, {"bfrev", Op::Bfrev},
      {"break", Op::Break}, {"call", Op::Call}, {"cbit", Op::Cbit}, {"cmp", Op::Cmp}, {"cont", Op::Continue},
      {"csel", Op::Csel}, {"dp4a", Op::Dp4a}, {"dpas", Op::Dpas}, {"else", Op::Else}, {"endif", Op::EndIf}, {"fbh", Op::Fbh},
      {"fbl", Op::Fbl}, {"frc", Op::Frc}, {"goto", Op::Goto}, {"if", Op::If}, {"illegal", Op::Illegal},
      {"jmpi", Op::Jmpi}, {"join", Op::Join}, {"lzd", Op::Lzd}, {"mach", Op::Mach}, {"macl", Op::Macl},
      {"mad", Op::Mad}, {"madm", Op::Madm}, {"math", Op::Math}, {"mov", Op::Mov}, {"mul", Op::Mul}, {"nop", Op::Nop},
      {"not", Op::Not}, {"or", Op::Or}, {"ret", Op::Ret}, {"rndd", Op::Rndd}, {"rnde", Op::Rnde}, {"rndu", Op::Rndu},
      {"rndz", Op::Rndz}, {"rol", Op::Rol}, {"ror", Op::Ror}, {"sel", Op::Sel}, {"send", Op::Send},
      {"sendc", Op::Send}, {"shl", Op::Shl}, {"shr", Op::Shr}, {"subb", Op::Subb}, {"sync", Op::Sync},
      {"while", Op::While}, {"xor", Op::Xor}};
  const auto found = ops.find(mnemonic);
  return found == ops.end() ? Op::Unknown : found->second;
}

// The library numbers opcodes as it likes, but it tells their names.
class Opcodes {
 public:
  Opcodes(const Iga& iga, int platform) : iga_(iga), platform_(platform) {}
  Op operator()(uint32_t opcode) {
    const auto found = known_.find(opcode);
    if (found != known_.end()) return found->second;
    const OpcodeEntry* entry = nullptr;
    char name[32] = "";
    size_t capacity = sizeof name;
    const bool named = iga_.opcode_entry(platform_, opcode, &entry) == 0 && iga_.mnemonic(entry, name, &capacity) == 0;
    return known_[opcode] = named ? op_of(name) : Op::Unknown;
  }

 private:
  const Iga& iga_;
  int platform_;
  std::unordered_map<uint32_t, Op> known_;
};

const char* label_of(int32_t pc, void*) {
  thread_local char text[16];
  snprintf(text, sizeof text, "L%d", pc);
  return text;
}

bool decode_predicate(const View& v, Instruction& i) {
  enum : uint32_t { kNone, kLanes, kAny = 14, kAll };
  i.inverse = v.iga.predicate_inverse(v.kernel, v.pc);
  switch (v.iga.predicate(v.kernel, v.pc)) {
    case kNone: i.predicate = Predicate::None; return true;
    case kLanes: i.predicate = Predicate::Lanes; return true;
    case kAny: i.predicate = Predicate::Any; return true;
    case kAll: i.predicate = Predicate::All; return true;
    default: return false;
  }
}

bool decode_condition(const View& v, Instruction& i) {
  const uint32_t number = v.iga.flag_modifier(v.kernel, v.pc);
  if (number == iga::kEarlyOut) {
    i.early_out = true;
    return true;
  }
  i.condition = static_cast<Condition>(number);
  const bool sum = i.op == Op::Add || i.op == Op::Add3 || i.op == Op::Mul || i.op == Op::Mad;
  return number <= 6 || (i.condition == Condition::Unordered && i.op == Op::Cmp) ||
         (i.condition == Condition::Overflow && sum);
}

bool decode_flag(const View& v, Instruction& i) {
  const int number = v.iga.flag_register(v.kernel, v.pc), sub = v.iga.flag_sub_register(v.kernel, v.pc);
  if (number < 0 || number > 3 || sub < 0 || sub > 1) return false;
  i.flag = static_cast<uint8_t>(number);
  const int shift = 16 * sub + i.channel;
  i.flag_shift = static_cast<uint8_t>(shift & 31);
  return shift + i.size <= 32 || (i.predicate == Predicate::None && i.condition == Condition::None);
}

// What all instructions have.
bool decode_controls(const View& v, Instruction& i) {
  i.size = static_cast<uint8_t>(v.iga.execution_size(v.kernel, v.pc));
  if (!i.size || i.size > 32) return false;
  i.lane_mask = i.size == 32 ? ~0u : (1u << i.size) - 1;
  i.channel = static_cast<uint8_t>(4 * v.iga.channel_offset(v.kernel, v.pc));
  i.no_mask = v.iga.mask_control(v.kernel, v.pc);
  i.saturate = v.iga.destination_modifier(v.kernel, v.pc);
  uint32_t function = 0;
  if (v.iga.subfunction(v.kernel, v.pc, &function) == 0) i.function = function;
  i.backward = i.op == Op::Goto && i.function == 1;
  return decode_predicate(v, i) && decode_condition(v, i) && decode_flag(v, i);
}

int32_t register_place(const Operand& o) { return o.file == File::General ? static_cast<int32_t>(o.offset) : -1; }

bool decode_send(const View& v, Kernel& kernel, Instruction& i) {
  SendInfo& send = i.send;
  send.unit = static_cast<Unit>(i.function);
  send.end_of_thread = v.iga.has_option(v.kernel, v.pc, iga::kEndOfThread);
  uint8_t extended = 0xff, extended_sub = 0xff, descriptor = 0xff, descriptor_sub = 0xff;
  v.iga.send_descriptors(v.kernel, v.pc, &send.extended, &send.descriptor);
  v.iga.send_indirect(v.kernel, v.pc, &extended, &extended_sub, &descriptor, &descriptor_sub);
  if (extended != 0xff) send.extended_register = extended_sub;
  if (descriptor != 0xff) send.descriptor_register = descriptor_sub;
  Instruction whole;  // the operands are registers from their beginning, whatever the execution size
  whole.sources = i.sources;
  if (!decode_destination(v, kernel, whole)) return false;
  for (int s = 0; s < i.sources && s < 2; ++s)
    if (!decode_source(v, kernel, whole, s)) return false;
  send.destination = register_place(whole.destination);
  send.address = register_place(whole.source[0]);
  send.data = i.sources > 1 ? register_place(whole.source[1]) : -1;
  send.memory = decode_message(send.descriptor, send.extended);
  uint32_t packed = 0;
  if (send.extended_register >= 0 && v.iga.send_offset(v.kernel, v.pc, &packed) == 0)
    send.memory.offset = static_cast<int32_t>((packed & 0xfff80000) | (packed & 0xf000) << 3) >> 15;
  return true;
}

bool decode_branch(const View& v, Kernel& kernel, Instruction& i) {
  int32_t targets[3] = {-1, -1, -1};
  const uint32_t count = v.iga.targets(v.kernel, v.pc, targets);
  i.join = targets[0];
  i.target = count > 1 ? targets[1] : targets[0];
  if (i.op == Op::Call) return count && decode_destination(v, kernel, i) && i.destination.file == File::General;
  if (count) return true;
  if (i.op != Op::Ret && i.op != Op::Jmpi) return false;
  return decode_source(v, kernel, i, 0) && i.source[0].file == File::General && !i.source[0].indirect;
}

bool decode_operands(const View& v, Kernel& kernel, Instruction& i) {
  const bool known_sync = i.op == Op::Sync || i.op == Op::Nop;
  if (known_sync) return true;
  i.sources = v.iga.source_count(v.kernel, v.pc);
  if (i.sources < 0 || i.sources > 3) return false;
  switch (i.op) {
    case Op::Send: return decode_send(v, kernel, i);
    case Op::Goto: case Op::Join: case Op::Jmpi: case Op::Call: case Op::Ret: case Op::If: case Op::Else: case Op::EndIf:
    case Op::While: case Op::Break: case Op::Continue: return decode_branch(v, kernel, i);
    case Op::Dpas: return decode_matrices(v, kernel, i);
    default: break;
  }
  const bool writes_accumulator = v.iga.has_option(v.kernel, v.pc, iga::kAccumulatorWrite);
  const bool does = i.op == Op::Mach || i.op == Op::Macl || i.op == Op::Addc || i.op == Op::Subb;
  if ((writes_accumulator && !does) || !decode_destination(v, kernel, i)) return false;
  for (int s = 0; s < i.sources; ++s)
    if (!decode_source(v, kernel, i, s)) return false;
  return true;
}

Instruction decode_instruction(const View& v, Kernel& kernel, Opcodes& opcodes) {
  Instruction i;
  i.pc = v.pc;
  i.op = opcodes(v.iga.opcode(v.kernel, v.pc));
  if (i.op == Op::Illegal) return i;
  if (i.op == Op::Unknown || !decode_controls(v, i) || !decode_operands(v, kernel, i)) i.op = Op::Unknown;
  return i;
}

// Targets are bytes while decoding, and indices afterwards.
void resolve(Kernel& kernel) {
  for (Instruction& i : kernel.code) {
    if (i.target >= 0) i.target = kernel.index(i.target);
    if (i.join >= 0) i.join = kernel.index(i.join);
    prepare(i);
  }
}

// Instructions up to the padding behind the last one: 0 if the bytes end before.
size_t decode_up_to_end(const View& first, size_t size, Kernel& kernel) {
  Opcodes opcodes(first.iga, kernel.platform);
  int32_t farthest = 0;
  bool ended = false;
  View view = first;
  while (static_cast<size_t>(view.pc) < size) {
    const int32_t bytes = view.iga.size(view.kernel, view.pc);
    if (bytes <= 0) break;
    const Instruction i = decode_instruction(view, kernel, opcodes);
    kernel.index_at.resize(view.pc / 8 + 1, -1);
    kernel.index_at[view.pc / 8] = static_cast<int32_t>(kernel.code.size());
    kernel.code.push_back(i);
    ended |= i.send.end_of_thread;
    farthest = std::max({farthest, i.target, i.join});
    view.pc += bytes;
    if (ended && i.op == Op::Illegal && view.pc > farthest) return view.pc;
  }
  return 0;
}

struct Opened {
  const Iga& iga;
  KernelView* view;

  Opened(const Iga& library, int platform, const char* bytes, size_t size) : iga(library) {
    int status = 0;
    char error[256] = "";
    view = iga.create(platform, bytes, size, &status, error, sizeof error, 0);
    if (!view) throw Failure(std::string("libiga64 cannot decode the kernel: ") + error);
  }
  ~Opened() { iga.destroy(view); }
};

int platform_of(int generation) {
  if (generation / 100 == 12) return iga::XeHpc;
  if (generation / 100 == 20) return iga::Xe2;
  throw Failure("kernels of graphics generation " + std::to_string(generation) + " are not known: 1260 and 20xx are");
}

// How many bytes from the address on are mapped, at most `most`.
size_t mapped(Space& space, uint64_t address, size_t most) {
  uint64_t extent = 0;
  if (!space.find(address, 16, Access::Read, &extent)) return 0;
  return std::min<uint64_t>(extent, most);
}

std::shared_ptr<const Kernel> decode_mapped(const Iga& iga, int platform, uint64_t start, Space& space) {
  constexpr size_t kMost = 16 << 20;
  const size_t most = mapped(space, start, kMost);
  if (!most) throw Failure("no kernel is mapped at its address");
  const char* bytes = space.find(start, 16, Access::Read);
  for (size_t size = std::min<size_t>(64 << 10, most);; size = std::min(4 * size, most)) {
    auto kernel = decode(iga, platform, start, bytes, size);
    if (!kernel->code.empty() || size == most) return kernel;
  }
}

}  // namespace

std::string Kernel::text(const Instruction& i) const {
  std::string why;
  const Iga* iga = Iga::get(&why);
  if (!iga) return why;
  const Opened opened(*iga, platform, bytes.data(), bytes.size());
  char text[512] = "";
  iga->syntax(opened.view, i.pc, text, sizeof text, 4, label_of, nullptr);
  std::string line;
  for (const char* c = text; *c; ++c)
    if (*c != ' ' || (!line.empty() && line.back() != ' ')) line += *c == '\n' ? ' ' : *c;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::shared_ptr<const Kernel> decode(const Iga& iga, int platform, uint64_t start, const char* bytes, size_t size) {
  auto kernel = std::make_shared<Kernel>();
  kernel->start = start;
  kernel->platform = platform;
  const Opened opened(iga, platform, bytes, size);
  const size_t end = decode_up_to_end({iga, opened.view, 0}, size, *kernel);
  if (!end) kernel->code.clear();
  kernel->bytes.assign(bytes, bytes + end);
  resolve(*kernel);
  return kernel;
}

std::shared_ptr<const Kernel> kernel_at(uint64_t start, Space& space, int generation) {
  static std::mutex mutex;
  static std::map<std::pair<Space*, uint64_t>, std::shared_ptr<const Kernel>> known;
  std::string why;
  const Iga* iga = Iga::get(&why);
  if (!iga) throw Failure(why);
  const int platform = platform_of(generation);
  const std::lock_guard<std::mutex> lock(mutex);
  auto& kernel = known[{&space, start}];
  if (kernel) {
    const char* bytes = space.find(start, kernel->bytes.size(), Access::Read);
    if (bytes && kernel->platform == platform && !memcmp(bytes, kernel->bytes.data(), kernel->bytes.size()))
      return kernel;
  }
  kernel = nullptr;
  auto decoded = decode_mapped(*iga, platform, start, space);
  if (decoded->code.empty()) throw Failure("the kernel has no end of thread");
  return kernel = decoded;
}

}  // namespace ishmem_emulator::eu
