// Fences: set when a queue submission has completed.
#include "event.hpp"

namespace simulator {

ZE_API ze_result_t zeFenceCreate(ze_command_queue_handle_t queue, const ze_fence_desc_t *desc,
                                 ze_fence_handle_t *fence) {
  trace(__func__);
  if (!queue) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (anyNull(desc, fence)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *fence = new Fence{std::make_shared<std::atomic<bool>>((desc->flags & ZE_FENCE_FLAG_SIGNALED) != 0)};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeFenceDestroy(ze_fence_handle_t fence) {
  trace(__func__);
  if (!fence) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  delete fence;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout) {
  trace(__func__);
  if (!fence) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  return status(await(*fence->set, timeout));
}

ZE_API ze_result_t zeFenceQueryStatus(ze_fence_handle_t fence) {
  trace(__func__);
  if (!fence) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  return status(*fence->set);
}

ZE_API ze_result_t zeFenceReset(ze_fence_handle_t fence) {
  trace(__func__);
  if (!fence) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  *fence->set = false;
  return ZE_RESULT_SUCCESS;
}

}  // namespace simulator
