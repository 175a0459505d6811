/*
 * What the kernel measures (kernel.bpf_stats_enabled) of a program that does nothing at each switch
 * of tasks, in ns a run, over a second: that much of what it says of others is its own.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	int program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "empty", "GPL", nothing,
		sizeof(nothing) / sizeof(*nothing), NULL);
	if (program < 0 || bpf_raw_tracepoint_open("sched_switch", program) < 0) {
		perror("empty_program");
		return 1;
	}
	sleep(1);
	if (bpf_obj_get_info_by_fd(program, &info, &bytes) || !info.run_cnt)
		return 1;
	printf("%.0f\n", (double)info.run_time_ns / (double)info.run_cnt);
	return 0;
}
