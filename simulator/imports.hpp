// Calls of a loaded library to functions of other libraries.
#pragma once

namespace simulator {

// Makes a library, given by its handle, call `function` in place of the imported function `name`.
void redirectCalls(void *library, const char *name, void *function);

}  // namespace simulator
