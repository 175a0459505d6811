/*
 * Code made at run time and registered for debuggers by GDB's JIT interface, with a chain of
 * callers that is known: main, calls, small or large, spin_small or spin_large. What the image says
 * of the code's frame is all that tells it: the code leaves its frame by a way that the bytes do
 * not show, for it returns through an address that it computes. Or it is told to libgcc alone,
 * in the mode "crowd" with much other code.
 *
 * usage: registered_code
 * executable|relocatable|changing|circle|liar|unmapped|silent|frames|crowd|late|after SECONDS
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "debug_image.h"
#include "spin_functions.h"

struct jit_entry {
	struct jit_entry *next, *prev;
	const void *image;
	uint64_t size;
};

/* As GDB's manual lays it out; only debuggers look at it. */
struct {
	uint32_t version, action;
	struct jit_entry *relevant, *first;
} __jit_debug_descriptor = {1, 0, NULL, NULL};

__attribute__((noinline)) void __jit_debug_register_code(void);
__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static uint8_t image_bytes[DEBUG_IMAGE_MAX];
static struct jit_entry entry = {.image = image_bytes};

static void tell_debuggers(uint32_t action)
{
	__jit_debug_descriptor.action = action;
	__jit_debug_descriptor.relevant = &entry;
	__jit_debug_descriptor.first = action == 1 ? &entry : NULL;
	__jit_debug_register_code();
}

#if defined(__aarch64__)

/* Stack pointers are multiples of 16. */
static uint32_t frame_bytes(uint32_t bytes)
{
	return (bytes + 15) & ~15U;
}

/*
 * stp x29, x30, [sp, #-16]!; mov x29, #0; sub sp, sp, #bytes; blr x0; mov w9, #bytes;
 * add sp, sp, x9; ldp x29, x10, [sp], #16; br x10
 */
static size_t write_code(uint8_t *code, uint32_t bytes)
{
	uint32_t frame = frame_bytes(bytes);
	const uint32_t insns[] = {0xa9bf7bfd, 0xd280001d, 0xd10003ff | frame << 10, 0xd63f0000,
		0x52800009 | frame << 5, 0x8b2963ff, 0xa8c12bfd, 0xd61f0140};
	debug_image_put(code, insns, sizeof(insns));
	__builtin___clear_cache((char *)code, (char *)code + sizeof(insns));
	return sizeof(insns);
}

/* The same in call frame information: rows at 0, 4, 12, 24, 28. */
static size_t write_rules(uint8_t *rules, uint32_t bytes)
{
	uint32_t cfa = 16 + frame_bytes(bytes);
	const uint8_t all[] = {
		0x0e, 0,                                                /* nothing is pushed */
		0x44, 0x0e, 16, 0x9d, 2, 0x9e, 1,                       /* x29 and x30 are there */
		0x48, 0x0e, (uint8_t)(cfa | 0x80), (uint8_t)(cfa >> 7), /* below the frame */
		0x4c, 0x0e, 16,                                         /* and above it again */
		0x44, 0x0e, 0, 0xdd, 0x09, 30, 10, /* the return address is in x10 */
	};
	memcpy(rules, all, sizeof(all));
	return sizeof(all);
}

#else

/*
 * push %rbp; xor %ebp,%ebp; sub $bytes,%rsp; call *%rdi; mov $bytes,%ecx; add %rcx,%rsp;
 * pop %rbp; pop %rdx; jmp *%rdx
 */
static size_t write_code(uint8_t *code, uint32_t bytes)
{
	static const uint8_t begin[] = {0x55, 0x31, 0xed, 0x48, 0x81, 0xec};
	static const uint8_t middle[] = {0xff, 0xd7, 0xb9};
	static const uint8_t end[] = {0x48, 0x01, 0xcc, 0x5d, 0x5a, 0xff, 0xe2};
	uint8_t *at = debug_image_put(code, begin, sizeof(begin));
	at = debug_image_put_number(at, bytes, 4);
	at = debug_image_put(at, middle, sizeof(middle));
	at = debug_image_put_number(at, bytes, 4);
	return (size_t)(debug_image_put(at, end, sizeof(end)) - code);
}

/* The same in call frame information: rows at 1, 10, 19, 20, 21. */
static size_t write_rules(uint8_t *rules, uint32_t bytes)
{
	uint32_t cfa = 16 + bytes;
	const uint8_t all[] = {
		0x41, 0x0e, 16, 0x86, 2,                                /* rbp at CFA - 16 */
		0x49, 0x0e, (uint8_t)(cfa | 0x80), (uint8_t)(cfa >> 7), /* below the frame */
		0x4a, 0x0e, 16,                                         /* and above it again */
		0x41, 0x0e, 8, 0xc6,                                    /* rbp is the caller's */
		0x41, 0x0e, 0, 0x09, 16, 1, /* the return address is in rdx */
	};
	memcpy(rules, all, sizeof(all));
	return sizeof(all);
}

#endif

/* Often, until the clock is read again: that takes a part of the time on a busy machine. */
__attribute__((noinline)) void calls(void (*code)(void (*)(void)), void (*spin_it)(void))
{
	for (int i = 0; i < 16; i++)
		code(spin_it);
	__asm__ volatile("");
}

static const char *mode;

static int is_mode(const char *name)
{
	return strcmp(mode, name) == 0;
}

static void write_image(uint64_t code, size_t code_bytes, const char *name, uint32_t bytes)
{
	uint8_t rules[64];
	struct debug_image image = {
		.frames = is_mode("executable") ? DEBUG_IMAGE_DEBUG_FRAME : DEBUG_IMAGE_FROM_PLACE,
		.code = code,
		.code_bytes = (uint32_t)code_bytes,
		.frames_at = code + 0x800,
		.symbols = {{name, 0, (uint32_t)code_bytes}},
		.rules = rules,
		.rules_bytes = (uint32_t)write_rules(rules, bytes),
	};
	entry.size = debug_image_build(&image, image_bytes);
	entry.next = entry.prev = is_mode("circle") ? &entry : NULL;
	if (is_mode("liar"))
		entry.size = UINT64_MAX / 2;
	if (is_mode("unmapped"))
		entry.image = (void *)(uintptr_t)0x10;
}

/* ---- libgcc ---- */

static void (*register_frame)(void *);
static void (*deregister_frame)(void *);

enum {
	FRAMES_BYTES = 128,
	CROWD = 400, /* more than a node of libgcc's tree has */
};

static _Alignas(8) uint8_t frames[CROWD][FRAMES_BYTES];

/* A common entry whose pointers are addresses, the function's, and the end. */
static void write_frames(uint8_t *to, uint64_t code, size_t code_bytes, uint32_t bytes)
{
	static const uint8_t begin[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0};
	uint8_t rules[64];
	size_t len = write_rules(rules, bytes);
	uint8_t *at = debug_image_put(to, begin, sizeof(begin));
	at = debug_image_put(at, debug_image_units, sizeof(debug_image_units));
	at = debug_image_put(at, debug_image_cfa, sizeof(debug_image_cfa));
	uint8_t *entry_at = debug_image_end_entry(to, at);
	at = debug_image_put_number(entry_at, 0, 4);
	at = debug_image_put_number(at, (uint64_t)(at - to), 4);
	at = debug_image_put_number(at, code, 8);
	at = debug_image_put_number(at, code_bytes, 8);
	at = debug_image_end_entry(entry_at, debug_image_put(at, rules, len));
	debug_image_put_number(entry_at, (uint64_t)(at - entry_at - 4), 4);
	debug_image_put_number(at, 0, 4);
}

static void tell_libgcc(uint8_t *code, size_t len, uint32_t bytes)
{
	size_t count = is_mode("crowd") ? CROWD : 1;
	for (size_t i = 0; i < count; i++) {
		write_frames(frames[i], (uintptr_t)code + 4096 * i, len, bytes);
		register_frame(frames[i]);
	}
}

static void take_from_libgcc(void)
{
	size_t count = is_mode("crowd") ? CROWD : 1;
	for (size_t i = 0; i < count; i++)
		deregister_frame(frames[i]);
}

static bool load_libgcc(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW);
	void *functions[2] = {library ? dlsym(library, "__register_frame") : NULL,
		library ? dlsym(library, "__deregister_frame") : NULL};
	memcpy(&register_frame, &functions[0], sizeof(functions[0]));
	memcpy(&deregister_frame, &functions[1], sizeof(functions[1]));
	return functions[0] && functions[1];
}

/* Of which nothing tells: in the mode "late" before libgcc is there. It calls spin_large(). */
static void run_unknown_code(uint8_t *code)
{
	void (*function)(void (*)(void));
	write_code(code, 0x38);
	memcpy(&function, &code, sizeof(function));
	for (double until = cpu_seconds() + 0.3; cpu_seconds() < until;)
		calls(function, spin_large);
}

static int registers_for_libgcc(void)
{
	return is_mode("frames") || is_mode("crowd") || is_mode("late") || is_mode("after");
}

static void run_code(uint8_t *code, const char *name, uint32_t bytes, void (*spin_it)(void))
{
	void (*function)(void (*)(void));
	size_t len = write_code(code, bytes);
	memcpy(&function, &code, sizeof(function));
	bool is_for_libgcc = registers_for_libgcc();
	write_image((uintptr_t)code, len, name, bytes);
	if (is_for_libgcc)
		tell_libgcc(code, len, bytes);
	else if (!is_mode("silent"))
		tell_debuggers(1);
	for (double until = cpu_seconds() + 0.5; cpu_seconds() < until;)
		calls(function, spin_it);
	if (is_for_libgcc)
		take_from_libgcc();
	else if (!is_mode("silent"))
		tell_debuggers(2);
}

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : "";
	double until = cpu_seconds() + (argc > 2 ? atof(argv[2]) : 1);
	uint8_t *code = mmap(
		NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	if (is_mode("late"))
		run_unknown_code(code + 4096);
	if (!load_libgcc() && registers_for_libgcc())
		return 1;
	if (is_mode("after"))
		run_unknown_code(code);
	while (cpu_seconds() < until) {
		run_code(code, "small", 0x38, spin_small);
		if (is_mode("changing"))
			run_code(code, "large", 0x138, spin_large);
	}
	return 0;
}
