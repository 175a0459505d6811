/*
 * What is preloaded into a program of which allocations are recorded. It stands before the
 * allocator's functions, counts what they are asked for, and comes upon a probe of the recorder's
 * only where one of the points is that choose samples: see bpf/source/heap.bpf.h. So a call costs a
 * few ns, where a probe in each takes a thousand.
 *
 * Here points stand among the bytes that a thread allocates. The function that was called jumps to
 * a stub with all as it was at the entry: there is the probe, and the stack is the caller's. Stubs
 * are a nop, which the kernel emulates; without a recorder they do nothing. Their arguments are
 * those of the function, and for the others:
 *
 *   ebprof_heap_given(address)        what the call before in this thread returned; 1: it will not
 *                                     be known when that is freed
 *   ebprof_heap_gone(address)         such an address is about to be freed
 *   ebprof_heap_passed(count, bytes)  so many allocations were no samples since the last one
 *
 * It is linked with nothing, so that no version of a C library is needed: what it wants is looked
 * up when it is there. It must not allocate.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT         __attribute__((visibility("default")))
#define WEAK           __attribute__((weak))
#define NOINLINE       __attribute__((noinline))
#define LIKELY(what)   __builtin_expect(!!(what), 1)
#define UNLIKELY(what) __builtin_expect(!!(what), 0)

/* ---- stubs ---- */

#if defined(__x86_64__)
#define JUMP "jmp "
#elif defined(__aarch64__)
#define JUMP "b "
#endif

#define STUB(name, then) \
	__asm__(".text\n.balign 16\n.type " #name ", %function\n" #name ":\nnop\n" then \
		"\n.size " #name ", . - " #name "\n")
#define CALL_STUB(function) STUB(ebprof_heap_##function, JUMP "chosen_" #function)

CALL_STUB(malloc);
CALL_STUB(calloc);
CALL_STUB(realloc);
CALL_STUB(aligned);
CALL_STUB(posix_memalign);
STUB(ebprof_heap_given, "ret");
STUB(ebprof_heap_gone, "ret");
STUB(ebprof_heap_passed, "ret");

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void *ebprof_heap_malloc(size_t bytes);
HIDDEN void *ebprof_heap_calloc(size_t count, size_t bytes);
HIDDEN void *ebprof_heap_realloc(void *old, size_t bytes);
HIDDEN void *ebprof_heap_aligned(size_t alignment, size_t bytes);
HIDDEN int ebprof_heap_posix_memalign(void **ret, size_t alignment, size_t bytes);
HIDDEN void ebprof_heap_given(const void *address);
HIDDEN void ebprof_heap_gone(const void *address);
HIDDEN void ebprof_heap_passed(uint64_t count, uint64_t bytes);

/* ---- the functions behind ---- */

WEAK void *dlsym(void *handle, const char *name);
WEAK char *getenv(const char *name);
WEAK int sched_yield(void);
WEAK int getpid(void);
WEAK int getpagesize(void);
WEAK int dladdr(const void *address, void *ret);
WEAK void *__libc_malloc(size_t bytes);
WEAK void *__libc_calloc(size_t count, size_t bytes);
WEAK void *__libc_realloc(void *old, size_t bytes);
WEAK void *__libc_memalign(size_t alignment, size_t bytes);
WEAK void __libc_free(void *address);

#define RTLD_NEXT ((void *)-1L)

static struct {
	void *(*malloc)(size_t bytes);
	void *(*calloc)(size_t count, size_t bytes);
	void *(*realloc)(void *old, size_t bytes);
	void *(*aligned_alloc)(size_t alignment, size_t bytes);
	void *(*memalign)(size_t alignment, size_t bytes);
	int (*posix_memalign)(void **ret, size_t alignment, size_t bytes);
	void (*free)(void *address);
	int (*key_create)(unsigned *key, void (*end)(void *));
	int (*set_specific)(unsigned key, const void *value);
	/* glibc's; programs have its pthread_atfork() linked into them, from 2.34 on it has none.
	 */
	int (*register_at_fork)(void (*before)(void), void (*in_parent)(void),
		void (*in_child)(void), void *library);
	int (*at_fork)(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));
} real;

/* Before they are known: the linker's own functions may allocate while they look them up. */
static struct {
	_Alignas(16) char bytes[16 << 10];
	size_t used;
} early;

static void *allocate_early(size_t bytes)
{
	size_t needed = (bytes + 31) & ~(size_t)15,
	       at = __atomic_fetch_add(&early.used, needed, __ATOMIC_RELAXED);
	if (bytes > sizeof(early.bytes) || at + needed > sizeof(early.bytes))
		return NULL;
	*(size_t *)(early.bytes + at) = bytes;
	return early.bytes + at + 16;
}

static bool is_early(const void *address)
{
	return (const char *)address >= early.bytes &&
	       (const char *)address < early.bytes + sizeof(early.bytes);
}

/* ---- threads ---- */

struct heap_thread {
	int64_t left;     /* bytes to the next point; what is larger goes the long way */
	uint64_t passed;  /* allocations since the last sample, */
	int64_t distance; /* ... when `left` was this */
	uint64_t random;
	bool is_ready, is_over, is_looking_up;
	struct heap_thread *next, **before; /* in `threads` */
};

static __thread struct heap_thread self __attribute__((tls_model("initial-exec")));

static struct heap_thread *threads;
static unsigned thread_key;
static bool has_thread_key;
static int64_t mean_distance;

/* Of what follows, and of the addresses. */
static char lock;

static void take_lock(void)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		if (sched_yield)
			sched_yield();
}

static void leave_lock(void)
{
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static uint64_t next_random(struct heap_thread *thread)
{
	uint64_t x = thread->random;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	thread->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* -ln(u) for u in (0, 1]: ln of the mantissa by 2 atanh((m - 1) / (m + 1)), to 1e-6. */
static double minus_log(uint64_t random)
{
	union {
		double number;
		uint64_t bits;
	} u = {.number = (double)((random >> 11) + 1) * 0x1p-53};
	int exponent = (int)(u.bits >> 52) - 1023;
	u.bits = (u.bits & ((1ULL << 52) - 1)) | 1023ULL << 52;
	double t = (u.number - 1) / (u.number + 1), s = t * t;
	double log = 2 * t * (1 + s * (1. / 3 + s * (1. / 5 + s * (1. / 7 + s * (1. / 9)))));
	return -(log + exponent * 0.69314718055994531);
}

static uint64_t seed(void)
{
	static uint64_t count;
	uint64_t number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	uint64_t pid = getpid ? (uint64_t)getpid() : 0;
	uint64_t place = (uintptr_t)&self ^ (uintptr_t)&number << 16 ^ pid << 40;
	uint64_t mixed = place + number * 0x9e3779b97f4a7c15;
	/* Processes that were forked differ in few bits. splitmix64: Steele et al., "Fast
	 * splittable pseudorandom number generators". */
	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return (mixed ^ mixed >> 31) | 1; /* not 0 */
}

static void draw_distance(struct heap_thread *thread)
{
	thread->distance = 1 + (int64_t)(minus_log(next_random(thread)) * (double)mean_distance);
	thread->left = thread->distance;
}

/* Accounts for what was allocated since the last sample. */
static void tell_passed(struct heap_thread *thread)
{
	if (thread->passed)
		ebprof_heap_passed(thread->passed, (uint64_t)(thread->distance - thread->left));
	thread->passed = 0;
	thread->distance = thread->left;
}

static void end_heap_thread(void *context)
{
	struct heap_thread *thread = context;
	take_lock();
	*thread->before = thread->next;
	if (thread->next)
		thread->next->before = thread->before;
	leave_lock();
	tell_passed(thread);
	thread->is_ready = false;
	thread->is_over = true;
	thread->left = thread->distance = 0;
}

/* Those of the parent are accounted for there, and the child has points of its own: those of all
 * that it forks would be the same. */
static void begin_child(void)
{
	lock = 0;
	threads = NULL;
	if (!self.is_ready)
		return;
	threads = &self;
	self.next = NULL;
	self.before = &threads;
	self.passed = 0;
	self.random ^= seed();
	draw_distance(&self);
}

__attribute__((destructor)) static void end_program(void)
{
	take_lock();
	for (struct heap_thread *thread = threads; thread; thread = thread->next)
		tell_passed(thread);
	leave_lock();
}

/* ---- addresses of samples ---- */

enum {
	FILTER_BITS = 14,
	SLOT_BITS = 16,
	SLOTS = 1 << SLOT_BITS,
	MAX_ADDRESSES = SLOTS / 2, /* EVENT_MAX_KEPT_OF_PROCESS */
};

/* How many addresses have this place in it; 255: or more. What has 0 was no sample. */
static uint8_t filter[1 << FILTER_BITS];
static uintptr_t slots[SLOTS];
static uint32_t nr_addresses;

static uint64_t hash_address(const void *address)
{
	return ((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15;
}

static bool may_be_sample(const void *address)
{
	return filter[hash_address(address) >> (64 - FILTER_BITS)];
}

static uint32_t first_slot(uintptr_t address)
{
	return (uint32_t)(hash_address((const void *)address) >> (64 - SLOT_BITS));
}

/* That of the address, or the empty one where it would be. */
static uint32_t find_sampled_slot(uintptr_t address)
{
	uint32_t at = first_slot(address);
	while (slots[at] && slots[at] != address)
		at = (at + 1) & (SLOTS - 1);
	return at;
}

/* False: there are too many. */
static bool add_sampled(const void *address)
{
	uint8_t *count = &filter[hash_address(address) >> (64 - FILTER_BITS)];
	take_lock();
	uint32_t at = find_sampled_slot((uintptr_t)address);
	bool has_room = slots[at] || nr_addresses < MAX_ADDRESSES;
	if (has_room && !slots[at]) {
		slots[at] = (uintptr_t)address;
		nr_addresses++;
		*count += *count < 255;
	}
	leave_lock();
	return has_room;
}

/* What stands behind it is moved forward: no slot on the way from its first one may be empty. */
static void empty_slot(uint32_t at)
{
	uint32_t hole = at;
	for (;;) {
		at = (at + 1) & (SLOTS - 1);
		if (!slots[at])
			break;
		if (((at - first_slot(slots[at])) & (SLOTS - 1)) < ((at - hole) & (SLOTS - 1)))
			continue;
		slots[hole] = slots[at];
		hole = at;
	}
	slots[hole] = 0;
}

/* False: it was no sample. */
static bool remove_sampled(const void *address)
{
	uint8_t *count = &filter[hash_address(address) >> (64 - FILTER_BITS)];
	take_lock();
	uint32_t at = find_sampled_slot((uintptr_t)address);
	bool is_there = slots[at];
	if (is_there) {
		empty_slot(at);
		nr_addresses--;
		*count -= *count < 255;
	}
	leave_lock();
	return is_there;
}

/* ---- C++'s operators ---- */

/* Where they are the allocator's own and not made of its malloc(), they are counted as that is;
 * else they are passed on. */
enum operator{
	OPERATOR_NEW,
	OPERATOR_NEW_ARRAY,
	OPERATOR_NEW_NOTHROW,
	OPERATOR_NEW_ARRAY_NOTHROW,
	OPERATOR_DELETE,
	OPERATOR_DELETE_ARRAY,
	OPERATOR_DELETE_SIZED,
	OPERATOR_DELETE_ARRAY_SIZED,
	OPERATORS,
};

static const char *const operator_names[OPERATORS] = {
	[OPERATOR_NEW] = "_Znwm",
	[OPERATOR_NEW_ARRAY] = "_Znam",
	[OPERATOR_NEW_NOTHROW] = "_ZnwmRKSt9nothrow_t",
	[OPERATOR_NEW_ARRAY_NOTHROW] = "_ZnamRKSt9nothrow_t",
	[OPERATOR_DELETE] = "_ZdlPv",
	[OPERATOR_DELETE_ARRAY] = "_ZdaPv",
	[OPERATOR_DELETE_SIZED] = "_ZdlPvm",
	[OPERATOR_DELETE_ARRAY_SIZED] = "_ZdaPvm",
};

static void *operators[OPERATORS]; /* NULL: it was not there at the beginning */
static bool has_operators;

/* ---- beginning ---- */

static uint64_t read_mean_distance(const char *text)
{
	uint64_t number = 0;
	for (; text && *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	return number;
}

static void *look_up(const char *name, void *otherwise)
{
	void *found = dlsym ? dlsym(RTLD_NEXT, name) : NULL;
	return found ? found : otherwise;
}

/* As dladdr() has it: struct Dl_info. */
struct place {
	const char *path;
	void *base;
	const char *name;
	void *address;
};

static bool are_of_one_file(const void *a, const void *b)
{
	struct place of_a, of_b;
	return a && b && dladdr && dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.base == of_b.base;
}

static void look_up_all(void)
{
	void *allocate = look_up("malloc", (void *)__libc_malloc);
	real.calloc = look_up("calloc", (void *)__libc_calloc);
	real.realloc = look_up("realloc", (void *)__libc_realloc);
	real.aligned_alloc = look_up("aligned_alloc", NULL);
	real.memalign = look_up("memalign", (void *)__libc_memalign);
	real.posix_memalign = look_up("posix_memalign", NULL);
	real.free = look_up("free", (void *)__libc_free);
	real.key_create = look_up("pthread_key_create", NULL);
	real.set_specific = look_up("pthread_setspecific", NULL);
	real.register_at_fork = look_up("__register_atfork", NULL);
	real.at_fork = look_up("pthread_atfork", NULL);
	has_operators = are_of_one_file(allocate, look_up("_Znwm", NULL));
	for (int i = 0; i < OPERATORS; i++)
		operators[i] = look_up(operator_names[i], NULL);
	mean_distance = (int64_t)read_mean_distance(getenv ? getenv("EBPROF_HEAP_DISTANCE") : NULL);
	if (mean_distance <= 0)
		mean_distance = INT64_MAX >> 16;
	has_thread_key = real.key_create && real.set_specific &&
			 !real.key_create(&thread_key, end_heap_thread);
	if (real.register_at_fork)
		real.register_at_fork(take_lock, leave_lock, begin_child, NULL);
	else if (real.at_fork)
		real.at_fork(take_lock, leave_lock, begin_child);
	__atomic_store_n(&real.malloc, (void *(*)(size_t))allocate, __ATOMIC_RELEASE);
}

static void link_thread(struct heap_thread *thread)
{
	take_lock();
	thread->next = threads;
	thread->before = &threads;
	if (threads)
		threads->before = &thread->next;
	threads = thread;
	leave_lock();
}

/* False: the thread allocates without being counted, as it ends, or while it begins. */
static NOINLINE bool begin_heap_thread(void)
{
	struct heap_thread *thread = &self;
	if (thread->is_over || thread->is_looking_up)
		return false;
	thread->is_looking_up = true;
	if (!__atomic_load_n(&real.malloc, __ATOMIC_ACQUIRE))
		look_up_all();
	thread->random = seed();
	draw_distance(thread);
	if (has_thread_key && !real.set_specific(thread_key, thread))
		link_thread(thread);
	thread->is_looking_up = false;
	thread->is_ready = true;
	return true;
}

__attribute__((constructor)) static void begin_program(void)
{
	if (!self.is_ready)
		begin_heap_thread();
}

/* ---- allocating ---- */

EXPORT void *malloc(size_t bytes);
EXPORT void *calloc(size_t count, size_t bytes);
EXPORT void *realloc(void *old, size_t bytes);
EXPORT void *memalign(size_t alignment, size_t bytes);
EXPORT void *aligned_alloc(size_t alignment, size_t bytes);
EXPORT void *valloc(size_t bytes);
EXPORT void *pvalloc(size_t bytes);
EXPORT int posix_memalign(void **ret, size_t alignment, size_t bytes);
EXPORT void free(void *address);
HIDDEN void *chosen_malloc(size_t bytes);
HIDDEN void *chosen_calloc(size_t count, size_t bytes);
HIDDEN void *chosen_realloc(void *old, size_t bytes);
HIDDEN void *chosen_aligned(size_t alignment, size_t bytes);
HIDDEN int chosen_posix_memalign(void **ret, size_t alignment, size_t bytes);

static bool passes(struct heap_thread *thread, size_t bytes)
{
	if (UNLIKELY(bytes >= (uint64_t)thread->left))
		return false;
	thread->left -= (int64_t)bytes;
	thread->passed++;
	return true;
}

/* The probe was passed, and this is what the function returned. */
static void end_chosen(void *address)
{
	struct heap_thread *thread = &self;
	const void *given = address;
	if (address && !add_sampled(address))
		given = (const void *)1;
	ebprof_heap_given(given);
	tell_passed(thread);
	draw_distance(thread);
}

static void forget_sample(void *address)
{
	if (address && may_be_sample(address) && remove_sampled(address))
		ebprof_heap_gone(address);
}

HIDDEN __attribute__((used)) void *chosen_malloc(size_t bytes)
{
	void *address = real.malloc(bytes);
	end_chosen(address);
	return address;
}

HIDDEN __attribute__((used)) void *chosen_calloc(size_t count, size_t bytes)
{
	void *address = real.calloc(count, bytes);
	end_chosen(address);
	return address;
}

HIDDEN __attribute__((used)) void *chosen_realloc(void *old, size_t bytes)
{
	forget_sample(old);
	void *address = real.realloc(old, bytes);
	end_chosen(address);
	return address;
}

HIDDEN __attribute__((used)) void *chosen_aligned(size_t alignment, size_t bytes)
{
	void *address = real.memalign(alignment, bytes);
	end_chosen(address);
	return address;
}

HIDDEN __attribute__((used)) int chosen_posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	int result = real.posix_memalign(ret, alignment, bytes);
	end_chosen(result ? NULL : *ret);
	return result;
}

static NOINLINE void *first_malloc(size_t bytes)
{
	if (begin_heap_thread())
		return malloc(bytes);
	return real.malloc ? real.malloc(bytes) : allocate_early(bytes);
}

EXPORT void *malloc(size_t bytes)
{
	struct heap_thread *thread = &self;
	if (LIKELY(passes(thread, bytes)))
		return real.malloc(bytes);
	return thread->is_ready ? ebprof_heap_malloc(bytes) : first_malloc(bytes);
}

static NOINLINE void *first_calloc(size_t count, size_t bytes)
{
	if (begin_heap_thread())
		return calloc(count, bytes);
	size_t all;
	if (real.malloc || __builtin_mul_overflow(count, bytes, &all))
		return real.malloc ? real.calloc(count, bytes) : NULL;
	return allocate_early(all);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	struct heap_thread *thread = &self;
	size_t all;
	if (UNLIKELY(__builtin_mul_overflow(count, bytes, &all)))
		all = 0; /* it fails */
	if (LIKELY(passes(thread, all)))
		return real.calloc(count, bytes);
	return thread->is_ready ? ebprof_heap_calloc(count, bytes) : first_calloc(count, bytes);
}

/* The address was given early, or the thread is not ready. */
static NOINLINE void *odd_realloc(void *old, size_t bytes)
{
	if (!self.is_ready && begin_heap_thread())
		return realloc(old, bytes);
	if (real.malloc && !is_early(old))
		return real.realloc(old, bytes);
	char *copy = malloc(bytes);
	size_t known = old ? *(const size_t *)((const char *)old - 16) : 0;
	for (size_t i = 0; copy && i < known && i < bytes; i++)
		copy[i] = ((const char *)old)[i];
	return copy;
}

EXPORT void *realloc(void *old, size_t bytes)
{
	struct heap_thread *thread = &self;
	if (UNLIKELY(!thread->is_ready || is_early(old)))
		return odd_realloc(old, bytes);
	if (UNLIKELY(!passes(thread, bytes)))
		return ebprof_heap_realloc(old, bytes);
	forget_sample(old);
	return real.realloc(old, bytes);
}

static void *allocate_aligned(size_t alignment, size_t bytes)
{
	struct heap_thread *thread = &self;
	if (LIKELY(passes(thread, bytes)))
		return real.memalign(alignment, bytes);
	if (!thread->is_ready && !begin_heap_thread())
		return real.memalign ? real.memalign(alignment, bytes) : NULL;
	if (passes(thread, bytes))
		return real.memalign(alignment, bytes);
	return ebprof_heap_aligned(alignment, bytes);
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
	return allocate_aligned(alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	return allocate_aligned(alignment, bytes);
}

static size_t bytes_of_page(void)
{
	return getpagesize ? (size_t)getpagesize() : 4096;
}

EXPORT void *valloc(size_t bytes)
{
	return allocate_aligned(bytes_of_page(), bytes);
}

/* Of whole pages, and one at least. */
EXPORT void *pvalloc(size_t bytes)
{
	size_t page = bytes_of_page(), pages = bytes / page + (bytes % page != 0 || !bytes);
	if (__builtin_mul_overflow(pages, page, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return allocate_aligned(page, bytes);
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	struct heap_thread *thread = &self;
	if (UNLIKELY(!thread->is_ready && !begin_heap_thread()))
		return real.posix_memalign ? real.posix_memalign(ret, alignment, bytes) : ENOMEM;
	if (LIKELY(passes(thread, bytes)))
		return real.posix_memalign(ret, alignment, bytes);
	return ebprof_heap_posix_memalign(ret, alignment, bytes);
}

static NOINLINE void odd_free(void *address)
{
	if (is_early(address))
		return;
	if (!real.free && !self.is_ready)
		begin_heap_thread();
	forget_sample(address);
	if (real.free)
		real.free(address);
}

EXPORT void free(void *address)
{
	if (UNLIKELY(may_be_sample(address) || is_early(address) || !real.free)) {
		odd_free(address);
		return;
	}
	real.free(address);
}

/* ---- C++ ---- */

/*
 * A program in C may load a library in C++ with RTLD_LOCAL: then libstdc++ is in that library's
 * scope alone, where look_up() does not find it, and these operators stand before it all the same.
 * So they do what C++'s own do, but that nothing is thrown where there is no memory.
 */
static void *new_by_malloc(size_t bytes)
{
	return malloc(bytes ? bytes : 1);
}

/* Looked for once more, as it may have been loaded since. */
static NOINLINE void *find_operator(int number)
{
	void *instead = number < OPERATOR_DELETE ? (void *)new_by_malloc : (void *)free;
	if (!self.is_ready)
		begin_heap_thread();
	if (!operators[number])
		operators[number] = look_up(operator_names[number], instead);
	return operators[number];
}

static inline void *operator_of(int number)
{
	void *known = operators[number];
	return LIKELY(known) ? known : find_operator(number);
}

/* The second argument, of those that have one, is passed on in its register. */
#define NEW(name, number) \
	HIDDEN void *chosen_##name(size_t bytes, const void *more); \
	HIDDEN void *ebprof_heap_##name(size_t bytes, const void *more); \
	EXPORT void *name(size_t bytes, const void *more); \
	STUB(ebprof_heap_##name, JUMP "chosen_" #name); \
	HIDDEN __attribute__((used)) void *chosen_##name(size_t bytes, const void *more) \
	{ \
		void *address = \
			((void *(*)(size_t, const void *))operator_of(number))(bytes, more); \
		end_chosen(address); \
		return address; \
	} \
	EXPORT void *name(size_t bytes, const void *more) \
	{ \
		if (UNLIKELY(!self.is_ready)) \
			begin_heap_thread(); \
		if (has_operators && self.is_ready && !passes(&self, bytes)) \
			return ebprof_heap_##name(bytes, more); \
		return ((void *(*)(size_t, const void *))operator_of(number))(bytes, more); \
	}

#define DELETE(name, number) \
	EXPORT void name(void *address, size_t more); \
	EXPORT void name(void *address, size_t more) \
	{ \
		void *known = operator_of(number); \
		if (has_operators) \
			forget_sample(address); \
		((void (*)(void *, size_t))known)(address, more); \
	}

NEW(_Znwm, OPERATOR_NEW)
NEW(_Znam, OPERATOR_NEW_ARRAY)
NEW(_ZnwmRKSt9nothrow_t, OPERATOR_NEW_NOTHROW)
NEW(_ZnamRKSt9nothrow_t, OPERATOR_NEW_ARRAY_NOTHROW)
DELETE(_ZdlPv, OPERATOR_DELETE)
DELETE(_ZdaPv, OPERATOR_DELETE_ARRAY)
DELETE(_ZdlPvm, OPERATOR_DELETE_SIZED)
DELETE(_ZdaPvm, OPERATOR_DELETE_ARRAY_SIZED)
