#include "iga.hpp"

#include <dlfcn.h>

namespace ishmem_emulator::eu {
namespace {

struct Library {
  Iga functions{};
  std::string missing;

  Library() {
    void* handle = dlopen("libiga64.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* error = dlerror();
      missing = std::string("the execution units need libiga64.so.2 of Intel's compiler (Debian's libigc2): ") +
                (error ? error : "not found");
      return;
    }
    bind_instruction(handle);
    bind_operands(handle);
  }

  template <class F>
  void bind(void* handle, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (!function && missing.empty()) missing = std::string("libiga64.so.2 lacks the function ") + name;
  }

  void bind_instruction(void* h) {
    Iga& f = functions;
    bind(h, "kv_create", f.create);
    bind(h, "kv_delete", f.destroy);
    bind(h, "kv_get_inst_size", f.size);
    bind(h, "kv_get_inst_syntax", f.syntax);
    bind(h, "kv_get_inst_targets", f.targets);
    bind(h, "kv_has_inst_opt", f.has_option);
    bind(h, "kv_get_send_descs", f.send_descriptors);
    bind(h, "kv_get_send_exdesc_immoff", f.send_offset);
    bind(h, "kv_get_send_indirect_descs", f.send_indirect);
    bind(h, "kv_get_execution_size", f.execution_size);
    bind(h, "kv_get_number_sources", f.source_count);
    bind(h, "kv_get_opcode", f.opcode);
    bind(h, "kv_get_subfunction", f.subfunction);
    bind(h, "kv_get_channel_offset", f.channel_offset);
    bind(h, "kv_get_mask_control", f.mask_control);
    bind(h, "kv_get_flag_modifier", f.flag_modifier);
    bind(h, "kv_get_flag_register", f.flag_register);
    bind(h, "kv_get_flag_sub_register", f.flag_sub_register);
    bind(h, "kv_get_predicate", f.predicate);
    bind(h, "kv_get_is_inverse_predicate", f.predicate_inverse);
    bind(h, "kv_get_syncfc", f.sync_function);
    bind(h, "iga_opspec_from_op", f.opcode_entry);
    bind(h, "iga_opspec_mnemonic", f.mnemonic);
  }

  void bind_operands(void* h) {
    Iga& f = functions;
    bind(h, "kv_get_has_destination", f.has_destination);
    bind(h, "kv_get_destination_register", f.destination_register);
    bind(h, "kv_get_destination_sub_register", f.destination_sub_register);
    bind(h, "kv_get_destination_data_type", f.destination_type);
    bind(h, "kv_get_destination_register_type", f.destination_name);
    bind(h, "kv_get_destination_register_kind", f.destination_kind);
    bind(h, "kv_get_destination_region", f.destination_stride);
    bind(h, "kv_get_destination_indirect_imm_off", f.destination_offset);
    bind(h, "kv_get_destination_mme_number", f.destination_macro);
    bind(h, "kv_get_destination_modifier", f.destination_modifier);
    bind(h, "kv_get_source_register", f.source_register);
    bind(h, "kv_get_source_sub_register", f.source_sub_register);
    bind(h, "kv_get_source_data_type", f.source_type);
    bind(h, "kv_get_source_register_type", f.source_name);
    bind(h, "kv_get_source_register_kind", f.source_kind);
    bind(h, "kv_is_source_vector", f.source_is_vector);
    bind(h, "kv_get_source_region", f.source_region);
    bind(h, "kv_get_source_immediate", f.source_immediate);
    bind(h, "kv_get_source_indirect_imm_off", f.source_offset);
    bind(h, "kv_get_source_mme_number", f.source_macro);
    bind(h, "kv_get_source_modifier", f.source_modifier);
  }
};

}  // namespace

const Iga* Iga::get(std::string* why) {
  static const Library library;
  if (library.missing.empty()) return &library.functions;
  *why = library.missing;
  return nullptr;
}

}  // namespace ishmem_emulator::eu
