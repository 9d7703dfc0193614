// Functions of the loader, whose place this library takes. SYCL runtimes from 2025 on contain the front part of the
// loader as a static library; it opens the library of this name and requests tables of functions from it.
#include "driver.hpp"

namespace simulator {

// One per component: the loader itself, and its layers if they are on.
struct ComponentVersion {
  char name[64];
  uint32_t specification;
  int major, minor, patch;
};

ZE_API ze_result_t zeLoaderInit() {
  trace(__func__);
  return ZE_RESULT_SUCCESS;
}

// There is no library of the tracing layer.
ZE_API void *zeLoaderGetTracingHandle() {
  trace(__func__);
  return nullptr;
}

// The caller requests tables of the version of the specification that is reported here, or of its own if that is older.
ZE_API ze_result_t zelLoaderGetVersionsInternal(size_t *count, ComponentVersion *versions) {
  if (auto error = checkCall(__func__, {}, {count})) return error;
  if (versions && *count) *versions = {"loader", API_VERSION, 1, 17, 0};
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

// The entries of the tracing layer's table stay null: the caller returns "unsupported feature" for them.
ZE_API ze_result_t zelGetTracerApiProcAddrTable(uint32_t, void **table) {
  trace(__func__);
  return table ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

// This library is both loader and driver, so handles need no translation.
ZE_API ze_result_t zelLoaderTranslateHandle(uint32_t, void *handle, void **translated) {
  if (auto error = checkCall(__func__, {handle}, {translated})) return error;
  *translated = handle;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zelLoaderTranslateHandleInternal(uint32_t type, void *handle, void **translated) {
  return zelLoaderTranslateHandle(type, handle, translated);
}

}  // namespace simulator
