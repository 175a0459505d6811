/*
 * Writes a synthetic recording, shaped like a real one, for benches:
 *
 *   gen_recording [-p PROCESSES] [-t THREADS] [-c CONTAINERS] FILE SAMPLES FUNCTIONS DEPTH SEED
 *                 OBJECT...
 *
 * SAMPLES samples at 999 Hz on 8 CPUs, of 4 processes with 8 threads each, in no container. They
 * fall on up to 20,000 distinct stacks, the n-th most frequent 1/n as often as
 * the first (Zipf); stacks are about DEPTH frames deep and share their outer
 * frames. The frames lie in FUNCTIONS functions of the ELF files OBJECT, so that
 * symbols can be found; one sample in eight has kernel frames, with symbols in
 * the file. The same arguments make the same bytes.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_symbols.h"
#include "format/file/writer.h"

enum {
	CPUS = 8,
	STACKS = 20000,
	KERNEL_STACKS = 200,
	KERNEL_FUNCTIONS = 400,
	KERNEL_DEPTH = 9,
	KERNEL_OBJECT = 1, /* its id */
	PERIOD_NS = 1001001,
	FLUSH_NS = 700000000,
	START_NS = 1000000000,
};

struct function {
	uint32_t object; /* id */
	uint64_t offset, size;
};

/* A stack node; the file gets it when the first sample needs it. */
struct node {
	uint32_t parent; /* index, 0: none */
	uint32_t depth, id;
	struct layout_frame frame;
};

struct generator {
	struct writer *writer;
	uint64_t random;
	uint32_t depth;
	uint32_t processes, threads, containers; /* threads of each process */
	VEC(struct function) functions, kernel;
	VEC(struct node) nodes;
	VEC(uint32_t) stacks, kernel_stacks; /* nodes */
	double *odds;                        /* of stacks, cumulative */
	struct map frame_ids;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "gen_recording: %s: %s\n", what, why);
	exit(1);
}

static void check(const char *what, struct err *err)
{
	if (err)
		die(what, err_message(err));
}

static uint64_t draw(struct generator *gen, uint64_t below)
{
	gen->random = map_mix(gen->random + 0x9e3779b97f4a7c15ULL);
	return (gen->random >> 16) % below;
}

static uint32_t put_text(struct generator *gen, const char *text)
{
	return writer_string(gen->writer, text, strlen(text));
}

/* ---- objects and their functions ---- */

static bool vaddr_to_offset(
	const struct elf_segment *segments, size_t count, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < count; i++) {
		if (vaddr - segments[i].vaddr < segments[i].filesz && (segments[i].flags & PF_X)) {
			*offset = vaddr - segments[i].vaddr + segments[i].offset;
			return true;
		}
	}
	return false;
}

static uint32_t put_object(struct generator *gen, const char *path, int fd, struct elf_file *file)
{
	struct stat st;
	if (fstat(fd, &st))
		die(path, strerror(errno));
	size_t count, build_id_len;
	const struct elf_segment *segments = elf_file_segments(file, &count);
	VEC(struct layout_segment) copy = {0};
	for (size_t i = 0; i < count && i < LAYOUT_MAX_SEGMENTS; i++)
		vec_push(&copy, (struct layout_segment){segments[i].vaddr, segments[i].offset,
					segments[i].filesz, segments[i].memsz, segments[i].flags});
	struct layout_object object = {
		.kind = LAYOUT_OBJECT_FILE,
		.path = put_text(gen, path),
		.size_bytes = (uint64_t)st.st_size,
		.inode = st.st_ino,
		.segments = copy.data,
		.nr_segments = (uint32_t)copy.len,
	};
	const uint8_t *build_id = elf_file_build_id(file, &build_id_len);
	if (build_id)
		memcpy(object.build_id, build_id, build_id_len);
	object.build_id_len = (uint32_t)build_id_len;
	uint32_t id = writer_object(gen->writer, &object);
	for (uint32_t process = 1; process <= gen->processes; process++)
		for (size_t i = 0; i < copy.len; i++)
			if (copy.data[i].flags & PF_X)
				writer_mapping(gen->writer,
					&(struct layout_mapping){.process = process,
						.object = id,
						.start = ((uint64_t)id << 36) + copy.data[i].vaddr,
						.length = copy.data[i].memsz,
						.offset = copy.data[i].offset,
						.time_ns = START_NS});
	vec_deinit(&copy);
	return id;
}

static void add_object(struct generator *gen, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path, strerror(errno));
	struct elf_file *file;
	struct elf_symbols symbols = {0};
	check(path, elf_file_open(fd, &file));
	check(path, elf_symbols_read(file, &symbols));
	size_t count;
	const struct elf_segment *segments = elf_file_segments(file, &count);
	uint32_t id = put_object(gen, path, fd, file);
	vec_each(&symbols.symbols, symbol) {
		struct function function = {.object = id, .size = symbol->size};
		if (symbol->type == STT_FUNC && symbol->size > 8 &&
			vaddr_to_offset(segments, count, symbol->address, &function.offset))
			vec_push(&gen->functions, function);
	}
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
}

/* Keeps `count` of the functions, in random order: the first are the most popular. */
static void choose_functions(struct generator *gen, size_t count)
{
	if (!gen->functions.len)
		die("objects", "they have no function symbols");
	for (size_t i = gen->functions.len - 1; i > 0; i--) {
		size_t j = draw(gen, i + 1);
		struct function swapped = gen->functions.data[i];
		gen->functions.data[i] = gen->functions.data[j];
		gen->functions.data[j] = swapped;
	}
	if (gen->functions.len > count)
		gen->functions.len = count;
}

static void add_kernel(struct generator *gen)
{
	uint32_t id =
		writer_object(gen->writer, &(struct layout_object){.kind = LAYOUT_OBJECT_KERNEL,
						   .path = put_text(gen, "[kernel]"),
						   .base = 0xffffffff81000000});
	for (uint64_t i = 0; i < KERNEL_FUNCTIONS; i++) {
		struct function function = {.object = id, .offset = 0x1000 * i, .size = 0x400};
		char name[40];
		snprintf(name, sizeof(name), "kernel_function_%u", (unsigned)i);
		vec_push(&gen->kernel, function);
		writer_symbol(gen->writer, &(struct layout_symbol){id, function.offset,
						   function.size, put_text(gen, name)});
	}
}

/* ---- stacks ---- */

/* A frame of a function that is more likely the lower its index; call sites repeat. */
static struct layout_frame draw_frame(
	struct generator *gen, const struct function *functions, size_t count)
{
	uint64_t limit = 1 + draw(gen, count);
	const struct function *function = &functions[draw(gen, limit)];
	uint64_t site = draw(gen, 6) * 0x9e3779b9 % function->size;
	return (struct layout_frame){function->object, function->offset + site, 0};
}

static uint32_t add_node(struct generator *gen, uint32_t parent, struct layout_frame frame)
{
	struct node node = {parent, gen->nodes.data[parent].depth + 1, 0, frame};
	vec_push(&gen->nodes, node);
	return (uint32_t)gen->nodes.len - 1;
}

/* Branches off an earlier stack, most often near its leaf. */
static void add_stack(struct generator *gen)
{
	uint32_t node = 0;
	uint32_t depth = gen->depth / 2 + (uint32_t)draw(gen, gen->depth + 1);
	if (gen->stacks.len)
		node = gen->stacks.data[draw(gen, gen->stacks.len)];
	for (uint64_t up = 1 + draw(gen, 1 + draw(gen, gen->depth)); node && up; up--)
		node = gen->nodes.data[node].parent;
	do
		node = add_node(
			gen, node, draw_frame(gen, gen->functions.data, gen->functions.len));
	while (gen->nodes.data[node].depth < depth);
	vec_push(&gen->stacks, node);
}

static void add_stacks(struct generator *gen, uint64_t samples)
{
	vec_push(&gen->nodes, (struct node){0});
	size_t count = samples < STACKS ? samples : STACKS;
	for (size_t i = 0; i < count; i++)
		add_stack(gen);
	for (size_t i = 0; i < KERNEL_STACKS; i++) {
		uint32_t node = 0;
		for (int depth = 0; depth < KERNEL_DEPTH; depth++)
			node = add_node(
				gen, node, draw_frame(gen, gen->kernel.data, gen->kernel.len));
		vec_push(&gen->kernel_stacks, node);
	}
	gen->odds = mem_zalloc_array(count + 1, sizeof(*gen->odds));
	for (size_t i = 0; i < count; i++)
		gen->odds[i + 1] = gen->odds[i] + 1.0 / (double)(i + 1);
}

static uint32_t draw_stack(struct generator *gen)
{
	size_t low = 0, high = gen->stacks.len;
	double at = (double)draw(gen, 1ULL << 40) / (double)(1ULL << 40) * gen->odds[high];
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		if (gen->odds[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return gen->stacks.data[low];
}

static uint32_t emit_frame(struct generator *gen, const struct layout_frame *frame)
{
	bool added;
	uint64_t *id = map_put(&gen->frame_ids, frame->offset << 8 ^ frame->object, &added);
	if (added)
		*id = writer_frame(gen->writer, frame);
	return (uint32_t)*id;
}

/* The file's id of a node, whose callers go ahead of it. */
static uint32_t emit_node(struct generator *gen, uint32_t index)
{
	VEC(uint32_t) missing = {0};
	for (uint32_t i = index; i && !gen->nodes.data[i].id; i = gen->nodes.data[i].parent)
		vec_push(&missing, i);
	while (missing.len) {
		struct node *node = &gen->nodes.data[missing.data[--missing.len]];
		node->id = writer_node(
			gen->writer, &(struct layout_node){gen->nodes.data[node->parent].id,
					     emit_frame(gen, &node->frame)});
	}
	vec_deinit(&missing);
	return gen->nodes.data[index].id;
}

/* ---- the recording ---- */

static void begin(struct generator *gen)
{
	struct writer *writer = gen->writer;
	writer_meta(writer, LAYOUT_META_HOST, "synthetic");
	writer_meta(writer, LAYOUT_META_TARGET, "system");
	writer_clock(writer, &(struct layout_clock){START_NS, 1795000000000000000});
	writer_event(writer, &(struct layout_event){put_text(gen, "cpu-clock"), PERIOD_NS, 999,
				     put_text(gen, "ns"), 0});
	add_kernel(gen);
	for (uint32_t process = 0; process < gen->processes; process++) {
		char name[24];
		uint32_t container = 0,
			 first = 1000 + process * (gen->threads > 100 ? gen->threads : 100);
		if (gen->containers) {
			snprintf(name, sizeof(name), "container-%u", process % gen->containers);
			container = put_text(gen, name);
		}
		writer_process(writer, &(struct layout_process){.pid = first,
					       .parent_pid = 1,
					       .start_ns = START_NS / 2,
					       .container = container,
					       .exe = KERNEL_OBJECT + 1});
		for (uint32_t thread = 0; thread < gen->threads; thread++) {
			snprintf(name, sizeof(name), "worker/%u", thread);
			writer_thread(writer, &(struct layout_thread){process + 1, first + thread,
						      put_text(gen, name), 0});
		}
	}
}

static void put_counters(struct generator *gen, uint64_t samples)
{
	const enum layout_counter counters[] = {LAYOUT_COUNTER_TICKS, LAYOUT_COUNTER_SAMPLES};
	for (int i = 0; i < 2; i++)
		writer_counter(
			gen->writer, &(struct layout_counter_value){counters[i], 0, samples});
}

static void put_sample(struct generator *gen, uint64_t number)
{
	uint32_t cpu = (uint32_t)(number % CPUS);
	uint64_t tick = number / CPUS;
	/* Ticks that a thread stays on its CPU; of very many, each shall have its turn. */
	uint64_t stay = gen->processes * gen->threads > 1000 ? 1 : 50;
	struct layout_sample sample = {
		.time_ns = START_NS + tick * PERIOD_NS + cpu * 1000 + draw(gen, 20000),
		.event = 1,

		.thread = 1 + (uint32_t)(map_mix(tick / stay * CPUS + cpu) %
					 (gen->processes * gen->threads)),
		.cpu = cpu,
		.user_stack = emit_node(gen, draw_stack(gen)),
		.weight = 1,
	};
	if (draw(gen, 8) == 0)
		sample.kernel_stack = emit_node(
			gen, gen->kernel_stacks.data[draw(gen, 1 + draw(gen, KERNEL_STACKS))]);
	writer_sample(gen->writer, &sample);
}

static void put_samples(struct generator *gen, uint64_t samples)
{
	const uint64_t a_flush = FLUSH_NS / PERIOD_NS * CPUS;
	for (uint64_t i = 0; i < samples; i++) {
		put_sample(gen, i);
		if (i % a_flush == a_flush - 1) {
			put_counters(gen, i + 1);
			check("flush", writer_flush(gen->writer));
		}
	}
	put_counters(gen, samples);
	uint64_t end_ns = START_NS + (samples / CPUS + 1) * PERIOD_NS;
	check("finish",
		writer_finish(gen->writer, &(struct layout_end){LAYOUT_END_DURATION, end_ns}));
}

static struct err *write_file(void *context, const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, context) == len ? NULL : err_sys(errno, "cannot write");
}

static void generator_deinit(struct generator *gen)
{
	writer_destroy(gen->writer);
	vec_deinit(&gen->functions);
	vec_deinit(&gen->kernel);
	vec_deinit(&gen->nodes);
	vec_deinit(&gen->stacks);
	vec_deinit(&gen->kernel_stacks);
	map_deinit(&gen->frame_ids);
	mem_free(gen->odds);
}

static bool set_option(struct generator *gen, int option)
{
	uint32_t number = optarg ? (uint32_t)strtoul(optarg, NULL, 10) : 0;
	if (option == 'p' && number)
		gen->processes = number;
	else if (option == 't' && number)
		gen->threads = number;
	else if (option == 'c')
		gen->containers = number;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct generator gen = {.processes = 4, .threads = 8};
	for (int option; (option = getopt(argc, argv, "p:t:c:")) != -1;)
		if (!set_option(&gen, option))
			return 1;
	argc -= optind - 1;
	argv += optind - 1;
	if (argc < 7) {
		fprintf(stderr, "usage: gen_recording [-p PROCESSES] [-t THREADS] [-c CONTAINERS] "
				"FILE SAMPLES FUNCTIONS DEPTH SEED OBJECT...\n");
		return 1;
	}
	FILE *file = fopen(argv[1], "wb");
	if (!file)
		die(argv[1], strerror(errno));
	uint64_t samples = strtoull(argv[2], NULL, 10), functions = strtoull(argv[3], NULL, 10);
	gen.writer = writer_create((struct writer_sink){write_file, file});
	gen.depth = (uint32_t)strtoul(argv[4], NULL, 10);
	gen.random = map_mix(strtoull(argv[5], NULL, 10) + 1);
	begin(&gen);
	for (int i = 6; i < argc; i++)
		add_object(&gen, argv[i]);
	choose_functions(&gen, functions ? functions : 1);
	add_stacks(&gen, samples ? samples : 1);
	put_samples(&gen, samples);
	generator_deinit(&gen);
	if (fclose(file) != 0)
		die(argv[1], strerror(errno));
	return 0;
}
