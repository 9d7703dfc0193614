// The tables of function addresses that the real loader requests from a driver, one per class of functions.
#include "driver.hpp"

#include <cstring>
#include <dlfcn.h>
#include <sstream>
#include <string>

namespace simulator {

// The functions of each class in the order of its table. A number is the minor version of Level Zero that added the
// functions after it; the table of an older loader has no entries for them. Entries that later versions add stay null.
static const char *const tables[][2] = {
    {"Global", "Init"},
    {"Driver", "Get GetApiVersion GetProperties GetIpcProperties GetExtensionProperties 1 GetExtensionFunctionAddress"},
    {"Device", "Get GetSubDevices GetProperties GetComputeProperties GetModuleProperties GetCommandQueueGroupProperties "
               "GetMemoryProperties GetMemoryAccessProperties GetCacheProperties GetImageProperties "
               "GetExternalMemoryProperties GetP2PProperties CanAccessPeer GetStatus 1 GetGlobalTimestamps "
               "2 ReserveCacheExt SetCacheAdviceExt 3 PciGetPropertiesExt 7 GetRootDevice"},
    {"Context", "Create Destroy GetStatus SystemBarrier MakeMemoryResident EvictMemory MakeImageResident EvictImage"},
    {"CommandQueue", "Create Destroy ExecuteCommandLists Synchronize"},
    {"CommandList", "Create CreateImmediate Destroy Close Reset AppendWriteGlobalTimestamp AppendBarrier "
                    "AppendMemoryRangesBarrier AppendMemoryCopy AppendMemoryFill AppendMemoryCopyRegion "
                    "AppendMemoryCopyFromContext AppendImageCopy AppendImageCopyRegion AppendImageCopyToMemory "
                    "AppendImageCopyFromMemory AppendMemoryPrefetch AppendMemAdvise AppendSignalEvent "
                    "AppendWaitOnEvents AppendEventReset AppendQueryKernelTimestamps AppendLaunchKernel "
                    "AppendLaunchCooperativeKernel AppendLaunchKernelIndirect AppendLaunchMultipleKernelsIndirect "
                    "3 AppendImageCopyToMemoryExt AppendImageCopyFromMemoryExt 6 HostSynchronize"},
    {"CommandListExp", "9 CreateCloneExp ImmediateAppendCommandListsExp"},
    {"Image", "GetProperties Create Destroy 3 GetAllocPropertiesExt 5 ViewCreateExt"},
    {"Mem", "AllocShared AllocDevice AllocHost Free GetAllocProperties GetAddressRange GetIpcHandle OpenIpcHandle "
            "CloseIpcHandle 3 FreeExt 6 PutIpcHandle"},
    {"Fence", "Create Destroy HostSynchronize QueryStatus Reset"},
    {"EventPool", "Create Destroy"},
    {"Event", "Create Destroy HostSignal HostSynchronize QueryStatus HostReset QueryKernelTimestamp"},
    {"Module", "Create Destroy DynamicLink GetNativeBinary GetGlobalPointer GetKernelNames GetProperties "
               "GetFunctionPointer"},
    {"ModuleBuildLog", "Destroy GetString"},
    {"Kernel", "Create Destroy SetCacheConfig SetGroupSize SuggestGroupSize SuggestMaxCooperativeGroupCount "
               "SetArgumentValue SetIndirectAccess GetIndirectAccess GetSourceAttributes GetProperties GetName"},
    {"KernelExp", "1 SetGlobalOffsetExp"},
    {"Sampler", "Create Destroy"},
    {"PhysicalMem", "Create Destroy"},
    {"VirtualMem", "Reserve Free QueryPageSize Map Unmap SetAccessAttribute GetAccessAttribute"},
};

static const char *functionsOf(const char *table) {
  for (auto &each : tables)
    if (strcmp(each[0], table) == 0) return each[1];
  return "";
}

// Function names start with "ze" and the class name without its suffix "Exp": the names in the table end in it already.
static std::string prefixOf(std::string table) {
  if (table == "Global") return "ze";
  if (table.size() > 3 && table.compare(table.size() - 3, 3, "Exp") == 0) table.resize(table.size() - 3);
  return "ze" + table;
}

static void *thisLibrary() {
  Dl_info info;
  if (!dladdr((void *)&functionsOf, &info)) return nullptr;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

// The entry of a function that this library lacks stays null. The loader then returns "unsupported feature".
static ze_result_t fill(const char *table, uint32_t version, void **entry) {
  static void *const library = thisLibrary();
  if (!entry) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (!library) return ZE_RESULT_ERROR_UNINITIALIZED;
  if (version >> 16 != 1) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  std::istringstream words(functionsOf(table));
  for (std::string word; words >> word;) {
    if (!isdigit(word[0]))
      *entry++ = dlsym(library, (prefixOf(table) + word).c_str());
    else if (std::stoul(word) > (version & 0xffff))
      break;
  }
  return ZE_RESULT_SUCCESS;
}

#define TABLE(name) \
  ZE_API ze_result_t zeGet##name##ProcAddrTable(uint32_t version, void **table) { return fill(#name, version, table); }

TABLE(Global) TABLE(Driver) TABLE(Device) TABLE(DeviceExp) TABLE(Context) TABLE(CommandQueue) TABLE(CommandList)
TABLE(CommandListExp) TABLE(Image) TABLE(ImageExp) TABLE(Mem) TABLE(Fence) TABLE(EventPool) TABLE(Event)
TABLE(EventExp) TABLE(Module) TABLE(ModuleBuildLog) TABLE(Kernel) TABLE(KernelExp) TABLE(Sampler) TABLE(PhysicalMem)
TABLE(VirtualMem) TABLE(FabricVertexExp) TABLE(FabricEdgeExp)

// Sysman and tools: the loader ignores a driver that does not export these tables. Their entries stay null.
#define EMPTY_TABLE(name) \
  ZE_API ze_result_t name##ProcAddrTable(uint32_t, void **) { return ZE_RESULT_SUCCESS; }

EMPTY_TABLE(zesGetDevice) EMPTY_TABLE(zesGetDiagnostics) EMPTY_TABLE(zesGetDriver) EMPTY_TABLE(zesGetEngine)
EMPTY_TABLE(zesGetFabricPort) EMPTY_TABLE(zesGetFan) EMPTY_TABLE(zesGetFirmware) EMPTY_TABLE(zesGetFrequency)
EMPTY_TABLE(zesGetLed) EMPTY_TABLE(zesGetMemory) EMPTY_TABLE(zesGetPerformanceFactor) EMPTY_TABLE(zesGetPower)
EMPTY_TABLE(zesGetPsu) EMPTY_TABLE(zesGetRas) EMPTY_TABLE(zesGetScheduler) EMPTY_TABLE(zesGetStandby)
EMPTY_TABLE(zesGetTemperature) EMPTY_TABLE(zetGetCommandList) EMPTY_TABLE(zetGetContext) EMPTY_TABLE(zetGetDebug)
EMPTY_TABLE(zetGetDevice) EMPTY_TABLE(zetGetKernel) EMPTY_TABLE(zetGetMetricGroupExp) EMPTY_TABLE(zetGetMetricGroup)
EMPTY_TABLE(zetGetMetric) EMPTY_TABLE(zetGetMetricQueryPool) EMPTY_TABLE(zetGetMetricQuery)
EMPTY_TABLE(zetGetMetricStreamer) EMPTY_TABLE(zetGetModule) EMPTY_TABLE(zetGetTracerExp)

}  // namespace simulator
