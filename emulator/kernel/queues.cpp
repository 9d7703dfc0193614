// ioctls of execution queues.
#include <cerrno>
#include <ctime>

#include "../report.hpp"
#include "ioctls.hpp"

namespace ishmem_emulator {

namespace {

// Returns 0 if the cards have no engine of the class that commands go to.
unsigned kindOf(uint16_t engineClass) {
  switch (engineClass) {
    case DRM_XE_ENGINE_CLASS_RENDER: return Render;
    case DRM_XE_ENGINE_CLASS_COPY: return Copy;
    case DRM_XE_ENGINE_CLASS_COMPUTE: return Compute;
  }
  return 0;
}

bool exists(const Card &card, const drm_xe_engine_class_instance &engine) {
  const int instance = engine.engine_instance;
  if (engine.gt_id >= card.tiles) return false;
  switch (kindOf(engine.engine_class)) {
    case Render: return card.renderEngine && instance == 0;
    case Copy: return instance < card.copyEngines;
    case Compute: return instance < card.computeEngines;
  }
  return engine.engine_class == DRM_XE_ENGINE_CLASS_VM_BIND;
}

// What schedules a queue, and how it saves state, has no counterpart here.
int checkExtensions(uint64_t extension) {
  while (extension) {
    const auto *property = (const drm_xe_ext_set_property *)extension;
    if (property->base.name != DRM_XE_EXEC_QUEUE_EXTENSION_SET_PROPERTY)
      return unknown("extension of XE_EXEC_QUEUE_CREATE", property->base.name);
    switch (property->property) {
      case DRM_XE_EXEC_QUEUE_SET_PROPERTY_PRIORITY:
      case DRM_XE_EXEC_QUEUE_SET_PROPERTY_TIMESLICE:
      case DRM_XE_EXEC_QUEUE_SET_DISABLE_STATE_CACHE_PERF_FIX: break;
      default: return unknown("property of XE_EXEC_QUEUE_CREATE", property->property);
    }
    extension = property->base.next_extension;
  }
  return 0;
}

bool holds(uint16_t operation, uint64_t value, uint64_t wanted) {
  switch (operation) {
    case DRM_XE_UFENCE_WAIT_OP_EQ: return value == wanted;
    case DRM_XE_UFENCE_WAIT_OP_NEQ: return value != wanted;
    case DRM_XE_UFENCE_WAIT_OP_GT: return value > wanted;
    case DRM_XE_UFENCE_WAIT_OP_GTE: return value >= wanted;
    case DRM_XE_UFENCE_WAIT_OP_LT: return value < wanted;
  }
  return value <= wanted;
}

int64_t monotonic() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// When a wait ends; negative: never.
int64_t deadlineOf(const drm_xe_wait_user_fence &arguments) {
  if (arguments.timeout < 0) return -1;
  if (arguments.flags & DRM_XE_UFENCE_WAIT_FLAG_ABSTIME) return arguments.timeout;
  const int64_t now = monotonic();
  return arguments.timeout > INT64_MAX - now ? -1 : now + arguments.timeout;
}

}  // namespace

int execQueueCreate(DeviceFile &file, drm_xe_exec_queue_create &arguments) {
  if (int error = checkExtensions(arguments.extensions)) return error;
  if (arguments.width != 1) return unknown("width of XE_EXEC_QUEUE_CREATE", arguments.width);
  const auto &engine = *(const drm_xe_engine_class_instance *)arguments.instances;
  if (!exists(file.row(), engine)) return EINVAL;
  std::lock_guard<DeviceFile> lock(file);
  auto space = file.spaces.get(arguments.vm_id);
  if (!space) return ENOENT;
  const Engine where{file.card(), engine.gt_id, (EngineKind)kindOf(engine.engine_class), engine.engine_instance};
  arguments.exec_queue_id = file.queues.add(std::make_shared<Queue>(where, space));
  trace(Level::Calls, "queue %u on %s", arguments.exec_queue_id, nameOf(where).c_str());
  return 0;
}

int execQueueDestroy(DeviceFile &file, drm_xe_exec_queue_destroy &arguments) {
  std::shared_ptr<Queue> last;  // ended without the lock
  std::lock_guard<DeviceFile> lock(file);
  last = file.queues.take(arguments.exec_queue_id);
  return last ? 0 : ENOENT;
}

int execQueueGetProperty(DeviceFile &file, drm_xe_exec_queue_get_property &arguments) {
  if (arguments.property != DRM_XE_EXEC_QUEUE_GET_PROPERTY_BAN)
    return unknown("property of XE_EXEC_QUEUE_GET_PROPERTY", arguments.property);
  std::lock_guard<DeviceFile> lock(file);
  auto queue = file.queues.get(arguments.exec_queue_id);
  if (!queue) return ENOENT;
  arguments.value = queue->banned();
  return 0;
}

int execQueueSetProperty(DeviceFile &file, drm_xe_exec_queue_set_property &arguments) {
  std::lock_guard<DeviceFile> lock(file);
  return file.queues.get(arguments.exec_queue_id) ? 0 : ENOENT;
}

int exec(DeviceFile &file, drm_xe_exec &arguments) {
  if (arguments.extensions) return unknown("extension of XE_EXEC", arguments.extensions);
  if (arguments.num_batch_buffer > 1) return unknown("number of batches of XE_EXEC", arguments.num_batch_buffer);
  const auto *syncs = (const drm_xe_sync *)arguments.syncs;
  Submission submission;
  if (arguments.num_batch_buffer) submission.batches.push_back(arguments.address);
  for (uint32_t i = 0; i < arguments.num_syncs; ++i) {
    if (syncs[i].type != DRM_XE_SYNC_TYPE_USER_FENCE) return unknown("sync of type", syncs[i].type);
    if (syncs[i].flags & DRM_XE_SYNC_FLAG_SIGNAL)
      submission.fences.push_back({syncs[i].addr, syncs[i].timeline_value});
  }
  std::lock_guard<DeviceFile> lock(file);
  auto queue = file.queues.get(arguments.exec_queue_id);
  if (!queue) return ENOENT;
  if (queue->banned()) return ECANCELED;
  trace(Level::Calls, "queue %u executes the batch at 0x%llx", arguments.exec_queue_id,
        (unsigned long long)arguments.address);
  queue->submit(std::move(submission));
  return 0;
}

int waitUserFence(DeviceFile &file, drm_xe_wait_user_fence &arguments) {
  if (arguments.op > DRM_XE_UFENCE_WAIT_OP_LTE || arguments.addr % 8) return EINVAL;
  std::shared_ptr<Queue> queue;
  if (arguments.exec_queue_id) {
    std::lock_guard<DeviceFile> lock(file);
    queue = file.queues.get(arguments.exec_queue_id);
    if (!queue) return ENOENT;
  }
  const int64_t deadline = deadlineOf(arguments);
  Pause pause;
  for (;;) {
    const uint64_t value = __atomic_load_n((const uint64_t *)arguments.addr, __ATOMIC_SEQ_CST);
    if (holds(arguments.op, value & arguments.mask, arguments.value & arguments.mask)) return 0;
    if (queue && queue->banned()) return EIO;
    if (deadline >= 0 && monotonic() >= deadline) return ETIME;
    pause.once();
  }
}

}  // namespace ishmem_emulator
