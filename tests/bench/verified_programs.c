/*
 * What the verifier looked at: the sum over BPF programs that were loaded lately, in instructions.
 *   verified_programs          the number of the last program
 *   verified_programs NUMBER   "SUM LARGEST", of those behind that number that have a name
 * Not below Linux 5.16, whose struct bpf_prog_info does not have it.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	uint32_t behind = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0, id = behind;
	unsigned long sum = 0, largest = 0;
	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && info.name[0]) {
			sum += info.verified_insns;
			largest = info.verified_insns > largest ? info.verified_insns : largest;
		}
		if (fd >= 0)
			close(fd);
	}
	if (argc > 1)
		printf("%lu %lu\n", sum, largest);
	else
		printf("%u\n", id);
	return 0;
}
