// The instructions: each function returns the function that executes an instruction of its kind, or nullptr for an
// instruction of another kind or a form that is not known.
#pragma once

#include "thread.hpp"

namespace ishmem_emulator::eu {

using Execute = void (*)(Thread&, const Instruction&);

Execute integer_operation(const Instruction&);      // add, mul, mad, ... of integers
Execute accumulator_operation(const Instruction&);  // what reads or writes accumulators beside its operands
Execute bit_operation(const Instruction&);          // and, shl, bfn, fbl, ...
Execute float_operation(const Instruction&);        // add, mul, mad, rnde, ... of floats
Execute compare_operation(const Instruction&);      // cmp, sel, csel
Execute move_operation(const Instruction&);         // mov
Execute math_operation(const Instruction&);         // math but its macros
Execute macro_operation(const Instruction&);        // math.invm, math.rsqtm, madm
Execute control_operation(const Instruction&);      // goto, join, jmpi, call, ret, sync, nop
Execute structured_operation(const Instruction&);   // if, else, while, break, cont
Execute matrix_operation(const Instruction&);       // dpas
Execute send_operation(Instruction&);               // messages

// Choose the type in which a decoded instruction computes, and the functions that execute it. What is not known gets a
// function that fails with the instruction's text.
void prepare(Instruction&);
void cannot_execute(Thread&, const Instruction&);

}  // namespace ishmem_emulator::eu
