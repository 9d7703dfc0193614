// Functions that the SYCL runtime links to and that this driver does not support. They must exist, because the runtime
// binds all symbols when it is loaded.
#include "driver.hpp"

namespace simulator {

static ze_result_t unsupported(const char *name) {
  if (settings().trace) complain("%s is not supported", name);
  return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

#define UNSUPPORTED(name) \
  ZE_API ze_result_t name() { return unsupported(#name); }

UNSUPPORTED(zeCommandListAppendImageCopyFromMemory) UNSUPPORTED(zeCommandListAppendImageCopyRegion)
UNSUPPORTED(zeCommandListAppendImageCopyToMemory) UNSUPPORTED(zeContextMakeImageResident) UNSUPPORTED(zeImageCreate)
UNSUPPORTED(zeImageDestroy) UNSUPPORTED(zeImageViewCreateExt) UNSUPPORTED(zeKernelGetSourceAttributes)
UNSUPPORTED(zePhysicalMemCreate) UNSUPPORTED(zePhysicalMemDestroy) UNSUPPORTED(zeSamplerCreate)
UNSUPPORTED(zeSamplerDestroy) UNSUPPORTED(zeVirtualMemFree) UNSUPPORTED(zeVirtualMemGetAccessAttribute)
UNSUPPORTED(zeVirtualMemMap) UNSUPPORTED(zeVirtualMemQueryPageSize) UNSUPPORTED(zeVirtualMemReserve)
UNSUPPORTED(zeVirtualMemSetAccessAttribute) UNSUPPORTED(zeVirtualMemUnmap) UNSUPPORTED(zelTracerCreate)
UNSUPPORTED(zelTracerSetEnabled) UNSUPPORTED(zelTracerSetEpilogues) UNSUPPORTED(zelTracerSetPrologues)
UNSUPPORTED(zesDeviceEnumMemoryModules) UNSUPPORTED(zesMemoryGetProperties) UNSUPPORTED(zesMemoryGetState)

}  // namespace simulator
