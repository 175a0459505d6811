/* What is said of BPF programs that the kernel refuses. */
#include "record/host/feature.h"
#include "tests/unit/unit.h"

static void check_refusal(const char *log, const char *wanted)
{
	CLEANUP(str_deinit) struct str said = {0};
	feature_put_refusal(&said, log);
	CHECK_STR(str_text(&said), wanted);
}

/* As libbpf 1.1 prints what Linux 5.10 says. */
TEST(the_verifiers_reason_is_found)
{
	check_refusal("libbpf: prog 'on_tick': -- BEGIN PROG LOAD LOG --\n"
		      "0: (85) call pc+6\n"
		      "7: (85) call bpf_tail_call#12\n"
		      "tail_calls are not allowed in non-JITed programs with bpf-to-bpf calls\n"
		      "processed 8 insns (limit 1000000) max_states_per_insn 0\n"
		      "-- END PROG LOAD LOG --\n",
		"on_tick, \"tail_calls are not allowed in non-JITed programs with bpf-to-bpf "
		"calls\"");
	check_refusal("prog 'a': -- BEGIN PROG LOAD LOG --\nlast line\nprocessed 1 insns\n",
		"a, \"last line\"");
}

TEST(a_log_without_a_reason_is_none)
{
	check_refusal("", "");
	check_refusal("prog 'a': -- BEGIN PROG LOAD LOG --\n-- END PROG LOAD LOG --\n", "");
}
