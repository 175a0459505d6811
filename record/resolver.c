#include "record/resolver.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/file/truncation.h"
#include "format/machine/machine.h"
#include "format/unwind/unwind_step.h"

enum {
	MAX_FRAMES = EVENT_MAX_USER_FRAMES,
	MAX_KEPT_SNAPSHOTS = 16, /* of a process */
	MAX_INLINED = 128,       /* functions in each other */
	MAX_SOUGHT_FILES = 256,  /* of a process: browsers have a hundred */
};

#define WORD_MASK(bits) ((1ULL << (bits)) - 1)

void resolver_deinit(struct resolver *resolver)
{
	vec_deinit(&resolver->files);
	vec_deinit(&resolver->numbers);
	map_deinit(&resolver->numbers_of);
	map_deinit(&resolver->runs);
}

void resolver_forget_nodes(struct resolver *resolver)
{
	map_deinit(&resolver->runs);
}

/* ---- files ---- */

void resolver_mark_objects(struct resolver *resolver)
{
	vec_each(&resolver->files, file)
		if (*file)
			(*file)->is_used = true;
}

static bool is_where_event_says(const struct mapping *mapping, const struct event_file *event)
{
	return mapping && mapping->object->info.kind == LAYOUT_OBJECT_FILE &&
	       mapping->start - mapping->offset == event->start - event->offset;
}

/*
 * Sideband announced the mapping, or /proc tells; NULL: neither. Of a process with more mappings
 * than are held, or than can be read in time, it is the very mapping that is looked at.
 */
static struct object *object_of_event(struct resolver *resolver, const struct event_file *event)
{
	struct process_table *processes = resolver->processes;
	struct process *process = process_table_get(processes, event->pid, event->time_ns);
	const struct mapping *mapping =
		process_find_mapping(processes, process, event->start, event->time_ns, true);
	if (!is_where_event_says(mapping, event)) {
		process_rescan(processes, process, event->time_ns);
		mapping = process_find_mapping(
			processes, process, event->start, event->time_ns, false);
	}
	return is_where_event_says(mapping, event)
		       ? mapping->object
		       : process_read_file(processes, process, event->start, event->end);
}

static struct file_numbers *number_list(struct resolver *resolver, const struct object *object)
{
	static const struct file_numbers none;
	bool is_new;
	uint64_t *place = map_put(&resolver->numbers_of, object->serial, &is_new);
	if (is_new) {
		vec_push(&resolver->numbers, none);
		*place = resolver->numbers.len;
	}
	return &resolver->numbers.data[*place - 1];
}

/* A copy, since more may come to be. That of the vDSO is 0, see bpf/event.h. */
static struct file_numbers find_numbers(
	const struct resolver *resolver, const struct object *object)
{
	if (object->info.kind == LAYOUT_OBJECT_VDSO)
		return (struct file_numbers){.count = 1};
	const uint64_t *place = map_get(&resolver->numbers_of, object->serial);
	return place ? resolver->numbers.data[*place - 1] : (struct file_numbers){0};
}

static void forget_number(struct resolver *resolver, const struct object *object, uint32_t number)
{
	struct file_numbers *numbers = number_list(resolver, object);
	for (uint32_t i = 0; i < numbers->count; i++)
		if (numbers->number[i] == number)
			numbers->number[i] = numbers->number[--numbers->count];
}

static void note_number(struct resolver *resolver, const struct object *object, uint32_t number)
{
	struct file_numbers *numbers = number_list(resolver, object);
	if (numbers->count < RESOLVER_MAX_NUMBERS)
		numbers->number[numbers->count++] = number;
}

/* From now on the number means this object; NULL: it is not known which one it is. */
static void name_number(
	struct resolver *resolver, const struct event_file *event, struct object *object)
{
	if (event->file >= resolver->files.len)
		vec_resize(&resolver->files, event->file + 1);
	struct object **known = &resolver->files.data[event->file];
	if (!object || object == *known)
		return;
	if (*known) {
		resolver_forget_nodes(resolver);
		forget_number(resolver, *known, event->file);
	}
	note_number(resolver, object, event->file);
	*known = object;
}

void resolver_take_file(struct resolver *resolver, const struct event_file *event)
{
	if (event->file >> EVENT_FRAME_FILE_BITS)
		return;
	name_number(resolver, event, object_of_event(resolver, event));
	struct object *const *known = &resolver->files.data[event->file];
	if (!*known && resolver->rules) /* of a process that is gone: another one may tell */
		rule_source_ask_again(resolver->rules, event->file);
	if (!*known)
		return;
	(*known)->where = (struct object_location){event->pid, event->start, event->end};
	if (resolver->kept_files)
		kept_files_add(resolver->kept_files, *known, resolver->processes->objects);
	if (resolver->rules)
		rule_source_provide(resolver->rules, event, *known);
}

static void resolver_expect(
	struct resolver *resolver, struct event_file *event, struct object *object)
{
	rule_source_expect(resolver->rules, event, object);
	if (!event->file)
		return;
	name_number(resolver, event, object);
	if (resolver->kept_files)
		kept_files_add(resolver->kept_files, object, resolver->processes->objects);
}

/* A file that is about to be sampled, or that a process has whose code no file has. */
static void expect_file(
	struct resolver *resolver, struct process *process, const struct mapping *mapping)
{
	struct object *object = mapping->object;
	struct event_file event = {.pid = process->pid,
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset};
	object->where = (struct object_location){process->pid, mapping->start, mapping->end};
	resolver_expect(resolver, &event, object);
}

void resolver_expect_program(struct resolver *resolver, const char *path)
{
	struct stat st;
	struct event_file event = {0};
	static const struct object_location nowhere;
	if (stat(path, &st))
		return;
	struct object *object = object_table_by_inode(resolver->processes->objects, path,
		major(st.st_dev) << 20 | minor(st.st_dev), st.st_ino, false, &nowhere);
	resolver_expect(resolver, &event, object);
}

void resolver_seek_runtimes(struct resolver *resolver, struct process *process)
{
	if (process->has_sought_runtimes)
		return;
	process->has_sought_runtimes = true;
	rule_source_meet_code_of_no_file(resolver->rules);
	size_t sought = 0;
	struct mapping_cursor cursor = {0};
	for (const struct mapping *mapping;
		sought < MAX_SOUGHT_FILES &&
		(mapping = mapping_table_next(&process->mappings, &cursor));)
		if (mapping->object->info.kind == LAYOUT_OBJECT_FILE) {
			expect_file(resolver, process, mapping);
			sought++;
		}
}

void resolver_meet_process(struct resolver *resolver, struct process *process)
{
	struct mapping_cursor cursor = {0};
	for (const struct mapping *mapping;
		(mapping = mapping_table_next(&process->mappings, &cursor));)
		if (mapping->object->info.kind == LAYOUT_OBJECT_ANONYMOUS) {
			resolver_seek_runtimes(resolver, process);
			return;
		}
}

/* ---- frames ---- */

struct frames {
	uint32_t frame[MAX_FRAMES]; /* of the stack table, leaf first */
	uint32_t count;
};

static void resolver_add(struct resolver *resolver, struct frames *frames, struct object *object,
	uint64_t offset, uint32_t flags)
{
	if (frames->count < MAX_FRAMES)
		frames->frame[frames->count++] =
			stack_table_frame(resolver->stacks, object, offset, flags);
}

static struct object *special(
	struct resolver *resolver, enum layout_object_kind kind, const char *name)
{
	return object_table_special(resolver->processes->objects, kind, name);
}

/* A place that has no file, or whose file has no number. */
static void add_address(struct resolver *resolver, struct frames *frames,
	const struct event_stack *head, uint64_t address, enum unwind_found found)
{
	struct process_table *processes = resolver->processes;
	struct process *process = process_table_get(processes, head->pid, head->time_ns);
	const struct mapping *mapping = process_find_mapping(
		processes, process, address, head->time_ns, frames->count == 0);
	if (mapping)
		resolver_add(resolver, frames, jit_table_object_of(resolver->jit, process, mapping),
			address - mapping->start + mapping->offset, found);
	else
		resolver_add(resolver, frames,
			special(resolver, LAYOUT_OBJECT_UNKNOWN, "[unknown]"), address, found);
}

/* A frame of the program that an interpreter runs, or those inlined in it. */
static void add_script(struct resolver *resolver, struct frames *frames, uint64_t word)
{
	struct script_frame found[MAX_INLINED];
	struct object *object;
	size_t count =
		script_table_find_inlined(resolver->scripts, word, &object, found, MAX_INLINED);
	for (size_t i = 0; i < count; i++)
		resolver_add(resolver, frames, object, found[i].offset, found[i].flags);
}

static void resolver_add_word(struct resolver *resolver, struct frames *frames,
	const struct event_stack *head, uint64_t word)
{
	enum unwind_found found = word >> EVENT_FRAME_FOUND_SHIFT & (UNWIND_FOUND_KINDS - 1);
	uint64_t address = word & WORD_MASK(56);
	uint64_t offset = word & WORD_MASK(EVENT_FRAME_FILE_SHIFT);
	uint64_t number = word >> EVENT_FRAME_FILE_SHIFT & WORD_MASK(EVENT_FRAME_FILE_BITS);
	struct object *object = NULL;
	struct process *process;
	switch ((enum event_frame_kind)(word >> EVENT_FRAME_KIND_SHIFT)) {
	case EVENT_FRAME_FILE:
		object = number < resolver->files.len ? resolver->files.data[number] : NULL;
		if (!object)
			object = special(resolver, LAYOUT_OBJECT_UNKNOWN, "[unknown]");
		resolver_add(resolver, frames, object, offset, found);
		return;
	case EVENT_FRAME_ANONYMOUS:
		process = process_table_get(resolver->processes, head->pid, head->time_ns);
		if (resolver->rules)
			resolver_seek_runtimes(resolver, process);
		object = jit_table_object(resolver->jit, process);
		registered_code_meet(resolver->registered, object, head->pid, head->time_ns);
		resolver_add(resolver, frames, object, address, found);
		return;
	case EVENT_FRAME_VDSO:
		resolver_add(resolver, frames, process_vdso(resolver->processes->objects), offset,
			found);
		return;
	case EVENT_FRAME_RUNTIME:
		add_script(resolver, frames, word);
		return;
	case EVENT_FRAME_ADDRESS:
		add_address(resolver, frames, head, address, found);
		return;
	}
}

/* ---- stacks ---- */

/* Where a stack begins, at its root. */
static uint32_t root_node(struct resolver *resolver, enum layout_truncation truncation)
{
	struct stack_table *stacks = resolver->stacks;
	if (!truncation)
		return 0;
	return stack_table_node(stacks, 0, stack_table_frame(stacks, NULL, truncation, 0));
}

/* Below the node, outermost first. */
static uint32_t resolver_put_frames(
	struct resolver *resolver, uint32_t node, const struct frames *frames)
{
	for (uint32_t i = frames->count; i-- > 0;)
		node = stack_table_node(resolver->stacks, node, frames->frame[i]);
	return node;
}

static struct stack_frame resolver_frame(
	const struct resolver *resolver, const struct frames *frames, uint32_t index)
{
	return resolver->stacks->frames.data[frames->frame[index]];
}

static const char *owner_by_caller(const struct resolver *resolver, const struct object *caller)
{
	enum runtime_kind kind = RUNTIME_NONE;
	if (caller->info.kind != LAYOUT_OBJECT_FILE)
		return NULL;
	if (resolver->rules)
		table_store_has_runtime(
			resolver->rules->store, rule_source_table(resolver->rules, caller), &kind);
	return jit_owner_by_caller(caller->path, kind);
}

/* Code of no file is of that which called it; script frames stand between where it is a runtime. */
static void note_owners(struct resolver *resolver, const struct frames *frames)
{
	uint32_t first = 0; /* frame behind the last one of a file */
	bool has_code = false;
	for (uint32_t i = 0; i < frames->count; i++) {
		const struct object *object = resolver_frame(resolver, frames, i).object;
		has_code |= object && object->info.kind == LAYOUT_OBJECT_ANONYMOUS;
		if (object && object->info.kind != LAYOUT_OBJECT_FILE)
			continue;
		const char *owner = has_code && object ? owner_by_caller(resolver, object) : NULL;
		for (; first < i && owner; first++) {
			struct stack_frame frame = resolver_frame(resolver, frames, first);
			if (frame.object->info.kind == LAYOUT_OBJECT_ANONYMOUS)
				jit_table_note_owner(
					resolver->jit, frame.object, frame.offset, owner);
		}
		first = i + 1;
		has_code = false;
	}
}

static struct resolved_stack resolver_put(
	struct resolver *resolver, const struct frames *frames, enum layout_truncation truncation)
{
	uint32_t root = root_node(resolver, truncation);
	note_owners(resolver, frames);
	return (struct resolved_stack){
		.node = resolver_put_frames(resolver, root, frames), .truncation = truncation};
}

static void add_words(struct resolver *resolver, struct frames *frames,
	const struct event_stack *head, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		resolver_add_word(resolver, frames, head, words[i]);
}

/*
 * A new stack is mostly an old one: what is new of it is near its leaf. So it is taken in runs of a
 * few frames each, from the root: a run that came before, below the same node, leads to the same
 * node again. That is one look-up instead of some for each frame, in tables that do not stay in a
 * busy machine's caches.
 */
enum {
	RUN_WORDS = 8,
	MAX_RUNS = 64 * 1024,
};

/* Whether all words say the same in every process, and always. */
static bool are_lasting(const struct resolver *resolver, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum event_frame_kind kind = words[i] >> EVENT_FRAME_KIND_SHIFT;
		uint64_t number =
			words[i] >> EVENT_FRAME_FILE_SHIFT & WORD_MASK(EVENT_FRAME_FILE_BITS);
		bool is_lasting = kind == EVENT_FRAME_FILE ? number < resolver->files.len &&
								     resolver->files.data[number]
							   : kind == EVENT_FRAME_RUNTIME;
		if (!is_lasting)
			return false;
	}
	return true;
}

static uint32_t put_words(struct resolver *resolver, const struct event_stack *head, uint32_t node,
	const uint64_t *words, size_t count)
{
	struct frames frames; /* large: not cleared */
	frames.count = 0;
	add_words(resolver, &frames, head, words, count);
	return resolver_put_frames(resolver, node, &frames);
}

static uint32_t resolver_put_run(struct resolver *resolver, const struct event_stack *head,
	uint32_t node, const uint64_t *words)
{
	struct map *runs = &resolver->runs;
	bool is_new;
	if (runs->len >= MAX_RUNS)
		map_deinit(runs);
	if (!runs->len) /* a process can choose what its words are, but not what they hash to */
		resolver->runs_seed = map_random_seed();
	uint64_t hash = map_hash_bytes(
		words, RUN_WORDS * sizeof(*words), resolver->runs_seed + map_mix(node));
	uint64_t *known = map_put(runs, hash, &is_new);
	if (is_new)
		*known = put_words(resolver, head, node, words, RUN_WORDS);
	return (uint32_t)*known;
}

static struct resolved_stack put_lasting(
	struct resolver *resolver, const struct event_stack *head, const uint64_t *words)
{
	enum layout_truncation truncation = truncation_of_end(head->end);
	uint32_t node = root_node(resolver, truncation);
	size_t left = head->nr_frames;
	for (; left >= RUN_WORDS; left -= RUN_WORDS)
		node = resolver_put_run(resolver, head, node, words + left - RUN_WORDS);
	node = put_words(resolver, head, node, words, left);
	return (struct resolved_stack){.node = node, .truncation = truncation};
}

struct resolved_stack resolver_stack(
	struct resolver *resolver, const struct event_stack *head, const uint64_t *words)
{
	struct frames frames;
	frames.count = 0;
	if (are_lasting(resolver, words, head->nr_frames))
		return put_lasting(resolver, head, words);
	add_words(resolver, &frames, head, words, head->nr_frames);
	return resolver_put(resolver, &frames, truncation_of_end(head->end));
}

/* ---- going on over a snapshot, as bpf/unwind.bpf.h does over the stack itself ---- */

/* An interpreter's loop of which nothing was known when the stack was walked. */
static void add_missed_script(
	struct resolver *resolver, const struct object *object, struct frames *frames)
{
	enum runtime_kind kind;
	uint64_t offset;
	if (!table_store_has_runtime(
		    resolver->rules->store, rule_source_table(resolver->rules, object), &kind))
		return;
	struct object *script =
		script_table_failure(resolver->scripts, kind, LAYOUT_SCRIPT_PENDING, &offset);
	resolver_add(resolver, frames, script, offset, UNWIND_FOUND_BY_RULE);
}

/* Whether a call in a file ends ahead of `offset`. */
static bool resolver_is_behind_call(
	const struct object *object, const struct object_location *where, uint64_t offset)
{
	uint8_t code[UNWIND_CALL_BYTES];
	if (object->info.kind != LAYOUT_OBJECT_FILE || offset < sizeof(code))
		return false;
	CLEANUP_FD int fd = object_open_any(object, where);
	return fd >= 0 &&
	       pread(fd, code, sizeof(code), (off_t)(offset - sizeof(code))) == sizeof(code) &&
	       unwind_is_call(code);
}

/* From where no code is to the caller that jumped there; false: none can be seen. */
static bool leave_bad_jump(struct resolver *resolver, const struct snapshot *snapshot,
	struct process *process, struct unwind_registers *regs)
{
	unsigned long long ra;
	if (unwind_link(regs, snapshot_read, (void *)snapshot, &ra) || !ra)
		return false;
	ra &= machine_native_registers()->pc_mask;
	const struct mapping *mapping = process_find_mapping(
		resolver->processes, process, ra - 1, snapshot->head.time_ns, false);
	if (!mapping)
		return false;
	struct object_location where = {snapshot->head.pid, mapping->start, mapping->end};
	if (!resolver_is_behind_call(
		    mapping->object, &where, ra - mapping->start + mapping->offset))
		return false;
	unwind_undo_call(regs, ra);
	return true;
}

/* A frame that is left by a rule of its file, or by what its code says. */
struct rest {
	const struct snapshot *snapshot;
	struct code_stack stack;
	struct process *process;
	struct unwind_registers regs;
	bool is_exact;              /* regs.ip, else it stands behind a call */
	enum unwind_found found;    /* how the frame at hand was, */
	enum unwind_found finds;    /* ... and how its caller is, by the rule */
	enum event_stack_end guess; /* why its caller is a guess, or EVENT_END_COMPLETE */
	uint64_t word;              /* what stands for the frame at hand; 0: itself */
	bool is_asked;              /* the BPF side wants to know the rule */
	bool may_wait;
	bool lacks_names; /* of frames that were walked, which are being read */
};

/*
 * The rule of code of no file that its process has registered. EVENT_END_COMPLETE: *rule is set;
 * EVENT_END_TABLE_PENDING: ask again; EVENT_END_NO_RULE: there is none.
 */
static enum event_stack_end choose_registered(struct resolver *resolver,
	const struct code_frame *frame, const struct object *object, uint64_t place, bool may_wait,
	const struct unwind_rule **rule)
{
	const struct snapshot *snapshot = frame->snapshot;
	bool has_code = frame->is_asked && snapshot->code[0];
	struct registered_frame registered = {.object = object,
		.pid = snapshot->head.pid,
		.time_ns = snapshot->head.time_ns,
		.place = place,
		.ip = frame->regs->ip,
		.code = has_code ? (const uint8_t *)snapshot->code : NULL,
		.code_bytes = sizeof(snapshot->code)};
	enum registered_found found =
		registered_code_rule(resolver->registered, &registered, may_wait, rule);
	if (found == REGISTERED_LATER)
		return EVENT_END_TABLE_PENDING;
	if (found == REGISTERED_NOTHING)
		return EVENT_END_NO_RULE;
	code_rules_tell_registered(resolver->code, frame, *rule);
	return EVENT_END_COMPLETE;
}

/*
 * Code of no file that a runtime made whose frames the recorder finds itself: rest->word is set,
 * and *rule, unless the code has to say it. EVENT_END_TABLE_PENDING: ask again.
 */
static enum event_stack_end choose_compiled(
	struct resolver *resolver, struct rest *rest, const struct unwind_rule **rule)
{
	struct compiled_frame frame;
	enum compiled_found found = compiled_frames_find(resolver->compiled, rest->process,
		rest->regs.ip - !rest->is_exact, rest->is_exact, rest->snapshot->head.time_ns,
		rest->may_wait, &frame);
	if (found == COMPILED_LATER)
		return EVENT_END_TABLE_PENDING;
	if (found == COMPILED_FOUND) {
		rest->word = frame.word;
		rest->lacks_names |= frame.lacks_name;
		*rule = frame.rule;
	}
	return EVENT_END_COMPLETE;
}

/*
 * The rule of the frame at hand, for want of any other one that of the frame pointer. `object` is
 * what the mapping's code is of, and `offset` the frame's there.
 */
static enum event_stack_end choose_rule(struct resolver *resolver, struct rest *rest,
	const struct mapping *mapping, struct object *object, uint64_t offset,
	const struct unwind_rule **rule)
{
	enum event_stack_end end = rule_source_find(resolver->rules, object, offset, rule);
	if (end == EVENT_END_TABLE_PENDING && !rest->may_wait)
		end = rule_source_find_ahead(resolver->rules, object, offset, rule);
	rest->guess = EVENT_END_COMPLETE;
	rest->finds = UNWIND_FOUND_BY_RULE;
	rest->word = 0;
	if (end != EVENT_END_NO_RULE && end != EVENT_END_NO_TABLE && end != EVENT_END_JIT)
		return end;
	const struct file_numbers numbers = find_numbers(resolver, mapping->object);
	struct code_frame frame = {.snapshot = rest->snapshot,
		.stack = &rest->stack,
		.process = rest->process,
		.mapping = mapping,
		.regs = &rest->regs,
		.files = numbers.number,
		.nr_files = numbers.count,
		.is_exact = rest->is_exact,
		.is_asked = rest->is_asked};
	bool may_wait = rest->may_wait && !resolver->is_behind;
	if (end == EVENT_END_JIT) {
		resolver_seek_runtimes(resolver, rest->process);
		enum event_stack_end compiled = choose_compiled(resolver, rest, rule);
		if (compiled || *rule)
			return compiled;
		enum event_stack_end registered =
			choose_registered(resolver, &frame, object, offset, rest->may_wait, rule);
		if (registered != EVENT_END_NO_RULE)
			return registered;
	}
	enum code_rule_kind kind = CODE_RULE_NONE;
	enum event_stack_end read =
		code_rules_choose(resolver->code, &frame, may_wait, rule, &kind);
	if (read)
		return read;
	rest->finds = kind == CODE_RULE_READ      ? UNWIND_FOUND_BY_CODE
		      : kind == CODE_RULE_SCANNED ? UNWIND_FOUND_BY_SCAN
						  : UNWIND_FOUND_BY_FRAME_POINTER;
	if (kind == CODE_RULE_READ)
		return EVENT_END_COMPLETE;
	if (kind == CODE_RULE_NONE && !unwind_is_guess(UNWIND_NATIVE, &rest->regs, end))
		return end;
	rest->guess = end;
	if (kind == CODE_RULE_NONE)
		*rule = table_store_frame_pointer_rule(resolver->rules->store);
	return EVENT_END_COMPLETE;
}

/*
 * Whether the caller's frame lies on a stack that was put aside: where code was read that says so,
 * or where a rule has the CFA from memory far off, as that of SBCL's call_into_lisp() does.
 */
static bool leads_to_another_stack(const struct rest *rest, const struct unwind_rule *rule)
{
	enum {
		FRAME_MAX_BYTES = 1 << 20
	};
	unsigned long long from;
	if (rule->flags & UNWIND_SWITCHES_STACKS)
		return rest->finds == UNWIND_FOUND_BY_CODE;
	return rule->cfa == UNWIND_CFA_DEREF &&
	       !unwind_base(&rest->regs, rule->cfa_register, (short)rule->cfa_offset, &from) &&
	       from - rest->regs.reg[UNWIND_SP] > FRAME_MAX_BYTES;
}

/*
 * To the caller of the frame at hand. A caller behind the end of what was copied is one as far as
 * its code tells.
 */
static enum event_stack_end step_over_snapshot(struct resolver *resolver, struct rest *rest,
	const struct mapping *mapping, const struct unwind_rule *rule, bool *is_outermost)
{
	const struct unwind_registers callee = rest->regs;
	struct code_stack *stack = &rest->stack;
	stack->is_another |= leads_to_another_stack(rest, rule);
	stack->is_behind = false;
	enum event_stack_end end = unwind_step(machine_native_registers(), &rest->regs, rule,
		code_rules_read_stack, stack, is_outermost);
	if (end || *is_outermost || !stack->is_behind || stack->is_another)
		return end;
	const struct code_frame frame = {.snapshot = rest->snapshot,
		.stack = stack,
		.process = rest->process,
		.mapping = mapping,
		.regs = &callee};
	return code_rules_is_caller(resolver->code, &frame, rest->regs.ip, &stack->is_pending)
		       ? EVENT_END_COMPLETE
		       : EVENT_END_UNREADABLE;
}

static enum event_stack_end walk_rest(
	struct resolver *resolver, struct rest *rest, struct frames *frames)
{
	const struct snapshot *snapshot = rest->snapshot;
	struct process_table *processes = resolver->processes;
	const struct event_stack *head = &snapshot->head;
	struct process *process = rest->process;
	struct unwind_registers *regs = &rest->regs;
	bool is_shown = snapshot->is_shown;
	while (frames->count < MAX_FRAMES) {
		uint64_t place = regs->ip - !rest->is_exact;
		const struct mapping *mapping = process_find_mapping(
			processes, process, place, head->time_ns, frames->count == 0);
		if (!mapping && rest->is_exact &&
			leave_bad_jump(resolver, snapshot, process, regs)) {
			resolver_add(resolver, frames,
				special(resolver, LAYOUT_OBJECT_UNKNOWN, "[unknown]"), place,
				rest->found);
			rest->is_exact = false;
			rest->guess = EVENT_END_COMPLETE;
			rest->found = UNWIND_FOUND_BY_RULE;
			continue;
		}
		if (!mapping)
			return unwind_end_nowhere(rest->guess);
		struct object *object = jit_table_object_of(resolver->jit, process, mapping);
		object->where = (struct object_location){head->pid, mapping->start, mapping->end};
		uint64_t offset = place - mapping->start + mapping->offset;
		const struct unwind_rule *rule = NULL;
		enum event_stack_end end =
			choose_rule(resolver, rest, mapping, object, offset, &rule);
		if (!end && rule->flags & UNWIND_INTERPRETER)
			add_missed_script(resolver, object, frames);
		uint64_t shown = end ? offset : unwind_place(offset, rest->is_exact, rule->ra);
		if (!is_shown && rest->word)
			add_script(resolver, frames, rest->word);
		else if (!is_shown)
			resolver_add(resolver, frames, object, shown, rest->found);
		is_shown = false;
		bool is_outermost = false;
		if (!end)
			end = step_over_snapshot(resolver, rest, mapping, rule, &is_outermost);
		if (rest->stack.is_pending && rest->may_wait)
			return EVENT_END_TABLE_PENDING;
		if (end || is_outermost)
			return is_outermost ? unwind_end_at_root(rest->finds, rest->guess) : end;
		rest->is_exact = rule->flags & UNWIND_SIGNAL_FRAME;
		rest->found = rest->finds;
		rest->is_asked = false;
	}
	return EVENT_END_DEPTH;
}

static enum event_stack_end unwind_rest(struct resolver *resolver, const struct snapshot *snapshot,
	bool may_wait, struct frames *frames)
{
	const struct event_stack *head = &snapshot->head;
	struct rest rest = {.snapshot = snapshot,
		.stack = {.code = resolver->code, .snapshot = snapshot},
		.process = process_table_get(resolver->processes, head->pid, head->time_ns),
		.regs = snapshot->registers,
		.found = snapshot->found,
		.is_exact = snapshot->is_exact,
		.is_asked = true,
		.may_wait = may_wait};
	enum event_stack_end end = walk_rest(resolver, &rest, frames);
	return rest.lacks_names ? EVENT_END_TABLE_PENDING : end;
}

/* Rules beyond rows are for the report, within limits: snapshots are large. */
static bool may_leave(struct resolver *resolver, const struct snapshot *snapshot)
{
	const struct event_stack *head = &snapshot->head;
	struct process *process = process_table_get(resolver->processes, head->pid, head->time_ns);
	return resolver->keeps_snapshots || process->snapshots_kept++ < MAX_KEPT_SNAPSHOTS;
}

bool resolver_snapshot(struct resolver *resolver, const struct snapshot *snapshot, bool may_wait,
	struct resolved_stack *ret)
{
	struct frames frames = {.count = 0};
	enum event_stack_end end = snapshot->head.end;
	add_words(resolver, &frames, &snapshot->head, snapshot->frames.data, snapshot->frames.len);
	bool is_for_report = resolver->keeps_snapshots && end == EVENT_END_UNSUPPORTED;
	if (snapshot->has_registers && resolver->rules && !is_for_report) {
		end = unwind_rest(resolver, snapshot, may_wait, &frames);
		if (end == EVENT_END_TABLE_PENDING && may_wait)
			return false;
	}
	bool is_beyond = end == EVENT_END_UNSUPPORTED || end == EVENT_END_REGISTER;
	bool is_left = snapshot->has_registers && is_beyond && may_leave(resolver, snapshot);
	if (is_left) /* the report begins where the snapshot does */
		frames.count = (uint32_t)snapshot->frames.len -
			       (snapshot->is_shown && snapshot->frames.len);
	*ret = resolver_put(resolver, &frames, truncation_of_end(end));
	ret->is_left = is_left;
	return true;
}
