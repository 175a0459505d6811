/* perf.data as recordings: import_perf, perf_header, perf_records, perf_sample, perf_tasks,
 * perf_space, zstd_stream. */
#include <stdio.h>
#include <string.h>

#include "format/import/import_perf.h"
#include "format/import/perf_header.h"
#include "format/import/perf_sample.h"
#include "format/import/perf_space.h"
#include "format/import/zstd_stream.h"
#include "tests/unit/forged_perf.h"
#include "tests/unit/import_fixture.h"

static const struct forged_perf_event cpu_clock = FORGED_PERF_CLOCK;
static const struct bytes_buf no_ids;

static struct import_seen see_perf(struct bytes_buf *records, const struct bytes_buf *build_ids)
{
	struct import_seen seen = {0};
	struct bytes_buf file = forged_perf_file(&cpu_clock, records, build_ids);
	CHECK(import_perf_is(file.data, file.len));
	CHECK_STR(import_format_of(file.data, file.len), "perf.data");
	CHECK_OK(import_see(file.data, file.len, NULL, &seen));
	bytes_buf_deinit(&file);
	bytes_buf_deinit(records);
	return seen;
}

static const struct layout_sample *sample_at(const struct import_seen *seen, uint64_t time_ns)
{
	for (size_t i = 0; i < seen->samples.len; i++)
		if (seen->samples.data[i].time_ns == time_ns)
			return &seen->samples.data[i];
	unit_fail(__FILE__, __LINE__, "no sample at %llu", (unsigned long long)time_ns);
	return &seen->samples.data[0];
}

/* The addresses behind calls become those of the calls; the first one of a side is exact. */
TEST(perf_records_are_taken_in_the_order_of_their_times)
{
	struct bytes_buf records = forged_perf_records();
	CLEANUP(import_seen_deinit) struct import_seen seen = see_perf(&records, &no_ids);
	CHECK_INT(seen.samples.len, 3);
	CHECK_STR(import_seen_stack(&seen, sample_at(&seen, 0)->user_stack),
		"/bin/program+0x1010 /bin/program+0x1104");
	CHECK(seen.file.ended);
}

TEST(perf_forks_share_mappings_until_an_exec)
{
	struct bytes_buf records = forged_perf_records();
	CLEANUP(import_seen_deinit) struct import_seen seen = see_perf(&records, &no_ids);
	const struct layout_sample *forked = &seen.samples.data[1];
	CHECK_INT(forked->weight, 3);
	CHECK_STR(import_seen_stack(&seen, forked->user_stack),
		"/bin/program+0x1010 /bin/program+0x1104");
	CHECK_STR(import_seen_stack(&seen, forked->kernel_stack),
		"[kernel.kallsyms]+0x1000 [kernel.kallsyms]+0x2004");
	const struct layout_thread *thread = &seen.threads.data[forked->thread];
	CHECK_STR(seen.strings.data[thread->comm], "sh");
	CHECK_INT(seen.processes.data[thread->process].pid, 11);
	CHECK_INT(seen.processes.data[thread->process].parent_pid, 10);
	const struct layout_sample *executed = &seen.samples.data[2];
	CHECK_STR(import_seen_stack(&seen, executed->user_stack),
		"[unknown]+0x401010 [unknown]+0x401104");
	CHECK_STR(seen.strings.data[seen.threads.data[executed->thread].comm], "other");
}

TEST(perf_build_ids_come_from_the_table)
{
	struct bytes_buf records = forged_perf_records(), ids = {0};
	forged_perf_build_id(&ids, 0x20, "/bin/program");
	CLEANUP(import_seen_deinit) struct import_seen seen = see_perf(&records, &ids);
	bool is_found = false;
	for (size_t i = 1; i < seen.objects.len; i++) {
		const struct layout_object *object = &seen.objects.data[i];
		if (strcmp(seen.strings.data[object->path], "/bin/program") != 0)
			continue;
		is_found = true;
		CHECK_INT(object->build_id_len, 20);
		CHECK_INT(object->build_id[0], 0x20);
		CHECK_INT(object->build_id[19], 0x33);
	}
	CHECK(is_found);
	CHECK(!strstr(str_text(&seen.result.notes), "build IDs in it"));
	bytes_buf_deinit(&ids);
}

static bool name_all(void *context, const struct import_kernel *kernel, uint64_t address,
	struct import_symbol *ret)
{
	(void)context;
	CHECK_INT(kernel->object.base, 0xffffffff81000000);
	*ret = (struct import_symbol){
		.address = address & ~0xfffULL, .size = 0x1000, .name = "kernel_function"};
	return true;
}

TEST(perf_kernel_is_named_by_the_machine_that_imports)
{
	struct import_host host = {.kernel_symbol = name_all};
	struct bytes_buf records = forged_perf_records();
	struct bytes_buf file = forged_perf_file(&cpu_clock, &records, &no_ids);
	CLEANUP(import_seen_deinit) struct import_seen seen = {0}, unnamed = {0};
	CHECK_OK(import_see(file.data, file.len, &host, &seen));
	CHECK_INT(seen.symbols.len, 2);
	CHECK_INT(seen.symbols.data[0].offset, 0x2000); /* the outermost first */
	CHECK_STR(seen.strings.data[seen.symbols.data[0].name], "kernel_function");
	CHECK(!strstr(str_text(&seen.result.notes), "kernel have no names"));
	CHECK_OK(import_see(file.data, file.len, NULL, &unnamed));
	CHECK(strstr(str_text(&unnamed.result.notes), "2 places in the kernel have no names"));
	bytes_buf_deinit(&records);
	bytes_buf_deinit(&file);
}

/* Three places, of which overlapping lines of a map name two, and one was not looked for. */
static size_t name_code_twice(
	void *context, const struct import_code *code, import_symbol_fn *use, void *use_context)
{
	const struct import_symbol symbols[] = {{0x70000100, 0x20, "one", false},
		{0x70000100, 0x20, "one again", false}, {0x70000110, 0xe0, "two", true},
		{0x70000300, UINT64_MAX, "beyond", false}};
	*(uint64_t *)context = code->program_age_ns;
	CHECK_INT(code->count, 4);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		use(use_context, &symbols[i]);
	return 1;
}

TEST(perf_code_that_processes_made_is_counted_once)
{
	uint64_t age_ns = 0;
	struct import_host host = {.code_symbols = name_code_twice, .context = &age_ns};
	struct bytes_buf records = {0};
	forged_perf_comm(&records, 10, "jit", true, 150);
	forged_perf_mmap(&records, 10, 0x70000000, 0x1000, 0, "//anon", 160);
	static const uint64_t places[] = {0x70000110, 0x70000180, 0x70000200, 0x70000280};
	for (size_t i = 0; i < 4; i++) {
		const uint64_t chain[] = {(uint64_t)-512, places[i]};
		struct bytes_buf body = forged_perf_sample(10, 200 + 10 * i, 2, chain, 2);
		forged_perf_record(&records, 9, FORGED_PERF_USER, &body);
	}
	struct bytes_buf file = forged_perf_file(&cpu_clock, &records, &no_ids);
	CLEANUP(import_seen_deinit) struct import_seen seen = {0};
	CHECK_OK(import_see(file.data, file.len, &host, &seen));
	CHECK_INT(age_ns, 230 - 150);
	CHECK_INT(seen.symbols.len, 4);
	const char *notes = str_text(&seen.result.notes);
	CHECK(strstr(notes, "1 place in code that a process made has no name: its "
			    "/tmp/perf-PID.map is not here"));
	CHECK(strstr(notes, "1 place in code that a process made has no name: its "
			    "/tmp/perf-PID.map is too large"));
	CHECK(strstr(notes, "1 place in code that a process made had several functions"));
	bytes_buf_deinit(&records);
	bytes_buf_deinit(&file);
}

TEST(perf_files_that_are_cut_say_where)
{
	struct bytes_buf records = forged_perf_records();
	struct bytes_buf file = forged_perf_file(&cpu_clock, &records, &no_ids);
	CLEANUP(import_seen_deinit) struct import_seen cut = {0}, seen = {0};
	CHECK_OK(import_see(file.data, file.len - 20, NULL, &cut));
	CHECK_INT(cut.samples.len, 2);
	CHECK(!cut.file.ended);
	CHECK(strstr(str_text(&cut.result.notes), "it is cut at offset"));
	for (size_t len = 0; len < 300; len++) {
		CLEANUP(import_seen_deinit) struct import_seen part = {0};
		struct err *err = import_see(file.data, len, NULL, &part);
		if (len < PERF_MAGIC_BYTES)
			CHECK_ERR(err, ERR_FORMAT, "no format");
		else if (len < 104)
			CHECK_ERR(err, ERR_FORMAT, "in its header");
		else
			err_destroy(err);
	}
	file.data[256 + 6] = 3; /* the size of the first record */
	CHECK_ERR(import_see(file.data, file.len, NULL, &seen), ERR_FORMAT,
		"the record at offset 256 says that it has 3 bytes");
	bytes_buf_deinit(&records);
	bytes_buf_deinit(&file);
}

/* x86-64: perf's register 7 is the stack pointer, 8 the instruction pointer. */
TEST(perf_copies_of_stacks_become_snapshots)
{
	struct forged_perf_event event = cpu_clock;
	event.sample_type |= PERF_HAS_REGISTERS | PERF_HAS_STACK;
	event.registers = 1 << 0 | 1 << 7 | 1 << 8;
	const uint64_t chain[] = {(uint64_t)-128, 0xffffffff81001000};
	struct bytes_buf records = {0}, body, empty = {0};
	forged_perf_mmap(&records, 10, 0x400000, 0x2000, 0, "/bin/program", 100);
	body = forged_perf_sample(10, 200, 2, chain, 2);
	bytes_put_u64(&body, 2); /* 64 bits */
	bytes_put_u64(&body, 77);
	bytes_put_u64(&body, 0x7ffe0000);
	bytes_put_u64(&body, 0x401010);
	bytes_put_u64(&body, 16);
	bytes_put_u64(&body, 0x1111);
	bytes_put_u64(&body, 0x2222);
	bytes_put_u64(&body, 8); /* of which so many were filled */
	forged_perf_record(&records, 9, FORGED_PERF_USER, &body);
	/* As a pipe has it: the event and the machine are records, too. */
	struct bytes_buf file = {0};
	bytes_put(&file, PERF_MAGIC, PERF_MAGIC_BYTES);
	bytes_put_u64(&file, 16);
	body = empty;
	forged_perf_put_attr(&body, &event);
	bytes_put_u64(&body, 70);
	forged_perf_record(&file, 64, 0, &body);
	body = empty;
	bytes_put_u64(&body, 6);
	bytes_put_u32(&body, 8);
	bytes_put(&body, "x86_64\0", 8);
	forged_perf_record(&file, 80, 0, &body);
	bytes_put(&file, records.data, records.len);
	CLEANUP(import_seen_deinit) struct import_seen seen = {0};
	CHECK_OK(import_see(file.data, file.len, NULL, &seen));
	CHECK_INT(seen.snapshots.len, 2);
	const struct layout_snapshot *snapshot = &seen.snapshots.data[1];
	CHECK_INT(snapshot->known, 1 << 0 | 1 << 7 | 1 << 16);
	CHECK_INT(snapshot->registers[0], 77);
	CHECK_INT(snapshot->registers[16], 0x401010);
	CHECK_INT(snapshot->stack_address, 0x7ffe0000);
	CHECK_INT(snapshot->stack_bytes, 8);
	CHECK_INT(seen.samples.data[0].snapshot, 1);
	CHECK_STR(import_seen_stack(&seen, seen.samples.data[0].kernel_stack),
		"[kernel.kallsyms]+0xffffffff81001000");
	bytes_buf_deinit(&records);
	bytes_buf_deinit(&file);
}

/* --call-graph lbr: the callers stand where the CPU noted calls, which need no correction. */
TEST(perf_calls_that_the_cpu_noted_are_callers)
{
	struct forged_perf_event event = cpu_clock;
	event.sample_type |= PERF_HAS_BRANCHES;
	event.branch_type = 1 << 11;
	const uint64_t chain[] = {(uint64_t)-512, 0x401010};
	struct bytes_buf records = {0};
	forged_perf_mmap(&records, 10, 0x400000, 0x2000, 0, "/bin/program", 100);
	struct bytes_buf body = forged_perf_sample(10, 200, 2, chain, 2);
	bytes_put_u64(&body, 2);
	const uint64_t branches[] = {0x401105, 0x401000, 0, 0x401205, 0x401100, 0};
	for (size_t i = 0; i < 6; i++)
		bytes_put_u64(&body, branches[i]);
	forged_perf_record(&records, 9, FORGED_PERF_USER, &body);
	struct bytes_buf file = forged_perf_file(&event, &records, &no_ids);
	CLEANUP(import_seen_deinit) struct import_seen seen = {0};
	CHECK_OK(import_see(file.data, file.len, NULL, &seen));
	CHECK_STR(import_seen_stack(&seen, seen.samples.data[0].user_stack),
		"/bin/program+0x1010 /bin/program+0x1105 /bin/program+0x1205");
	bytes_buf_deinit(&records);
	bytes_buf_deinit(&file);
}

/* What frame pointers lead to may be no code: a register that was put to another use. */
TEST(perf_chains_of_frame_pointers_are_guesses_and_end_where_no_code_is)
{
	const uint64_t chain[] = {
		(uint64_t)-512, 0x401010, 0x7f0000001000, 0x401105, 0x0f0e0d0c0b0a0908};
	struct bytes_buf records = {0};
	forged_perf_mmap(&records, 10, 0x400000, 0x2000, 0, "/bin/program", 100);
	struct bytes_buf body = forged_perf_sample(10, 200, 2, chain, 5);
	forged_perf_record(&records, 9, FORGED_PERF_USER, &body);
	CLEANUP(import_seen_deinit) struct import_seen seen = see_perf(&records, &no_ids);
	uint32_t node = seen.samples.data[0].user_stack, flags[3] = {0};
	CHECK_STR(import_seen_stack(&seen, node),
		"/bin/program+0x1010 [unknown]+0x7f0000000fff /bin/program+0x1104 cut+0xc");
	for (int i = 0; node && i < 3; i++, node = seen.nodes.data[node].parent)
		flags[i] = seen.frames.data[seen.nodes.data[node].frame].flags;
	CHECK_INT(flags[0], 0);
	CHECK_INT(flags[2], LAYOUT_FRAME_GUESSED);
}

/* Asked for a chain, and without a frame pointer to begin with: it is no complete stack. */
TEST(perf_chains_without_any_caller_are_cut)
{
	const uint64_t chain[] = {(uint64_t)-512, 0x401010};
	struct bytes_buf records = {0};
	forged_perf_mmap(&records, 10, 0x400000, 0x2000, 0, "/bin/program", 100);
	struct bytes_buf body = forged_perf_sample(10, 200, 2, chain, 2);
	forged_perf_record(&records, 9, FORGED_PERF_USER, &body);
	CLEANUP(import_seen_deinit) struct import_seen seen = see_perf(&records, &no_ids);
	CHECK_STR(import_seen_stack(&seen, seen.samples.data[0].user_stack),
		"/bin/program+0x1010 cut+0x2");
}

TEST(perf_losses_and_foreign_byte_orders_are_said)
{
	struct bytes_buf records = forged_perf_records(), body = {0};
	bytes_put_u64(&body, 70);
	bytes_put_u64(&body, 41);
	forged_perf_put_ids(&body, 10, 700);
	forged_perf_record(&records, 2, 0, &body);
	bytes_put_u64(&body, 1); /* too short for a sample */
	forged_perf_record(&records, 9, FORGED_PERF_USER, &body);
	CLEANUP(import_seen_deinit) struct import_seen seen = see_perf(&records, &no_ids);
	CHECK_INT(seen.lost, 41);
	CHECK(strstr(str_text(&seen.result.notes), "1 record is shorter than"));
	CHECK_ERR(import_see("2ELIFREP", 8, NULL, &seen), ERR_UNSUPPORTED, "big-endian");
}

TEST(perf_event_names_lose_what_does_not_tell_what_is_counted)
{
	const struct {
		struct perf_event event;
		const char *name;
	} rows[] = {
		{{.type = 1, .name = (char *)"cpu-clock:pppH"}, "cpu-clock"},
		{{.type = 0, .name = (char *)"cycles:u"}, "cycles:u"},
		{{.type = 2, .name = (char *)"sched:P"}, "sched:P"},
		{{.type = 0, .config = 1}, "instructions"},
		{{.type = 4, .config = 0x3c}, "event 4:0x3c"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(str_deinit) struct str name = {0};
		perf_header_put_name(&rows[i].event, &name);
		CHECK_STR(str_text(&name), rows[i].name);
	}
}

TEST(perf_space_newest_mapping_of_an_address_holds)
{
	struct perf_space *space = perf_space_create();
	perf_space_map(&space, &(struct perf_mapping){0x1000, 0x5000, 0, 1});
	struct perf_space *other = perf_space_share(space);
	CHECK_INT(perf_space_map(&other, &(struct perf_mapping){0x2000, 0x3000, 0x70, 2}), 3);
	const struct perf_mapping *tail = perf_space_find(other, 0x3008);
	CHECK_INT(tail->object, 1);
	CHECK_INT(tail->start, 0x3000);
	CHECK_INT(tail->offset, 0x2000);
	CHECK_INT(perf_space_find(other, 0x2008)->object, 2);
	CHECK_INT(perf_space_find(other, 0x1008)->end, 0x2000);
	CHECK_INT(perf_space_find(space, 0x2008)->object, 1);
	CHECK(!perf_space_find(space, 0x5000) && !perf_space_find(space, 0xfff));
	perf_space_release(space);
	perf_space_release(other);
}

#if __has_include(<zstd.h>)

#include <zstd.h>

/* Behind "--" is the command; what stands in front of it may be the value of an option. */
TEST(perf_command_line_says_what_was_profiled)
{
	static const struct {
		const char *words, *command;
		bool is_of_system;
	} rows[] = {
		{"perf record -- ls -a", "ls", false},
		{"perf record -a -- sleep 3", "sleep", true},
		{"perf record -F 99 -ag sleep 3", NULL, true},
		{"perf record -g -o -a ls", NULL, true},
		{"perf record --call-graph=dwarf --all-cpus sleep 3", NULL, true},
		{"perf record -g ls -a", NULL, false},
		{"perf record --call-graph dwarf ls -a", NULL, false},
		{"perf record -F 99 ls -a", NULL, false},
		{"perf -a", NULL, false},
		{"", NULL, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct perf_header header = {0};
		struct bytes_buf bytes = {0}, words = {0};
		uint32_t count = 0;
		for (const char *at = rows[i].words; *at; count++) {
			size_t len = strcspn(at, " ");
			bytes_put_u32(&words, (uint32_t)len + 1);
			bytes_put(&words, at, len);
			bytes_put_u8(&words, 0);
			at += len + strspn(at + len, " ");
		}
		bytes_put_u32(&bytes, count);
		bytes_put(&bytes, words.data, words.len);
		perf_header_add_feature(&header, 11, bytes.data, bytes.len);
		if (header.is_of_system != rows[i].is_of_system ||
			!header.command != !rows[i].command ||
			(header.command && strcmp(header.command, rows[i].command) != 0))
			unit_fail(__FILE__, __LINE__, "%s", rows[i].words);
		perf_header_deinit(&header);
		bytes_buf_deinit(&bytes);
		bytes_buf_deinit(&words);
	}
}

TEST(perf_compressed_records_are_unpacked)
{
	struct bytes_buf records = forged_perf_records(), body = {0}, outer = {0};
	size_t room = ZSTD_compressBound(records.len);
	vec_resize(&body, room);
	body.len = ZSTD_compress(body.data, room, records.data, records.len, 1);
	CHECK(!ZSTD_isError(body.len));
	forged_perf_record(&outer, 81, 0, &body);
	CLEANUP(import_seen_deinit) struct import_seen seen = see_perf(&outer, &no_ids);
	CHECK_INT(seen.samples.len, 3);
	bytes_buf_deinit(&records);

	struct bytes_buf out = {0};
	struct zstd_stream *stream = NULL;
	CHECK_ERR(zstd_stream_unpack(&stream, (const uint8_t *)"nothing", 7, 1000, &out),
		ERR_FORMAT, "damaged");
	zstd_stream_destroy(stream);
	bytes_buf_deinit(&out);
}

#endif
