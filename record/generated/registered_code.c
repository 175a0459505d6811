#include "record/generated/registered_code.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/bisect.h"
#include "format/base/clock.h"
#include "format/base/mem.h"

enum {
	MAX_PROCESSES = 16 << 10,
	MAX_PROGRAMS = 1 << 10,
	MAX_KNOWN = 32 << 10,    /* images of a process, with those that are gone */
	MAX_BYTES = 64 << 20,    /* of all images */
	MAX_JOBS = 16 << 10,     /* at once */
	MAX_GONE_LOOKED_AT = 64, /* the newest ones, for a sample */
	TRIES_MAX = 2,
	COST_SHARE = 20, /* a look is followed by a pause of so many times its length */
	COST_SHARE_COMPILER = 4,
	FINDS_AT_ONCE = 3, /* looks for registries that a process's first unknown code is worth */
};

static const uint64_t pause_changing_ns = 2ULL * NS_PER_MS;
static const uint64_t pause_waited_for_ns = 20ULL * NS_PER_MS; /* a longer one is not */
static const uint64_t find_waited_for_ns = 50ULL * NS_PER_MS;  /* of a registry in a new file */
static const uint64_t pause_compiler_ns = 16ULL * NS_PER_MS;   /* while it compiles nothing */
static const uint64_t pause_compiler_waited_for_ns = 200ULL * NS_PER_MS;
static const uint64_t pause_stable_ns = 100ULL * NS_PER_MS;
static const uint64_t pause_first_ns = 5ULL * NS_PER_MS;
static const uint64_t pause_without_ns =
	10ULL * NS_PER_MS; /* no descriptor was found; then twice as long */
static const uint64_t pause_max_ns = 8ULL * NS_PER_S;

void registered_code_init(struct registered_code *code)
{
	*code = (struct registered_code){0};
	target_reader_init(&code->reader, registered_memory_read);
}

static void drop_image(struct registered_code *code, struct registered_known *known)
{
	code->bytes -= registered_image_bytes(&known->image);
	registered_image_deinit(&known->image);
}

static void drop_process(struct registered_code *code, struct registered_process *process)
{
	vec_each(&process->known, known)
		drop_image(code, known);
	vec_deinit(&process->known);
	vec_deinit(&process->places);
	*process = (struct registered_process){0};
}

void registered_code_deinit(struct registered_code *code)
{
	target_reader_deinit(&code->reader);
	vec_each(&code->processes, process)
		drop_process(code, process);
	vec_deinit(&code->processes);
	vec_deinit(&code->jobs);
	vec_deinit(&code->news);
	map_deinit(&code->by_object);
	map_deinit(&code->programs);
}

/* ---- processes ---- */

static struct registered_process *find_process(
	const struct registered_code *code, const struct object *object)
{
	const uint64_t *number = map_get(&code->by_object, object->serial);
	return number ? &code->processes.data[*number - 1] : NULL;
}

/* A place that none uses, or a new one; NULL: there are too many. */
static struct registered_process *add_process(
	struct registered_code *code, const struct object *object, uint32_t pid)
{
	static const struct registered_process none;
	size_t index = 0;
	while (index < code->processes.len && code->processes.data[index].pid)
		index++;
	if (index >= MAX_PROCESSES)
		return NULL;
	if (index == code->processes.len)
		vec_push(&code->processes, none);
	*map_put(&code->by_object, object->serial, NULL) = index + 1;
	code->processes.data[index].pid = pid;
	return &code->processes.data[index];
}

void registered_code_forget(struct registered_code *code, const struct object *object)
{
	struct registered_process *process = find_process(code, object);
	if (!process)
		return;
	uint32_t index = (uint32_t)(process - code->processes.data);
	for (size_t i = code->taken; i < code->jobs.len; i++)
		if (code->jobs.data[i].process == index)
			code->jobs.data[i].process = UINT32_MAX;
	drop_process(code, process);
	map_remove(&code->by_object, object->serial);
}

/* ---- looking ---- */

static bool submit_job(struct registered_code *code, struct registered_process *process,
	const struct registered_request *request, uint32_t index)
{
	struct registered_job job = {
		.kind = request->kind,
		.process = (uint32_t)(process - code->processes.data),
		.index = index,
	};
	if (code->jobs.len - code->taken >= MAX_JOBS)
		return false;
	vec_push(&code->jobs, job);
	process->nr_pending++;
	target_reader_submit(&code->reader, process->pid, request, sizeof(*request));
	return true;
}

/*
 * A registry may come later than the first look: while a program starts, its own is mapped before
 * that of a library; and libraries are loaded at any time.
 */
static bool may_have_more(const struct registered_process *process, uint64_t now_ns)
{
	return !process->known.len &&
	       (process->nr_finds < FINDS_AT_ONCE || now_ns >= process->next_find_ns);
}

static void look_for_descriptors(
	struct registered_code *code, struct registered_process *process, uint64_t now_ns)
{
	uint64_t pause_ns = pause_without_ns << (process->nr_finds < 16 ? process->nr_finds : 16);
	process->nr_finds++;
	process->has_new_file = false;
	process->next_find_ns = now_ns + (pause_ns < pause_max_ns ? pause_ns : pause_max_ns);
	struct registered_request request = {.kind = REGISTERED_FIND, .pid = process->pid};
	submit_job(code, process, &request, 0);
}

static void read_lists(struct registered_code *code, struct registered_process *process)
{
	for (uint32_t i = 0; i < process->nr_descriptors; i++) {
		struct registered_request request = {.kind = REGISTERED_LIST,
			.pid = process->pid,
			.registry = process->descriptors[i].registry,
			.more = process->descriptors[i].more,
			.descriptor = process->descriptors[i].address,
			.known = process->heads[i]};
		submit_job(code, process, &request, i);
	}
}

static void begin_look(
	struct registered_code *code, struct registered_process *process, uint64_t now_ns)
{
	process->begun_ns = now_ns;
	process->cost_ns = 0;
	process->was_same = true;
	if (process->nr_descriptors && !may_have_more(process, now_ns))
		read_lists(code, process);
	else
		look_for_descriptors(code, process, now_ns);
	target_reader_send(&code->reader);
}

static int registered_code_compare_places(const void *a, const void *b)
{
	const struct registered_place *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void list_places(struct registered_process *process)
{
	process->places.len = 0;
	for (uint32_t i = 0; i < process->known.len; i++) {
		const struct registered_known *known = &process->known.data[i];
		vec_each(&known->image.code, piece) {
			struct registered_place place = {piece->start, piece->end, i};
			if (!known->gone_ns)
				vec_push(&process->places, place);
		}
	}
	if (process->places.len)
		qsort(process->places.data, process->places.len, sizeof(*process->places.data),
			registered_code_compare_places);
}

/* How long the recorder does not look again: longer for what costs more, or stays as it is. */
static void choose_pause(struct registered_process *process, uint64_t now_ns)
{
	uint64_t pause_ns = process->pause_ns;
	bool is_soon_one = process->is_compiler || process->is_expected;
	uint64_t cost_ns = process->cost_ns * (is_soon_one ? COST_SHARE_COMPILER : COST_SHARE);
	if (!process->nr_descriptors)
		pause_ns = pause_ns               ? 2 * pause_ns
			   : process->is_expected ? pause_changing_ns
						  : pause_without_ns;
	else if (process->is_compiler && process->was_same && pause_ns < pause_compiler_ns)
		pause_ns = pause_ns < pause_changing_ns ? pause_changing_ns : 2 * pause_ns;
	else if (process->is_changing && !(process->is_compiler && process->was_same))
		pause_ns = pause_changing_ns;
	else if (process->is_compiler)
		pause_ns = pause_compiler_ns;
	else
		pause_ns = pause_ns >= pause_first_ns && pause_ns < pause_stable_ns ? 2 * pause_ns
			   : process->known_ns ? pause_stable_ns
					       : pause_first_ns;
	if (pause_ns < cost_ns)
		pause_ns = cost_ns;
	process->pause_ns = pause_ns < pause_max_ns ? pause_ns : pause_max_ns;
	process->next_ns = now_ns + process->pause_ns;
	process->soon_ns = process->next_ns;
	if (process->is_compiler)
		process->soon_ns =
			now_ns + (cost_ns > pause_changing_ns ? cost_ns : pause_changing_ns);
}

/* In a file that was mapped since the last look. */
static void seek_registry_soon(struct registered_process *process)
{
	process->next_find_ns = process->begun_ns + COST_SHARE * process->cost_ns;
	process->next_ns = process->soon_ns = process->next_find_ns;
}

/* All that the look asked for is there. */
static void end_look(struct registered_code *code, struct registered_process *process)
{
	list_places(process);
	if (process->has_news)
		vec_push(&code->news, process->pid);
	process->has_news = false;
	choose_pause(process, clock_now_ns());
	process->known_ns = process->begun_ns;
	process->has_new_file &= !process->known.len;
	if (process->has_new_file)
		seek_registry_soon(process);
}

/* ---- what comes back ---- */

/* Those that are known keep their numbers. */
static void note_descriptor(
	struct registered_process *process, const struct registered_descriptor *found)
{
	uint32_t count = process->nr_descriptors;
	for (uint32_t i = 0; i < count; i++)
		if (process->descriptors[i].address == found->address)
			return;
	if (count < REGISTERED_MAX_DESCRIPTORS)
		process->descriptors[process->nr_descriptors++] = *found;
}

static void take_descriptors(struct registered_code *code, struct registered_process *process,
	const struct bytes_buf *answer)
{
	struct registered_descriptor found[REGISTERED_MAX_DESCRIPTORS];
	size_t count = registered_memory_descriptors(answer, found);
	bool had_none = !process->nr_descriptors;
	for (size_t i = 0; i < count; i++)
		note_descriptor(process, &found[i]);
	code->statistics.processes += had_none && process->nr_descriptors;
	for (uint32_t i = 0; i < process->nr_descriptors; i++)
		process->is_compiler |= process->descriptors[i].registry == REGISTRY_MONO;
	process->is_changing |= process->is_compiler;
	process->cost_ns = process->is_compiler ? 0 : process->cost_ns; /* that comes once */
	read_lists(code, process);
}

static bool ask_for_image(
	struct registered_code *code, struct registered_process *process, uint32_t index)
{
	struct registered_known *known = &process->known.data[index];
	struct registered_request request = {.kind = REGISTERED_IMAGE,
		.pid = process->pid,
		.registry = process->descriptors[known->descriptor].registry,
		.more = process->descriptors[known->descriptor].more,
		.descriptor = process->descriptors[known->descriptor].address,
		.known = process->heads[known->descriptor],
		.entry = known->entry};
	known->tries++;
	return submit_job(code, process, &request, index);
}

static void add_known(struct registered_code *code, struct registered_process *process,
	uint32_t descriptor, const struct registered_entry *entry)
{
	struct registered_known known = {
		.entry = *entry,
		.descriptor = descriptor,
		.is_listed = true,
		.since_ns = process->known_ns,
		.seen_ns = process->begun_ns,
		.last_seen_ns = process->begun_ns,
	};
	if (process->known.len >= MAX_KNOWN) {
		code->statistics.given_up++;
		return;
	}
	vec_push(&process->known, known);
	if (!ask_for_image(code, process, (uint32_t)process->known.len - 1))
		code->statistics.given_up++;
}

/* What is there of a list, by where its entries stand. */
static void map_entries(
	const struct registered_process *process, uint32_t descriptor, struct map *ret)
{
	for (size_t i = 0; i < process->known.len; i++) {
		const struct registered_known *known = &process->known.data[i];
		if (known->descriptor == descriptor && !known->gone_ns)
			*map_put(ret, known->entry.address, NULL) = i;
	}
}

/* It is another list than before, though some of it may be the same. */
static void take_entries(struct registered_code *code, struct registered_process *process,
	uint32_t descriptor, const struct registered_list *list)
{
	struct map by_address = {0};
	map_entries(process, descriptor, &by_address);
	vec_each(&process->known, known)
		known->is_listed = known->descriptor != descriptor;
	vec_each(&list->entries, entry) {
		const uint64_t *index = map_get(&by_address, entry->address);
		struct registered_known *known = index ? &process->known.data[*index] : NULL;
		if (known && memcmp(&known->entry, entry, sizeof(*entry)) == 0)
			known->is_listed = true;
		else
			add_known(code, process, descriptor, entry);
	}
	map_deinit(&by_address);
	vec_each(&process->known, known)
		if (!known->is_listed && !known->gone_ns && !list->is_cut)
			known->gone_ns = process->begun_ns;
}

static void take_list(struct registered_code *code, struct registered_process *process,
	uint32_t descriptor, const struct bytes_buf *answer)
{
	struct registered_list list;
	if (!registered_memory_list(answer, &list)) { /* it changes just now, or memory is gone */
		process->was_same = false;
		return;
	}
	process->was_same &= list.is_same;
	if (!list.is_same) {
		bool comes_and_goes = list.entries.len &&
				      process->descriptors[descriptor].registry == REGISTRY_FRAMES;
		process->is_changing |= process->known_ns != 0 || comes_and_goes;
		process->heads[descriptor] = list.head;
		code->statistics.given_up += list.is_cut;
		take_entries(code, process, descriptor, &list);
	}
	for (uint32_t i = 0; i < process->known.len; i++) {
		struct registered_known *known = &process->known.data[i];
		if (known->descriptor != descriptor || known->gone_ns)
			continue;
		bool has_failed = !known->is_read && known->seen_ns < process->begun_ns;
		known->last_seen_ns = process->begun_ns;
		if (has_failed && known->tries < TRIES_MAX)
			ask_for_image(code, process, i);
	}
	vec_deinit(&list.entries);
}

/* The oldest images that are gone make room for what is there. */
static void registered_code_make_room(
	struct registered_code *code, struct registered_process *process)
{
	vec_each(&process->known, known) {
		if (code->bytes <= MAX_BYTES)
			return;
		if (known->gone_ns && known->image.code.len) {
			drop_image(code, known);
			code->statistics.given_up++;
		}
	}
}

static void take_image(struct registered_code *code, struct registered_process *process,
	uint32_t index, const struct bytes_buf *answer)
{
	struct registered_known *known = &process->known.data[index];
	known->is_read = registered_memory_image(answer, &known->image);
	code->bytes += registered_image_bytes(&known->image);
	registered_code_make_room(code, process);
	bool has_room = code->bytes <= MAX_BYTES;
	if (!has_room)
		drop_image(code, known);
	bool is_given_up = !known->is_read && known->tries >= TRIES_MAX;
	code->statistics.read += known->is_read && has_room;
	process->has_news |= known->is_read && has_room;
	code->statistics.given_up += is_given_up || !has_room || known->image.is_cut;
}

/* An image is asked for again by the next look; it is counted once. */
static void note_given_up(struct registered_code *code, struct registered_process *process,
	const struct registered_job *job)
{
	struct registered_known *known =
		job->kind == REGISTERED_IMAGE ? &process->known.data[job->index] : NULL;
	code->statistics.given_up += !known || !known->is_given_up;
	if (!known)
		return;
	known->is_given_up = true;
	known->tries--;
}

static void registered_code_take_answer(struct registered_code *code,
	const struct registered_job *job, const struct bytes_buf *answer)
{
	struct registered_process *process = &code->processes.data[job->process];
	uint64_t begun_ns = clock_now_ns();
	process->cost_ns += answer ? target_reader_answer_ns(&code->reader) : 0;
	if (!answer)
		note_given_up(code, process, job);
	if (answer && job->kind == REGISTERED_FIND)
		take_descriptors(code, process, answer);
	else if (answer && job->kind == REGISTERED_LIST)
		take_list(code, process, job->index, answer);
	else if (answer)
		take_image(code, process, job->index, answer);
	if (--process->nr_pending == 0)
		end_look(code, process);
	target_reader_charge(&code->reader, process->pid, clock_now_ns() - begun_ns);
}

static bool has_jobs(const struct registered_code *code)
{
	return code->taken < code->jobs.len;
}

bool registered_code_is_wanted(const struct registered_code *code)
{
	return code->wanted_ns && clock_now_ns() - code->wanted_ns < pause_waited_for_ns;
}

bool registered_code_is_reading(const struct registered_code *code)
{
	return has_jobs(code) || registered_code_is_wanted(code);
}

void registered_code_collect(struct registered_code *code)
{
	const struct bytes_buf *answer;
	while (has_jobs(code) && target_reader_take(&code->reader, &answer)) {
		struct registered_job job = code->jobs.data[code->taken++];
		if (job.process != UINT32_MAX)
			registered_code_take_answer(code, &job, answer);
	}
	if (!has_jobs(code))
		code->taken = code->jobs.len = 0;
}

int registered_code_fd(const struct registered_code *code)
{
	return target_reader_fd(&code->reader);
}

/* ---- what is known ---- */

static bool is_up_to_date(const struct registered_process *process, uint64_t time_ns)
{
	return process->known_ns >= time_ns;
}

/*
 * The process, which is being looked at if that is due: sooner where the code is unknown that was
 * sampled. NULL: it is not kept.
 */
static struct registered_process *meet_process(struct registered_code *code,
	const struct object *object, uint32_t pid, uint64_t time_ns, bool is_unknown)
{
	struct registered_process *process = find_process(code, object);
	if (!process)
		process = add_process(code, object, pid);
	if (!process || process->nr_pending || is_up_to_date(process, time_ns))
		return process;
	uint64_t now_ns = clock_now_ns();
	bool is_first_code = is_unknown && !process->known.len && process->nr_finds < FINDS_AT_ONCE;
	if (is_first_code || now_ns >= (is_unknown ? process->soon_ns : process->next_ns))
		begin_look(code, process, now_ns);
	return process;
}

void registered_code_meet(
	struct registered_code *code, const struct object *object, uint32_t pid, uint64_t time_ns)
{
	meet_process(code, object, pid, time_ns, false);
}

void registered_code_note_file(struct registered_code *code, const struct object *object)
{
	struct registered_process *process = find_process(code, object);
	if (!process || process->known.len)
		return;
	process->pause_ns = 0;
	process->has_new_file = true;
	seek_registry_soon(process);
}

void registered_code_follow(struct registered_code *code, const struct object *object,
	const struct object *program, uint64_t time_ns)
{
	struct registered_process *process = find_process(code, object);
	if (process && process->is_compiler && program && code->programs.len < MAX_PROGRAMS)
		map_put(&code->programs, program->serial, NULL);
	if (process && (process->is_changing || process->is_expected))
		meet_process(code, object, process->pid, time_ns, false);
}

bool registered_code_expects(const struct registered_code *code, const struct object *program)
{
	return map_get(&code->programs, program->serial) != NULL;
}

void registered_code_expect(
	struct registered_code *code, const struct object *object, uint32_t pid, uint64_t time_ns)
{
	struct registered_process *process = meet_process(code, object, pid, time_ns, false);
	if (process)
		process->is_expected = true;
}

static const struct registered_known *find_present(
	const struct registered_process *process, uint64_t address)
{
	size_t after = bisect(process->places.len, i, process->places.data[i].start <= address);
	const struct registered_place *place = after ? &process->places.data[after - 1] : NULL;
	return place && address < place->end ? &process->known.data[place->known] : NULL;
}

static enum registered_match match_frame(
	const struct registered_known *known, const struct registered_frame *frame)
{
	if (!frame->code)
		return REGISTERED_MATCH_UNKNOWN;
	return registered_image_match(&known->image, frame->ip, frame->code, frame->code_bytes);
}

static bool was_there(const struct registered_known *known, uint64_t time_ns)
{
	uint64_t until_ns = known->gone_ns ? known->last_seen_ns : UINT64_MAX;
	return time_ns >= known->seen_ns && time_ns <= until_ns;
}

/* LLVM may register the same code with debuggers and with libgcc. */
static bool is_registered_twice(const struct registered_known *a, const struct registered_known *b)
{
	return a->descriptor != b->descriptor && !a->gone_ns && !b->gone_ns;
}

/*
 * The image by its code: the one that is there, or one of the last ones that went. Where bytes tell
 * nothing the time does; NULL: it may have been several.
 */
static const struct registered_known *find_image(
	const struct registered_process *process, const struct registered_frame *frame)
{
	const struct registered_known *present = find_present(process, frame->place);
	const struct registered_known *candidate = NULL;
	size_t left = process->is_changing ? process->known.len : 0, nr_candidates = 0;
	for (int i = -1; i < MAX_GONE_LOOKED_AT && (i < 0 || left); i++) {
		const struct registered_known *known =
			i < 0 ? present : &process->known.data[--left];
		if (!known || (i >= 0 && known == present) ||
			!registered_image_has(&known->image, frame->place))
			continue;
		enum registered_match match = match_frame(known, frame);
		if (match == REGISTERED_MATCHES)
			return known;
		if (match == REGISTERED_DIFFERS)
			continue;
		if (was_there(known, frame->time_ns))
			return known;
		if (candidate && is_registered_twice(candidate, known))
			continue;
		candidate = known;
		nr_candidates++;
	}
	return nr_candidates == 1 ? candidate : NULL;
}

/* Code without a rule is guessed at, and that guess holds for a while: the look comes first. */
static bool has_registry_soon(const struct registered_process *process, uint64_t time_ns)
{
	return process->has_new_file && !is_up_to_date(process, time_ns) &&
	       process->soon_ns <= clock_now_ns() + find_waited_for_ns;
}

/*
 * Whether a look is under way, or what is known is too old where the list keeps changing, or a file
 * with a registry may have come.
 */
static bool is_to_wait(const struct registered_process *process, uint64_t time_ns)
{
	uint64_t limit_ns =
		process->is_compiler ? pause_compiler_waited_for_ns : pause_waited_for_ns;
	bool is_due = process->is_changing && process->pause_ns <= limit_ns;
	return process->nr_pending || (is_due && !is_up_to_date(process, time_ns)) ||
	       has_registry_soon(process, time_ns);
}

enum registered_found registered_code_rule(struct registered_code *code,
	const struct registered_frame *frame, bool may_wait, const struct unwind_rule **rule)
{
	const struct registered_process *process = find_process(code, frame->object);
	const struct registered_known *known = process ? find_image(process, frame) : NULL;
	bool is_sure = known && match_frame(known, frame) == REGISTERED_MATCHES;
	if (!is_sure) {
		process = meet_process(code, frame->object, frame->pid, frame->time_ns, !known);
		if (process && may_wait && is_to_wait(process, frame->time_ns)) {
			code->wanted_ns = process->nr_pending ? 0 : clock_now_ns();
			return REGISTERED_LATER;
		}
	}
	*rule = known ? registered_image_rule(&known->image, frame->place) : NULL;
	return *rule ? REGISTERED_RULE : REGISTERED_NOTHING;
}

/* ---- names ---- */

struct naming_pair {
	size_t index; /* of the address */
	const struct registered_known *known;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct naming_pair *x = a, *y = b;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->known < y->known ? -1 : x->known > y->known; /* the order of looks */
}

/* False: its image has no name there. */
static bool registered_code_tell_place(
	const struct naming_pair *pair, uint64_t address, code_place_fn *fn, void *context)
{
	const struct registered_known *known = pair->known;
	const struct registered_symbol *symbol = registered_image_symbol(&known->image, address);
	const struct registered_line *line = registered_image_line(&known->image, address);
	struct code_place place = {.index = pair->index,
		.address = address,
		.start = symbol ? symbol->start : 0,
		.time_ns = known->since_ns,
		.sure_ns = known->since_ns ? known->seen_ns : 0,
		.name = symbol ? known->image.names.data + symbol->name : NULL,
		.file = line ? known->image.names.data + line->file : NULL,
		.line = line ? line->line : 0};
	if (symbol)
		fn(context, &place);
	return symbol;
}

/* What was sampled there later is of no image, and has not the name of this one. */
static void tell_end(
	const struct naming_pair *pair, uint64_t address, code_place_fn *fn, void *context)
{
	struct code_place place = {.index = pair->index,
		.address = address,
		.start = address,
		.time_ns = pair->known->last_seen_ns + 1,
		.sure_ns = pair->known->gone_ns,
		.name = "[unregistered]"};
	fn(context, &place);
}

void registered_code_names(const struct registered_code *code, const struct object *object,
	const uint64_t *addresses, size_t count, code_place_fn *fn, void *context)
{
	const struct registered_process *process = find_process(code, object);
	VEC(struct naming_pair) pairs = {0};
	if (!process)
		return;
	vec_each(&process->known, known)
		vec_each(&known->image.code, piece) {
			size_t at = bisect(count, i, addresses[i] < piece->start);
			for (; at < count && addresses[at] < piece->end; at++)
				vec_push(&pairs, (struct naming_pair){at, known});
		}
	if (pairs.len)
		qsort(pairs.data, pairs.len, sizeof(*pairs.data), compare_pairs);
	vec_each(&pairs, pair) {
		const struct naming_pair *next = pair + 1;
		bool is_last = next == pairs.data + pairs.len || next->index != pair->index;
		if (registered_code_tell_place(pair, addresses[pair->index], fn, context) &&
			pair->known->gone_ns &&
			(is_last || next->known->since_ns >= pair->known->gone_ns))
			tell_end(pair, addresses[pair->index], fn, context);
	}
	vec_deinit(&pairs);
}
