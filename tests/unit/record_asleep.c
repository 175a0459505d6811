/* The program that walks tasks that sleep: loaded beside the maps of the others, it goes over all.
 */
#include "record/source/asleep.h"

#include <unistd.h>

#include "bpf/event.h"
/* Behind what it knows of. */
#include "bpf/sample.skel.h"
#include "format/base/mem.h"
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

TEST(asleep_goes_over_all_tasks)
{
	struct sample_bpf *bpf = load_maps();
	struct asleep *asleep = NULL;
	struct err *err = asleep_create(bpf, 0, &asleep);
	if (err && err_code(err) == ERR_UNSUPPORTED)
		unit_skip(err_message(err));
	CHECK_OK(err);
	CHECK_INT(asleep_runtimes(asleep), 0);
	CLEANUP_FD int tasks = asleep_begin(asleep, true);
	CHECK(tasks >= 0);
	char bytes[64];
	ssize_t len;
	while ((len = read(tasks, bytes, sizeof(bytes))) > 0)
		;
	CHECK_INT(len, 0);
	CHECK_INT(asleep_end(asleep), 0); /* no waits are recorded */
	asleep_destroy(asleep);
	sample_bpf__destroy(bpf);
}
