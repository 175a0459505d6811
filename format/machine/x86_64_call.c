/*
 * Whether a call can have led to where a thread is now.
 *
 * That a call stands ahead of a return address says little: the stack is full of old ones. But most
 * calls say where they go, and from there code is followed as it runs: along jumps, into functions
 * that others jump to at their end, over calls. If the thread's own place does not lie on any of
 * these ways, some other call has led there. A jump to what a register or memory says may go
 * anywhere, so nothing is said where one is met, nor where the code is long or cannot be read.
 *
 * Source: Intel SDM, volume 2, "CALL".
 */
#include "format/machine/x86_64_call.h"

#include <endian.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/machine/x86_64_insn.h"

enum {
	CALL_BY_HAND_BYTES = 11,
	MAX_FOLLOWED = 2000, /* instructions, */
	MOST_FOLLOWED = 100, /* ... that most ways have */
	CODE_BYTES = 256,
	CALL_REL32_BYTES = 5,
	CALL_REL32 = 0xe8,
};

/* Where code is followed from. */
struct place {
	uint64_t address;
	int64_t sp; /* the stack pointer, less what it was at the call's target */
};

struct way {
	const struct machine_code *code;
	uint64_t wanted;
	VEC(struct place) places; /* that are still to be followed */
	struct map seen;          /* addresses */
	struct map called;        /* ... of functions that were called on the way */
	bool has_own_return;      /* it puts a return address where its caller's was */
	size_t followed;
	uint64_t bytes_address;
	size_t nr_bytes;
	uint8_t bytes[CODE_BYTES];
};

static bool decode_on_way(struct way *way, uint64_t address, struct x86_64_insn *insn)
{
	uint64_t at = address - way->bytes_address;
	size_t left = at < way->nr_bytes ? way->nr_bytes - at : 0;
	if (left < X86_64_INSN_MAX) {
		way->bytes_address = address;
		way->nr_bytes =
			way->code->read(way->code->context, address, way->bytes, CODE_BYTES);
		at = 0;
		left = way->nr_bytes;
	}
	return left && x86_64_insn_decode(way->bytes + at, left, insn);
}

enum lead {
	LEADS_ON,
	LEADS_NOWHERE, /* it ends, or was here before */
	LEADS_ANYWHERE,
	LEADS_THERE,
};

/* What an instruction does to the stack, as far as it matters where a return leads. */
static void follow_stack(struct way *way, struct place *place, const struct x86_64_insn *insn)
{
	bool by_sp = insn->base == X86_64_SP;
	if (insn->kind == X86_64_PUSH)
		place->sp -= 8;
	else if (insn->kind == X86_64_POP)
		place->sp += 8;
	else if (insn->kind == X86_64_ADDRESS && insn->reg == X86_64_SP)
		place->sp = by_sp ? place->sp + insn->value : 0; /* restored, most likely */
	else if (insn->kind == X86_64_LEAVE || insn->writes >> X86_64_SP & 1)
		place->sp = 0;
	else if (insn->kind == X86_64_STORE && by_sp && place->sp + insn->value == 0)
		way->has_own_return = true;
}

/* What is called begins a function, unless it only learns where it is by that. */
static void pass_call(struct way *way, struct place *place, uint64_t target)
{
	bool is_new;
	if (target == place->address)
		place->sp -= 8;
	else
		map_put(&way->called, map_mix(target), &is_new);
}

static enum lead follow_one(struct way *way, struct place *place, bool is_jumped)
{
	struct x86_64_insn insn;
	bool is_new;
	/* What was called ahead of it never returns. */
	if (!is_jumped && map_get(&way->called, map_mix(place->address)))
		return LEADS_NOWHERE;
	map_put(&way->seen, map_mix(place->address), &is_new);
	if (!is_new)
		return LEADS_NOWHERE;
	if (place->address == way->wanted)
		return LEADS_THERE;
	if (way->followed++ == MAX_FOLLOWED || !decode_on_way(way, place->address, &insn))
		return LEADS_ANYWHERE;
	place->address += insn.len;
	uint64_t target = place->address + (uint64_t)insn.value;
	switch ((enum x86_64_kind)insn.kind) {
	case X86_64_JUMP:
		vec_push(&way->places, ((struct place){target, place->sp}));
		return LEADS_NOWHERE;
	case X86_64_BRANCH:
		vec_push(&way->places, ((struct place){target, place->sp}));
		return LEADS_ON;
	case X86_64_CALL:
		pass_call(way, place, target);
		return LEADS_ON;
	case X86_64_JUMP_INDIRECT:
		return LEADS_ANYWHERE;
	case X86_64_RETURN: /* to its caller, or to what it pushed */
		return place->sp < 0 || way->has_own_return ? LEADS_ANYWHERE : LEADS_NOWHERE;
	case X86_64_STOP:
		return LEADS_NOWHERE;
	default:
		follow_stack(way, place, &insn);
		return LEADS_ON;
	}
}

static enum lead follow_ways(struct way *way)
{
	enum lead lead = LEADS_NOWHERE;
	while (way->places.len && lead == LEADS_NOWHERE) {
		struct place place = way->places.data[--way->places.len];
		lead = follow_one(way, &place, true);
		while (lead == LEADS_ON)
			lead = follow_one(way, &place, false);
	}
	return lead;
}

bool x86_64_may_have_called(const struct machine_code *code, uint64_t ra, uint64_t address)
{
	uint8_t call[CALL_REL32_BYTES];
	uint32_t distance;
	size_t got = code->read(code->context, ra - sizeof(call), call, sizeof(call));
	if (got != sizeof(call) || call[0] != CALL_REL32)
		return true;
	memcpy(&distance, call + 1, sizeof(distance));
	struct way way = {.code = code, .wanted = address};
	uint64_t target = ra + (uint64_t)(int64_t)(int32_t)le32toh(distance);
	vec_push(&way.places, ((struct place){.address = target}));
	map_reserve(&way.seen, MOST_FOLLOWED);
	enum lead lead = follow_ways(&way);
	vec_deinit(&way.places);
	map_deinit(&way.seen);
	map_deinit(&way.called);
	return lead != LEADS_NOWHERE;
}

/* ---- calls by hand ---- */

/*
 * Whether the first of these bytes loads the address of code just ahead, which is then stored where
 * a register points that calls preserve: lea ahead(%rip), %rcx; mov %rcx, 24(%r13).
 */
static bool stores_return_address(const uint8_t *bytes)
{
	enum {
		LEA_BYTES = 7,
		MAX_AHEAD = 64, /* the jump, and what describes the frame for its collector */
		CALL_PRESERVES = 0xf028, /* rbx, rbp, r12 to r15 */
	};
	const uint8_t *store = bytes + LEA_BYTES;
	uint32_t ahead;
	memcpy(&ahead, bytes + 3, sizeof(ahead));
	ahead = le32toh(ahead);
	unsigned reg = (bytes[2] >> 3 & 7) | (bytes[0] & 4) << 1;
	unsigned stored = (store[2] >> 3 & 7) | (store[0] & 4) << 1;
	unsigned base = (store[2] & 7) | (store[0] & 1) << 3;
	bool is_lea = (bytes[0] & 0xfb) == 0x48 && bytes[1] == 0x8d && (bytes[2] & 0xc7) == 0x05;
	bool is_store = (store[0] & 0xfa) == 0x48 && store[1] == 0x89 &&
			(store[2] & 0xc0) == 0x40 && (store[2] & 7) != 4;
	return is_lea && is_store && reg == stored && CALL_PRESERVES >> base & 1 &&
	       ahead >= CALL_BY_HAND_BYTES - LEA_BYTES && ahead <= MAX_AHEAD;
}

bool x86_64_keeps_own_stack(const struct machine_code *code, uint64_t address)
{
	enum {
		BLOCK_BYTES = 512, /* none lies in two pages, of which one may not be there */
		BLOCKS = 3,
	};
	uint8_t bytes[BLOCK_BYTES];
	uint64_t block = address - address % BLOCK_BYTES - BLOCK_BYTES;
	for (int i = 0; i < BLOCKS; i++, block += BLOCK_BYTES) {
		size_t got = code->read(code->context, block, bytes, sizeof(bytes));
		for (size_t at = 0; at + CALL_BY_HAND_BYTES <= got; at++)
			if (stores_return_address(bytes + at))
				return true;
	}
	return false;
}

/*
 * The first thing there is to take the stack pointer from rbx, where makecontext() has put what is
 * to come next: mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi; je. Behind endbr64 in some
 * builds. Source: glibc 2.36, sysdeps/unix/sysv/linux/x86_64/__start_context.S.
 */
bool x86_64_begins_context(const struct machine_code *code, uint64_t address)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t begin[] = {
		0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74};
	uint8_t bytes[sizeof(endbr64) + sizeof(begin)];
	size_t got = code->read(code->context, address, bytes, sizeof(bytes));
	size_t at = got == sizeof(bytes) && memcmp(bytes, endbr64, sizeof(endbr64)) == 0
			    ? sizeof(endbr64)
			    : 0;
	return got >= at + sizeof(begin) && memcmp(bytes + at, begin, sizeof(begin)) == 0;
}
