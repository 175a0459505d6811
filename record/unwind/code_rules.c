#include "record/unwind/code_rules.h"

#include <bpf/bpf.h>
#include <string.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/machine/machine.h"
#include "format/unwind/unwind_step.h"

enum {
	MAX_KNOWN = 64 << 10, /* places, and as many older ones */
	MAX_REGIONS = 1024,
	MAX_TOLD = 256,            /* instructions of one way, those next to the frame */
	FRAME_MAX_BYTES = 1 << 20, /* from the stack pointer to the frame pointer, if it is one */
	MAX_CALLS_FOLLOWED = 32,   /* of one frame: code may be made to have many */
	STACK_MAX_BYTES = 64 << 20,
	RED_ZONE_BYTES = 128,   /* below the stack pointer */
	SCAN_MAX_WORDS = 4096,  /* of stack */
	CALLER_MAX_WORDS = 128, /* ... of a frame whose caller's call is looked for */
	SCAN_MAX_DEPTH = 256,
	SCAN_MAX_STEPS = 8192, /* of all that one scan tries: a millisecond or two */
	TIME_DIVISOR = 10,     /* of each second a tenth may be spent, ... */
	FAILURES_MAX = 3,      /* then the BPF side learns that there is no rule */
};

/* What failed, or was guessed, is tried again after a pause; each is twice as long. What is learned
 * of a process's code shortens it. */
static const uint64_t retry_first_ns = 100ULL * NS_PER_MS;
static const uint64_t retry_most_ns = 60ULL * NS_PER_S;

/* ... and what was not is kept, for programs that begin: fifty processes of Chromium's want 0.6 to
 * 0.9 s of their first three seconds. Of the latter half each process has its share only, to which
 * nothing counts that was spent of the first. */
static const uint64_t max_left_ns = 2 * NS_PER_S;

void code_rules_init(struct code_rules *code, struct process_table *processes)
{
	*code = (struct code_rules){
		.processes = processes, .map_fd = -1, .seed = map_random_seed()};
	code_pages_init(&code->pages);
	target_reader_start(&code->pages.reader);
}

void code_rules_begin(struct code_rules *code, struct rule_source *rules, int map_fd)
{
	code->rules = rules;
	code->map_fd = map_fd;
}

static void code_places_deinit(struct code_places *places)
{
	map_deinit(&places->numbers);
	vec_deinit(&places->list);
}

static void forget_regions(struct code_rules *code)
{
	vec_each(&code->region_list, region)
		vec_deinit(&region->failed);
	vec_deinit(&code->region_list);
	map_deinit(&code->regions);
}

void code_rules_deinit(struct code_rules *code)
{
	code_pages_deinit(&code->pages);
	code_places_deinit(&code->known);
	code_places_deinit(&code->older);
	forget_regions(code);
	vec_deinit(&code->told_keys);
	vec_deinit(&code->told_rules);
}

/* ---- what is being looked at ---- */

struct reading {
	struct code_rules *code;
	const struct code_frame *frame;
	bool is_pending;         /* some of the code is being read */
	bool is_given_up;        /* ... was not read: what is not found, or guessed, is not kept */
	size_t rejected;         /* ways out that lead to no caller, ... */
	size_t rejected_returns; /* ... of them by a return */
	int calls_followed;      /* to tell whether they led here */
	int scan_steps;          /* from return addresses found on the stack, so far */
	VEC(struct found {
		uint64_t address;
		struct unwind_rule rule;
	}) found; /* on the way to the return; the frame's own is the last */
};

static void note_read(struct reading *reading, enum code_read read)
{
	reading->is_pending |= read == CODE_READ_LATER;
	reading->is_given_up |= read == CODE_READ_GIVEN_UP;
}

static uint64_t frame_time(const struct code_frame *frame)
{
	return frame->snapshot->head.time_ns;
}

/* As the BPF side has it, but for a file that it did not meet yet, which has no number. */
static bool is_memory(const struct code_frame *frame)
{
	const struct layout_object *info = &frame->mapping->object->info;
	return !frame->nr_files && !info->nr_segments && !info->build_id_len;
}

/* Of a file the offset, of memory the address. */
static uint64_t code_rules_place_of(const struct code_frame *frame, uint64_t address)
{
	const struct mapping *mapping = frame->mapping;
	return is_memory(frame) ? address : address - mapping->start + mapping->offset;
}

static uint64_t code_rules_space_of(const struct code_frame *frame)
{
	return is_memory(frame) ? frame->snapshot->code_space : frame->mapping->object->serial;
}

/* Its file may be wanted for the first time: it is opened by this mapping then. */
static const struct mapping *code_rules_mapping_at(const struct reading *reading, uint64_t address)
{
	const struct code_frame *frame = reading->frame;
	const struct mapping *mapping = frame->mapping;
	if (address < mapping->start || address >= mapping->end)
		mapping = process_find_mapping(reading->code->processes, frame->process, address,
			frame->snapshot->head.time_ns, false);
	if (mapping)
		mapping->object->where =
			(struct object_location){frame->process->pid, mapping->start, mapping->end};
	return mapping;
}

static size_t code_rules_read_code(void *context, uint64_t address, uint8_t *bytes, size_t len)
{
	struct reading *reading = context;
	const struct mapping *mapping = code_rules_mapping_at(reading, address);
	size_t got = 0;
	if (!mapping)
		return 0;
	enum code_read read = code_pages_get(&reading->code->pages, reading->frame->process->pid,
		mapping, address, frame_time(reading->frame), bytes, len, &got);
	note_read(reading, read);
	return got;
}

/* ---- stacks ---- */

/* Of what was copied: what lies there is read from the process. */
static bool is_behind_snapshot(const struct snapshot *snapshot, uint64_t address)
{
	uint64_t at = address - snapshot->stack_address;
	if (snapshot->is_uncopied) {
		uint64_t lowest = snapshot->registers.reg[UNWIND_SP] - RED_ZONE_BYTES;
		return address - lowest < STACK_MAX_BYTES;
	}
	return snapshot->stack.len && at >= snapshot->stack.len && at < STACK_MAX_BYTES;
}

long code_rules_read_stack(void *context, unsigned long long address, unsigned long long *value)
{
	struct code_stack *stack = context;
	const struct event_stack *head = &stack->snapshot->head;
	size_t got;
	if (!snapshot_read((void *)stack->snapshot, address, value))
		return 0;
	bool is_behind = is_behind_snapshot(stack->snapshot, address);
	if (!stack->is_another && !is_behind)
		return -1;
	stack->is_behind |= is_behind;
	enum code_read read = code_pages_get_memory(&stack->code->pages, head->pid, address,
		head->time_ns, (uint8_t *)value, sizeof(*value), &got);
	stack->is_pending |= read == CODE_READ_LATER;
	stack->is_given_up |= read == CODE_READ_GIVEN_UP;
	return got == sizeof(*value) ? 0 : -1;
}

/* ---- callers ---- */

/* Whether a call ends ahead of an address. */
static bool code_rules_is_behind_call(
	struct reading *reading, const struct mapping *mapping, uint64_t address)
{
	uint8_t bytes[UNWIND_CALL_BYTES];
	size_t got = 0;
	if (address - mapping->start < sizeof(bytes))
		return false;
	enum code_read read = code_pages_get(&reading->code->pages, reading->frame->process->pid,
		mapping, address - sizeof(bytes), frame_time(reading->frame), bytes, sizeof(bytes),
		&got);
	note_read(reading, read);
	return got == sizeof(bytes) && unwind_is_call(bytes);
}

/* Where there is no call: a signal's handler returns there, or a thread began there. */
static bool is_without_call(
	struct reading *reading, const struct mapping *mapping, uint64_t address)
{
	const struct unwind_rule *rule;
	enum event_stack_end end = rule_source_find(reading->code->rules, mapping->object,
		address - mapping->start + mapping->offset, &rule);
	reading->is_pending |= end == EVENT_END_TABLE_PENDING;
	return !end && (rule->flags & UNWIND_SIGNAL_FRAME || rule->ra == UNWIND_UNDEFINED);
}

/* That the call ahead of a return address has led to the frame at hand, as far as is known. */
static bool may_have_called(struct reading *reading, uint64_t ra)
{
	const struct machine_code code = {.read = code_rules_read_code, .context = reading};
	if (reading->calls_followed++ >= MAX_CALLS_FOLLOWED)
		return false;
	return machine_native()->may_have_called(&code, ra, reading->frame->regs->ip);
}

/*
 * Compilers at run time may push a return address by hand, as the interpreter of HotSpot does to
 * have a call return into its middle: of what is no jump it does that code may be there.
 */
static bool may_be_caller(struct reading *reading, uint64_t address, bool is_jump)
{
	const struct mapping *mapping = code_rules_mapping_at(reading, address - 1);
	bool is_in_memory = mapping && mapping->object->info.kind != LAYOUT_OBJECT_FILE;
	if (is_in_memory && !is_jump)
		return true;
	if (mapping && code_rules_is_behind_call(reading, mapping, address) &&
		may_have_called(reading, address))
		return true;
	mapping = code_rules_mapping_at(reading, address);
	return mapping && is_without_call(reading, mapping, address);
}

/* The return address by a rule; 0: there is none. */
static uint64_t return_address_by(struct reading *reading, const struct unwind_rule *rule)
{
	const struct code_frame *frame = reading->frame;
	struct unwind_registers regs = *frame->regs;
	struct code_stack stack = *frame->stack;
	bool is_outermost;
	stack.is_another |= rule->flags & UNWIND_SWITCHES_STACKS;
	enum event_stack_end end = unwind_step(machine_native_registers(), &regs, rule,
		code_rules_read_stack, &stack, &is_outermost);
	reading->is_pending |= stack.is_pending;
	reading->is_given_up |= stack.is_given_up;
	return end || is_outermost ? 0 : regs.ip;
}

static bool accept_return(void *context, const struct unwind_rule *rule, bool is_jump)
{
	struct reading *reading = context;
	uint64_t ra = return_address_by(reading, rule);
	bool is_accepted = ra && may_be_caller(reading, ra, is_jump);
	reading->rejected += !is_accepted;
	reading->rejected_returns += !is_accepted && !is_jump;
	return is_accepted;
}

/* Where the way from a function's begin says what its return address is, it may be one that was
 * put on a new stack by hand, of hand-written code that leads back to the old one. */
static bool accept_of_begin(void *context, const struct unwind_rule *rule, bool is_jump)
{
	struct reading *reading = context;
	uint64_t ra = return_address_by(reading, rule);
	const struct mapping *mapping = ra ? code_rules_mapping_at(reading, ra) : NULL;
	if (accept_return(context, rule, is_jump))
		return true;
	const struct unwind_rule *none;
	return mapping && mapping->object->info.kind == LAYOUT_OBJECT_FILE &&
	       rule_source_find(reading->code->rules, mapping->object,
		       ra - mapping->start + mapping->offset, &none) == EVENT_END_NO_RULE;
}

static void note_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct reading *reading = context;
	vec_push(&reading->found, (struct found){address, *rule});
}

/* ---- what is known ---- */

/* Where the rule of a frame is kept, or that of its code, see struct code_key. */
static uint64_t code_rules_key_of(const struct code_frame *frame)
{
	return frame->regs->ip - !frame->is_exact;
}

static uint64_t code_rules_hash_of(
	const struct code_rules *code, uint64_t space, bool is_memory, uint64_t place)
{
	uint64_t words[] = {space, is_memory, place};
	return map_hash_bytes(words, sizeof(words), code->seed);
}

static uint64_t hash_of_place(
	const struct code_rules *code, const struct code_frame *frame, uint64_t address)
{
	return code_rules_hash_of(code, code_rules_space_of(frame), is_memory(frame),
		code_rules_place_of(frame, address));
}

static struct code_rule_known *code_places_find(struct code_places *places, uint64_t hash)
{
	const uint64_t *number = map_get(&places->numbers, hash);
	return number ? &places->list.data[*number - 1] : NULL;
}

/*
 * Programs that start again and again come back to most of what they did before: were all of it
 * forgotten at once, there would be no time to read it again.
 */
static struct code_rule_known *known_at(
	struct code_rules *code, const struct code_frame *frame, uint64_t address)
{
	static const struct code_rule_known none;
	uint64_t hash = hash_of_place(code, frame, address);
	struct code_rule_known *known = code_places_find(&code->known, hash);
	if (known)
		return known;
	if (code->known.list.len >= MAX_KNOWN) {
		code_places_deinit(&code->older);
		code->older = code->known;
		code->known = (struct code_places){0};
	}
	known = code_places_find(&code->older, hash);
	vec_push(&code->known.list, known ? *known : none);
	*map_put(&code->known.numbers, hash, NULL) = code->known.list.len;
	return &code->known.list.data[code->known.list.len - 1];
}

static void put_told(
	struct code_rules *code, uint64_t space, uint64_t address, const struct code_rule *rule)
{
	vec_push(&code->told_keys, (struct code_key){space, address});
	vec_push(&code->told_rules, *rule);
}

/* What BPF is to know, by send_told(). */
static void tell_bpf(struct code_rules *code, const struct code_frame *frame, uint64_t address,
	const struct code_rule *rule)
{
	if (code->map_fd < 0)
		return;
	if (is_memory(frame))
		put_told(code, frame->snapshot->code_space, address, rule);
	for (size_t i = 0; i < frame->nr_files; i++)
		put_told(code, frame->files[i], code_rules_place_of(frame, address), rule);
}

/* All at once: with a system call for each place that took a quarter as long as to read code. */
static void send_told(struct code_rules *code)
{
	uint32_t count = (uint32_t)code->told_keys.len;
	if (count)
		bpf_map_update_batch(
			code->map_fd, code->told_keys.data, code->told_rules.data, &count, NULL);
	code->told_keys.len = code->told_rules.len = 0;
}

/* Of a frame at `ip`, which is kept at `key`. False: the code there cannot be read, so that it
 * could not be distinguished from other code. */
static bool code_rules_put_known(struct reading *reading, uint64_t ip, uint64_t key,
	enum code_rule_kind kind, const struct unwind_rule *rule)
{
	struct code_rules *code = reading->code;
	struct code_rule sent = {.kind = kind};
	if (code_rules_read_code(reading, ip, (uint8_t *)sent.code, sizeof(sent.code)) !=
		sizeof(sent.code))
		return false;
	if (rule)
		sent.rule = table_store_intern_rule(code->rules->store, rule);
	if (rule && !sent.rule)
		return false;
	struct code_rule_known *known = known_at(code, reading->frame, key);
	known->rule = sent;
	known->read_ns = frame_time(reading->frame);
	known->failures = 0;
	tell_bpf(code, reading->frame, key, &sent);
	return true;
}

static bool code_rules_put_frame(
	struct reading *reading, enum code_rule_kind kind, const struct unwind_rule *rule)
{
	const struct code_frame *frame = reading->frame;
	return (kind == CODE_RULE_READ || !reading->is_given_up) &&
	       code_rules_put_known(reading, frame->regs->ip, code_rules_key_of(frame), kind, rule);
}

/* ---- regions ---- */

static struct code_region *region_of(struct code_rules *code, const struct code_frame *frame)
{
	static const struct code_region none;
	bool is_new;
	if (code->region_list.len >= MAX_REGIONS)
		forget_regions(code);
	uint64_t *number = map_put(&code->regions,
		code_rules_hash_of(code, code_rules_space_of(frame), is_memory(frame), 0), &is_new);
	if (is_new) {
		vec_push(&code->region_list, none);
		*number = code->region_list.len;
	}
	return &code->region_list.data[*number - 1];
}

/*
 * What is read is proven, but of memory whose code has a stack of its own, as Chez Scheme's: then
 * it leads to the caller of all that is there.
 */
static enum code_rule_kind kind_of_read(struct reading *reading)
{
	const struct machine_code code = {.read = code_rules_read_code, .context = reading};
	struct code_region *region = region_of(reading->code, reading->frame);
	if (is_memory(reading->frame) && !region->has_own_stack &&
		machine_native()->keeps_own_stack)
		region->has_own_stack =
			machine_native()->keeps_own_stack(&code, reading->frame->regs->ip);
	return region->has_own_stack ? CODE_RULE_GUESSED : CODE_RULE_READ;
}

/* Where nothing better than a guess was found: see retry_failed(). */
static void note_for_retry(struct reading *reading)
{
	struct code_rules *code = reading->code;
	const struct code_frame *frame = reading->frame;
	struct code_region *region = region_of(code, frame);
	uint64_t address = code_rules_key_of(frame);
	uint64_t hash = hash_of_place(code, frame, address);
	size_t count = is_memory(frame) ? 1 : frame->nr_files;
	for (size_t i = 0; i < count && region->failed.len < CODE_RULES_MAX_FAILED; i++) {
		struct code_key key = {
			is_memory(frame) ? frame->snapshot->code_space : frame->files[i],
			code_rules_place_of(frame, address)};
		vec_push(&region->failed, (struct code_failed){hash, key});
	}
	region->pid = frame->process->pid;
	if (!region->pause_ns)
		region->pause_ns = retry_first_ns;
	if (!region->retry_ns)
		region->retry_ns = clock_now_ns() + region->pause_ns;
	if (!code->retry_ns || region->retry_ns < code->retry_ns)
		code->retry_ns = region->retry_ns;
}

/* What failed, or was guessed, is tried once more: what was learned since may tell. */
static void retry_failed(struct code_rules *code, struct code_region *region)
{
	static const struct code_rule unknown = {.kind = CODE_RULE_UNKNOWN};
	vec_each(&region->failed, failed) {
		struct code_rule_known *known = code_places_find(&code->known, failed->hash);
		if (!known)
			known = code_places_find(&code->older, failed->hash);
		if (known)
			*known = (struct code_rule_known){.rule = unknown};
		if (code->map_fd >= 0)
			put_told(code, failed->key.space, failed->key.address, &unknown);
	}
	region->failed.len = 0;
}

void code_rules_retry_soon(struct code_rules *code, uint32_t pid, uint64_t now_ns)
{
	vec_each(&code->region_list, region) {
		uint64_t soon_ns = region->retried_ns + retry_first_ns;
		if (soon_ns < now_ns)
			soon_ns = now_ns;
		if (region->pid != pid || region->retry_ns <= soon_ns)
			continue;
		region->pause_ns = retry_first_ns;
		region->retry_ns = soon_ns;
		if (soon_ns < code->retry_ns)
			code->retry_ns = soon_ns;
	}
}

void code_rules_retry(struct code_rules *code, uint64_t now_ns)
{
	if (!code->retry_ns || now_ns < code->retry_ns)
		return;
	code->retry_ns = 0;
	vec_each(&code->region_list, region) {
		if (region->retry_ns && region->retry_ns <= now_ns) {
			retry_failed(code, region);
			region->retry_ns = 0;
			region->retried_ns = now_ns;
			region->pause_ns = 2 * region->pause_ns < retry_most_ns
						   ? 2 * region->pause_ns
						   : retry_most_ns;
		}
		if (region->retry_ns && (!code->retry_ns || region->retry_ns < code->retry_ns))
			code->retry_ns = region->retry_ns;
	}
	send_told(code);
}

static void note_in_region(struct reading *reading, const struct unwind_rule *rule)
{
	struct code_region *region = region_of(reading->code, reading->frame);
	if (rule->cfa != UNWIND_CFA_REGISTER || rule->cfa_register != UNWIND_SP)
		return;
	for (uint32_t i = 0; i < region->count; i++)
		if (memcmp(&region->rules[i], rule, sizeof(*rule)) == 0)
			return;
	region->rules[region->next] = *rule;
	region->next = (region->next + 1) % CODE_RULES_INHERITED;
	if (region->count < CODE_RULES_INHERITED)
		region->count++;
	retry_failed(reading->code, region);
}

static const struct unwind_rule *inherit(struct reading *reading)
{
	const struct code_region *region = region_of(reading->code, reading->frame);
	for (uint32_t i = 0; i < region->count; i++)
		if (accept_return(reading, &region->rules[i], true))
			return &region->rules[i];
	return NULL;
}

/* ---- scanning ---- */

/* Whether a caller, found on the stack, is walked to the root by rules alone. */
static bool reaches_root(struct reading *reading, struct unwind_registers regs)
{
	const struct code_frame *frame = reading->frame;
	bool is_exact = false, is_outermost = false;
	for (int depth = 0; depth < SCAN_MAX_DEPTH && !is_outermost; depth++) {
		if (reading->scan_steps++ >= SCAN_MAX_STEPS)
			return false;
		uint64_t place = regs.ip - !is_exact;
		const struct mapping *mapping = code_rules_mapping_at(reading, place);
		const struct unwind_rule *rule = NULL;
		if (!mapping)
			return false;
		enum event_stack_end end = rule_source_find(reading->code->rules, mapping->object,
			place - mapping->start + mapping->offset, &rule);
		reading->is_pending |= end == EVENT_END_TABLE_PENDING;
		if (end || unwind_step(machine_native_registers(), &regs, rule, snapshot_read,
				   (void *)frame->snapshot, &is_outermost))
			return false;
		is_outermost &= rule->ra == UNWIND_UNDEFINED;
		is_exact = rule->flags & UNWIND_SIGNAL_FRAME;
	}
	return is_outermost;
}

static bool accept_scanned(struct reading *reading, const struct unwind_rule *rule)
{
	const struct code_frame *frame = reading->frame;
	struct unwind_registers regs = *frame->regs;
	bool is_outermost;
	if (unwind_step(machine_native_registers(), &regs, rule, snapshot_read,
		    (void *)frame->snapshot, &is_outermost) ||
		is_outermost)
		return false;
	const struct mapping *mapping = code_rules_mapping_at(reading, regs.ip - 1);
	return mapping && mapping->object->info.kind == LAYOUT_OBJECT_FILE &&
	       code_rules_is_behind_call(reading, mapping, regs.ip) && reaches_root(reading, regs);
}

/* Quick: whether a word of the stack, counted from its top, is an address of code of a file. */
static bool may_be_return(const struct reading *reading, int word)
{
	const struct code_frame *frame = reading->frame;
	uint64_t address = frame->regs->reg[UNWIND_SP] + 8 * (uint64_t)word;
	unsigned long long value;
	if (snapshot_read((void *)frame->snapshot, address, &value))
		return false;
	value &= machine_native_registers()->pc_mask;
	const struct mapping *mapping = code_rules_mapping_at(reading, value - 1);
	return mapping && mapping->object->info.kind == LAYOUT_OBJECT_FILE;
}

/* The frame pointer may still be the caller's, or not; rules that need it tell. */
static bool code_rules_scan(struct reading *reading, struct unwind_rule *rule)
{
	static const unsigned char kinds[] = {UNWIND_SAME, UNWIND_UNDEFINED};
	struct code_region *region = region_of(reading->code, reading->frame);
	*rule = region->scanned;
	if (rule->cfa && accept_scanned(reading, rule))
		return true;
	for (int word = 0; word < SCAN_MAX_WORDS; word++)
		for (size_t i = 0; i < sizeof(kinds) && may_be_return(reading, word); i++) {
			*rule = (struct unwind_rule){.cfa = UNWIND_CFA_REGISTER,
				.cfa_register = UNWIND_SP,
				.cfa_offset = 8 * word + 8,
				.ra = UNWIND_AT_CFA,
				.ra_offset = -8,
				.fp = kinds[i] & 15,
				.extra = kinds[i]};
			if (!accept_scanned(reading, rule))
				continue;
			region->scanned = *rule;
			return true;
		}
	return false;
}

/* ---- code that never returns ---- */

/* Whether the call ahead of an address led to where the frame is, on a way by which that is the
 * return address now. *ret: the registers of its caller. */
static bool is_called_from(struct reading *reading, uint64_t ra, struct unwind_rule *rule,
	struct unwind_registers *ret)
{
	const struct code_frame *frame = reading->frame;
	const struct machine_code code = {.read = code_rules_read_code, .context = reading};
	bool is_outermost;
	*ret = *frame->regs;
	const struct mapping *mapping = code_rules_mapping_at(reading, ra - 1);
	return mapping && mapping->object->info.kind != LAYOUT_OBJECT_UNKNOWN &&
	       code_rules_is_behind_call(reading, mapping, ra) &&
	       reading->calls_followed++ < MAX_CALLS_FOLLOWED &&
	       machine_native()->find_from_call(&code, ra, ret->ip, rule) &&
	       !unwind_step(machine_native_registers(), ret, rule, snapshot_read,
		       (void *)frame->snapshot, &is_outermost) &&
	       ret->ip == ra;
}

/* Whether the frame is left by the word of the stack at `at`. */
static bool is_return_address_at(struct reading *reading, uint64_t at, struct unwind_rule *rule)
{
	const struct snapshot *snapshot = reading->frame->snapshot;
	const struct unwind_machine *machine = machine_native_registers();
	struct unwind_registers caller;
	unsigned long long ra;
	return !snapshot_read((void *)snapshot, at, &ra) &&
	       is_called_from(reading, ra & machine->pc_mask, rule, &caller) &&
	       rule->ra == UNWIND_AT_CFA && caller.reg[UNWIND_SP] + (uint64_t)rule->ra_offset == at;
}

/* ... by what a call has left in a register. */
static bool is_return_address_left(struct reading *reading, struct unwind_rule *rule)
{
	const struct code_frame *frame = reading->frame;
	const struct unwind_machine *machine = machine_native_registers();
	struct unwind_registers caller;
	unsigned long long ra;
	return !unwind_link(frame->regs, snapshot_read, (void *)frame->snapshot, &ra) &&
	       is_called_from(reading, ra & machine->pc_mask, rule, &caller) &&
	       rule->ra == UNWIND_SAME;
}

/* By what calls leave and the frame pointer first, then up the stack. */
static bool find_from_call(struct reading *reading, struct unwind_rule *rule)
{
	const struct unwind_registers *regs = reading->frame->regs;
	if (!machine_native()->find_from_call)
		return false;
	reading->calls_followed = 0;
	if (is_return_address_left(reading, rule) ||
		(regs->known >> UNWIND_FP & 1 &&
			is_return_address_at(reading, regs->reg[UNWIND_FP] + 8, rule)))
		return true;
	for (int word = 0; word < CALLER_MAX_WORDS && reading->calls_followed < MAX_CALLS_FOLLOWED;
		word++)
		if (is_return_address_at(reading, regs->reg[UNWIND_SP] + 8 * (uint64_t)word, rule))
			return true;
	return false;
}

static bool find_from_begin(struct reading *reading, struct unwind_rule *rule)
{
	const struct machine_code code = {
		.read = code_rules_read_code, .accepts = accept_of_begin, .context = reading};
	size_t rejected = reading->rejected, returns = reading->rejected_returns;
	if (!machine_native()->find_from_begin)
		return false;
	reading->calls_followed = 0;
	bool is_found = machine_native()->find_from_begin(&code, reading->frame->regs->ip, rule);
	reading->rejected = rejected;
	reading->rejected_returns = returns;
	return is_found;
}

/* ---- choosing ---- */

/*
 * The rules of the way are known from now on: those of its calls, and where a thread was
 * interrupted in it, those of its instructions, at which that happens again.
 */
static void put_way(struct reading *reading, enum code_rule_kind kind)
{
	size_t count = reading->found.len - 1; /* the last one is the frame's own */
	const struct mapping *mapping = reading->frame->mapping;
	for (size_t i = count > MAX_TOLD ? count - MAX_TOLD : 0; i < count; i++) {
		const struct found *found = &reading->found.data[i];
		uint64_t ip = found->address;
		if (ip < mapping->start || ip >= mapping->end)
			continue;
		if (reading->frame->is_exact)
			code_rules_put_known(reading, ip, ip, kind, &found->rule);
		if (code_rules_is_behind_call(reading, mapping, ip))
			code_rules_put_known(reading, ip, ip - 1, kind, &found->rule);
	}
	code_rules_put_frame(reading, kind, &reading->found.data[count].rule);
}

/* The main loop has other things to do, however many processes there are. */
static bool has_time_left(struct code_rules *code, uint32_t pid)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t more_ns = (now_ns - code->left_since_ns) / TIME_DIVISOR;
	code->left_ns =
		more_ns < max_left_ns - code->left_ns ? code->left_ns + more_ns : max_left_ns;
	code->left_since_ns = now_ns;
	return code->left_ns > max_left_ns / 2 ||
	       (code->left_ns && target_reader_has_time_left(&code->pages.reader, pid));
}

static void take_time(struct code_rules *code, uint32_t pid, uint64_t begun_cpu_ns)
{
	uint64_t spent_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begun_cpu_ns;
	code->spent_ns += spent_ns;
	code->left_ns -= spent_ns < code->left_ns ? spent_ns : code->left_ns;
	if (code->left_ns <= max_left_ns / 2)
		target_reader_charge(&code->pages.reader, pid, spent_ns);
}

/* Whether other code was written there since the sample: what is read now tells nothing of it. */
static bool is_overwritten(struct reading *reading)
{
	const struct code_frame *frame = reading->frame;
	const struct snapshot *snapshot = frame->snapshot;
	uint64_t code[CODE_RULE_WORDS];
	bool is_known = frame->is_asked && snapshot->code[0] && is_memory(frame);
	if (!is_known)
		return false;
	size_t got = code_rules_read_code(reading, frame->regs->ip, (uint8_t *)code, sizeof(code));
	return got == sizeof(code) && memcmp(code, snapshot->code, sizeof(code)) != 0;
}

static enum code_rule_kind read_frame(struct reading *reading, struct unwind_rule *rule)
{
	static const struct unwind_rule frame_pointer = UNWIND_FRAME_POINTER_RULE;
	struct code_rules *code = reading->code;
	const struct unwind_registers *regs = reading->frame->regs;
	const uint64_t frame_bytes = regs->reg[UNWIND_FP] - regs->reg[UNWIND_SP];
	const struct machine_code machine_code = {.read = code_rules_read_code,
		.accepts = accept_return,
		.on_rule = note_rule,
		.context = reading,
		.is_over = &reading->is_pending,
		.has_frame_bytes = regs->known >> UNWIND_FP & 1 && frame_bytes <= FRAME_MAX_BYTES,
		.frame_bytes = (int32_t)frame_bytes};
	bool is_other = is_overwritten(reading);
	bool is_found = !is_other && machine_native()->find_return(&machine_code, regs->ip);
	if (reading->is_pending)
		return CODE_RULE_UNKNOWN;
	if (is_other)
		return CODE_RULE_NONE;
	enum code_rule_kind kind = kind_of_read(reading);
	if (is_found && reading->found.len) {
		*rule = reading->found.data[reading->found.len - 1].rule;
		note_in_region(reading, rule);
		put_way(reading, kind);
		code->statistics.read++;
		return kind;
	}
	if (find_from_call(reading, rule) || find_from_begin(reading, rule)) {
		code_rules_put_frame(reading, kind, rule);
		code->statistics.read++;
		return kind;
	}
	if (reading->is_pending)
		return CODE_RULE_UNKNOWN;
	reading->calls_followed = 0;
	size_t returns = reading->rejected_returns;
	/* A file's code that was seen never to return may have any frame. */
	bool may_inherit = reading->rejected || is_memory(reading->frame);
	/* Its returns were another function's, or it pops what the reader cannot see. */
	enum code_rule_kind kind_of_inherited =
		returns && !is_memory(reading->frame) ? CODE_RULE_GUESSED : kind;
	const struct unwind_rule *inherited = may_inherit ? inherit(reading) : NULL;
	if (inherited) {
		*rule = *inherited;
		code_rules_put_frame(reading, kind_of_inherited, rule);
		if (is_memory(reading->frame)) /* its process may register the code yet */
			note_for_retry(reading);
		code->statistics.inherited++;
		return kind_of_inherited;
	}
	*rule = frame_pointer;
	if (unwind_may_guess(UNWIND_NATIVE, regs) && accept_return(reading, rule, false)) {
		code_rules_put_frame(reading, CODE_RULE_GUESSED, rule);
		note_for_retry(reading);
		code->statistics.guessed++;
		return CODE_RULE_GUESSED;
	}
	if (code_rules_scan(reading, rule)) {
		code_rules_put_frame(reading, CODE_RULE_SCANNED, rule);
		note_for_retry(reading);
		code->statistics.scanned++;
		return CODE_RULE_SCANNED;
	}
	return reading->is_pending ? CODE_RULE_UNKNOWN : CODE_RULE_NONE;
}

static void note_failure(struct reading *reading)
{
	struct code_rules *code = reading->code;
	struct code_rule_known *known =
		known_at(code, reading->frame, code_rules_key_of(reading->frame));
	uint32_t failures = known->failures + 1;
	known->failures = failures;
	code->statistics.failed++;
	if (failures >= FAILURES_MAX && code_rules_put_frame(reading, CODE_RULE_NONE, NULL))
		note_for_retry(reading);
}

static bool is_still_good(const struct code_rule_known *known, const struct code_frame *frame)
{
	return known->rule.kind != CODE_RULE_UNKNOWN &&
	       (!is_memory(frame) || known->read_ns >= frame_time(frame));
}

enum event_stack_end code_rules_choose(struct code_rules *code, const struct code_frame *frame,
	bool may_wait, const struct unwind_rule **rule, enum code_rule_kind *kind)
{
	*kind = CODE_RULE_NONE;
	if (!machine_native()->find_return)
		return EVENT_END_COMPLETE;
	struct code_rule_known *known = known_at(code, frame, code_rules_key_of(frame));
	if (!is_still_good(known, frame)) {
		uint32_t pid = frame->process->pid;
		struct reading reading = {.code = code, .frame = frame};
		struct unwind_rule found;
		uint64_t begun_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		if (!has_time_left(code, pid)) {
			code->statistics.unread++;
			return EVENT_END_COMPLETE;
		}
		*kind = read_frame(&reading, &found);
		if (*kind == CODE_RULE_NONE && !reading.is_given_up)
			note_failure(&reading);
		vec_deinit(&reading.found);
		send_told(code);
		take_time(code, pid, begun_ns);
		if (*kind == CODE_RULE_UNKNOWN && may_wait)
			return EVENT_END_TABLE_PENDING;
		bool is_unread = *kind == CODE_RULE_UNKNOWN ||
				 (*kind != CODE_RULE_READ && reading.is_given_up);
		code->statistics.unread += is_unread;
		if (*kind == CODE_RULE_UNKNOWN)
			*kind = CODE_RULE_NONE;
		if (*kind != CODE_RULE_NONE)
			*rule = table_store_rule(code->rules->store,
				table_store_intern_rule(code->rules->store, &found));
		return EVENT_END_COMPLETE;
	}
	if (frame->is_asked) {
		tell_bpf(code, frame, code_rules_key_of(frame), &known->rule);
		send_told(code);
	}
	*kind = (enum code_rule_kind)known->rule.kind;
	*rule = table_store_rule(code->rules->store, known->rule.rule);
	return EVENT_END_COMPLETE;
}

bool code_rules_is_caller(
	struct code_rules *code, const struct code_frame *frame, uint64_t ra, bool *is_pending)
{
	struct reading reading = {.code = code, .frame = frame};
	uint64_t begun_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!machine_native()->may_have_called || !has_time_left(code, frame->process->pid))
		return false;
	bool is_caller = may_be_caller(&reading, ra, true);
	take_time(code, frame->process->pid, begun_ns);
	*is_pending |= reading.is_pending;
	return is_caller && !reading.is_pending;
}

/* ---- rules that processes tell ---- */

void code_rules_tell_registered(
	struct code_rules *code, const struct code_frame *frame, const struct unwind_rule *rule)
{
	const struct snapshot *snapshot = frame->snapshot;
	struct code_rule sent = {.kind = CODE_RULE_REGISTERED};
	if (!frame->is_asked || !snapshot->code[0])
		return;
	sent.rule = table_store_intern_rule(code->rules->store, rule);
	memcpy(sent.code, snapshot->code, sizeof(sent.code));
	if (!sent.rule)
		return;
	tell_bpf(code, frame, code_rules_key_of(frame), &sent);
	send_told(code);
}
