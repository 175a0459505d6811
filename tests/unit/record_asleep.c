/* The program that walks tasks that sleep: loaded beside the maps of the others, it goes over all.
 */
#include "record/source/asleep.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bpf/event.h"
#include "bpf/runtime/runtime_row.h"
/* Behind what it knows of. */
#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "record/source/asleep_search.h"
#include "tests/unit/unit.h"

/* The maps alone, of some size where the recorder says which. */
static struct sample_bpf *load_maps(void)
{
	struct sample_bpf *bpf = sample_bpf__open();
	struct bpf_program *program = NULL;
	struct bpf_map *map = NULL;
	if (!bpf)
		unit_skip("the BPF programs cannot be opened here");
	while ((program = bpf_object__next_program(bpf->obj, program)))
		bpf_program__set_autoload(program, false);
	while ((map = bpf_object__next_map(bpf->obj, map)))
		if (!bpf_map__max_entries(map))
			bpf_map__set_max_entries(map, 1 << 16);
	bpf->rodata->config.page_shift =
		(uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	if (sample_bpf__load(bpf)) {
		sample_bpf__destroy(bpf);
		unit_skip("BPF maps cannot be made here");
	}
	return bpf;
}

static struct asleep *load_asleep(const struct sample_bpf *bpf, uint32_t runtimes)
{
	struct asleep *asleep = NULL;
	struct err *err = asleep_create(bpf, runtimes, &asleep);
	if (err && err_code(err) == ERR_UNSUPPORTED)
		unit_skip(err_message(err));
	CHECK_OK(err);
	CHECK_INT(asleep_runtimes(asleep), runtimes);
	return asleep;
}

static uint32_t last_program(void)
{
	uint32_t id = 0;
	while (!bpf_prog_get_next_id(id, &id))
		;
	return id;
}

struct verified_walks {
	unsigned count,
		most; /* programs that walk, and the instructions looked at in one of them */
};

/* Of those behind this number. */
static struct verified_walks count_walks(uint32_t id)
{
	struct verified_walks walks = {0, 0};
	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);
		CLEANUP_FD int fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ||
			strncmp(info.name, "continue_sleeper", BPF_OBJ_NAME_LEN - 1) != 0)
			continue;
		walks.count++;
		walks.most = info.verified_insns > walks.most ? info.verified_insns : walks.most;
	}
	return walks;
}

TEST(asleep_has_a_program_for_each_group_of_runtimes)
{
	enum {
		MOST_VERIFIED = 100000, /* what is promised; not told before Linux 5.16 */
	};
	struct sample_bpf *bpf = load_maps();
	uint32_t before = last_program();
	struct asleep *asleep = load_asleep(bpf, ~0U);
	struct verified_walks walks = count_walks(before);
	CHECK(walks.count >= RUNTIME_GROUPS); /* others may load some meanwhile */
	CHECK(walks.most <= MOST_VERIFIED);
	asleep_destroy(asleep);
	sample_bpf__destroy(bpf);
}

TEST(asleep_goes_over_all_tasks)
{
	struct sample_bpf *bpf = load_maps();
	struct asleep *asleep = load_asleep(bpf, 0);
	CLEANUP_FD int tasks = asleep_begin(asleep, true);
	CHECK(tasks >= 0);
	char bytes[64];
	ssize_t len;
	while ((len = read(tasks, bytes, sizeof(bytes))) > 0)
		;
	CHECK_INT(len, 0);
	CHECK_INT(asleep_end(asleep, true), 0); /* no waits are recorded */
	asleep_destroy(asleep);
	sample_bpf__destroy(bpf);
}

static void check_lacking(const struct asleep_search *search, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	asleep_search_put_lacking(search, &text);
	CHECK_STR(str_text(&text), want);
}

/* What was refused once is not tried again; the others are walked. */
TEST(asleep_search_leaves_out_what_the_kernel_refused)
{
	uint32_t all = 1U << RUNTIME_PYTHON | 1U << RUNTIME_RUBY;
	struct sample_bpf *bpf = load_maps();
	bpf->bss->row_kinds = all;
	struct asleep_search search = {.bpf = bpf, .runtimes = &all};
	check_lacking(&search, "");
	search.refused = 1U << RUNTIME_RUBY | 1U << RUNTIME_ERLANG;
	check_lacking(&search,
		"threads that waited when the recording ended are shown without functions of "
		"scripts of these runtimes: ruby, erlang; this kernel refuses the program that "
		"reads them");
	asleep_search_renew(&search);
	if (!search.asleep)
		unit_skip("the programs for tasks that sleep cannot be loaded here");
	CHECK_INT(asleep_runtimes(search.asleep), 1U << RUNTIME_PYTHON);
	const struct asleep *asleep = search.asleep;
	asleep_search_renew(&search);
	CHECK(search.asleep == asleep);
	asleep_search_deinit(&search);
	sample_bpf__destroy(bpf);
}

/* What has to do with something else than the programs is no refusal, and is not tried again. */
TEST(asleep_search_says_why_it_failed)
{
	uint32_t all = 1U << RUNTIME_PYTHON;
	struct rlimit limit, none;
	struct sample_bpf *bpf = load_maps();
	bpf->bss->row_kinds = all;
	struct asleep_search search = {.bpf = bpf, .runtimes = &all};
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 3;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	asleep_search_renew(&search);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(!search.asleep && search.has_failed);
	CHECK_INT(search.refused, 0);
	asleep_search_renew(&search);
	CHECK(!search.asleep);
	CLEANUP(str_deinit) struct str text = {0};
	asleep_search_put_lacking(&search, &text);
	CHECK(strstr(str_text(&text), "functions of scripts: ") != NULL);
	asleep_search_deinit(&search);
	sample_bpf__destroy(bpf);
}
