// What the kernels of counted_kernels.py are compared with: the same work without ishmem.
//
// `there` is the address of an array on the peer, `here` of the same array on this PE, `own` of one in private memory.
// A kernel does its operation `n` times. On cards without atomics on other cards (DIRECT is 0), flags are plain stores, and
// a load from the peer completes the stores to it.

#define ALL memory_scope_all_svm_devices
#define RELAXED memory_order_relaxed
#define FENCE(order) atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_##order, ALL)
#define ARGUMENTS ulong there, ulong here, ulong own, long me, long pes, long n

typedef global long* longs;
typedef global long2* units;
typedef volatile global atomic_long* flag;

kernel void p(ARGUMENTS) {
  for (long k = 0; k < n; k++) ((longs)there)[k] = k;
}

kernel void g(ARGUMENTS) {
  for (long k = 0; k < n; k++) ((longs)own)[k] = ((longs)there)[k];
}

kernel void atomic_fetch_add(ARGUMENTS) {
  for (long k = 0; k < n; k++)
    ((longs)own)[k] = atomic_fetch_add_explicit((flag)(there + 8 * k), k, RELAXED, ALL);
}

void copy(ulong to, ulong from, uint bytes, uint rank, uint size) {
  if (bytes == 8) {
    if (rank == 0) *(longs)to = *(longs)from;
    return;
  }
  for (uint i = rank; i < bytes / 16; i += size) ((units)to)[i] = ((units)from)[i];
}

#define PUT(bytes) \
  kernel void put_##bytes(ARGUMENTS) { \
    for (long k = 0; k < n; k++) { \
      copy(there, own, bytes, 0, 1); \
      FENCE(release); \
    } \
  } \
  kernel void put_sub_group_##bytes(ARGUMENTS) { \
    for (long k = 0; k < n; k++) { \
      sub_group_barrier(CLK_GLOBAL_MEM_FENCE); \
      copy(there, own, bytes, get_sub_group_local_id(), get_sub_group_size()); \
      sub_group_barrier(CLK_GLOBAL_MEM_FENCE); \
    } \
  } \
  kernel void put_work_group_##bytes(ARGUMENTS) { \
    for (long k = 0; k < n; k++) { \
      work_group_barrier(CLK_GLOBAL_MEM_FENCE); \
      copy(there, own, bytes, get_local_id(0), get_local_size(0)); \
      work_group_barrier(CLK_GLOBAL_MEM_FENCE); \
    } \
  }
PUT(8)
PUT(64)
PUT(4096)

kernel void wait_until(ARGUMENTS) {
  while (atomic_load_explicit((flag)here, RELAXED, ALL) < n) {}
  FENCE(acquire);
}

// `distances` is an array of distances to the memory of the PEs.
void complete(ulong distances, ulong here, long me, long pes) {
#if !DIRECT
  FENCE(seq_cst);
  for (long pe = 0; pe < pes; pe++)
    if (pe != me) *(volatile global long*)(here + ((longs)distances)[pe]);
#endif
  FENCE(seq_cst);
}

kernel void fence(ARGUMENTS) {
  for (long k = 0; k < n; k++) {
    ((longs)there)[k] = k;
    FENCE(release);
  }
}

// `own` is an array of distances to the memory of the PEs.
kernel void quiet(ARGUMENTS) {
  for (long k = 0; k < n; k++) {
    ((longs)there)[k] = k;
    complete(own, here, me, pes);
  }
}

void set(ulong to, long value) {
#if DIRECT
  atomic_store_explicit((flag)to, value, memory_order_release, ALL);
#else
  FENCE(release);
  *(volatile global long*)to = value;
#endif
}

void await(ulong at, long value) {
  while (atomic_load_explicit((flag)at, RELAXED, ALL) < value) {}
  FENCE(acquire);
}

// `there` is an array of distances to the memory of the PEs, `here` has a line of 64 bytes for each round, `own` the number
// of the last barrier.
void one_barrier(ulong there, ulong here, ulong own, long me, long pes) {
  const long number = *(longs)own + 1;
  *(longs)own = number;
#if !DIRECT
  complete(there, here, me, pes);
#endif
  for (long distance = 1; distance < pes; distance *= 2, here += 64) {
    const long to = me + distance;
    set(here + ((longs)there)[to >= pes ? to - pes : to], number);
    await(here, number);
  }
}

kernel void barrier_all(ARGUMENTS) {
  for (long k = 0; k < n; k++) one_barrier(there, here, own, me, pes);
}

// The same with two slots of a value and a flag for each PE: calls take turns.
kernel void sum_reduce(ARGUMENTS) {
  for (long k = 0; k < n; k++) {
    const longs source = (longs)own + 1, dest = (longs)own + 2;
    const long number = *(longs)own + 1;
    *(longs)own = number;
    const ulong slots = here + (number & 1) * pes * 16;
    for (long pe = 0; pe < pes; pe++) {
      if (pe == me) continue;
      *(longs)(slots + 16 * me + ((longs)there)[pe]) = *source;
      set(slots + 16 * me + 8 + ((longs)there)[pe], number);
    }
    long sum = 0;
    for (long pe = 0; pe < pes; pe++) {
      if (pe != me) await(slots + 16 * pe + 8, number);
      sum += pe == me ? *source : *(longs)(slots + 16 * pe);
    }
    *dest = sum;
  }
}

// `here` has the slots of a call, `there` is an array of distances; `own` has the message, and the sum behind it.
kernel void all_reduce(ARGUMENTS) {
  const long number = 1;
  const global float* source = (const global float*)own;
  global float* dest = (global float*)own + n;
  for (uint i = get_local_id(0); i < n; i += get_local_size(0))
    for (long pe = 0; pe < pes; pe++)
      if (pe != me) ((longs)(here + ((longs)there)[pe]))[me * n + i] = as_uint(source[i]) | number << 32;
  work_group_barrier(CLK_GLOBAL_MEM_FENCE);
  for (uint i = get_local_id(0); i < n; i += get_local_size(0)) {
    float sum = 0;
    for (long pe = 0; pe < pes; pe++) {
      float value = source[i];
      if (pe != me) {
        long seen;
        do seen = atomic_load_explicit((flag)(here + 8 * (pe * n + i)), RELAXED, ALL);
        while (seen >> 32 != number);
        value = as_float((uint)seen);
      }
      sum = pe ? sum + value : value;
    }
    dest[i] = sum;
  }
}

// `own` has the expert of each of n tokens, then the list of those of expert 0, the rows of the tokens, the rows received
// and their origins. `there` has the list and the rows sent to the peer, `here` those from it. There are at least as many
// work-items as tokens.
#define ROW 1024
kernel void dispatch(ARGUMENTS) {
  const ulong rows = own + 16 * MOST, received = rows + MOST * ROW, origins = received + MOST * ROW;
  const longs list = (longs)own + MOST;
  const long token = get_local_id(0), chosen = token < n && ((longs)own)[token] == 0;
  const long before = work_group_scan_exclusive_add(chosen), length = work_group_reduce_add(chosen);
  if (chosen) list[before] = token << 32 | token;
  work_group_barrier(CLK_GLOBAL_MEM_FENCE);
  for (uint i = 0; i < length; i++)
    copy(there + 8 * MOST + i * ROW, rows + (list[i] >> 32) * ROW, ROW, get_local_id(0), get_local_size(0));
  for (uint i = get_local_id(0); i < length; i += get_local_size(0)) ((longs)there)[i] = list[i];
  work_group_barrier(CLK_GLOBAL_MEM_FENCE);
  for (uint i = get_local_id(0); i < n; i += get_local_size(0)) ((global int*)origins)[i] = ((longs)here)[i];
  for (uint i = 0; i < n; i++)
    copy(received + i * ROW, here + 8 * MOST + i * ROW, ROW, get_local_id(0), get_local_size(0));
}
