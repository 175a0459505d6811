/*
 * Stands for libbpf's header of this name where BPF programs are compiled for
 * user space: the same macros and helpers, with the emulated kernel of
 * tests/unit/emulate/kernel.c behind them.
 */
#ifndef EBPROF_EMULATE_BPF_HELPERS_H
#define EBPROF_EMULATE_BPF_HELPERS_H

#define SEC(name)

/* What a map is, said by types alone: program.c reads it with sizeof. */
#define __uint(name, value) int(*name)[value]
#define __type(name, type)  __typeof__(type) *name
#define __array(name, type) __typeof__(type) *name[]

#undef __always_inline /* glibc has one as well */
#define __always_inline inline __attribute__((always_inline))
#define __noinline      __attribute__((noinline))

/* libbpf has functions of these names, for the other side. */
#define bpf_map_lookup_elem emulate_map_lookup
#define bpf_map_update_elem emulate_map_update
#define bpf_map_delete_elem emulate_map_delete

void *bpf_map_lookup_elem(const void *name, const void *key);
long bpf_map_update_elem(
	const void *name, const void *key, const void *value, unsigned long long flags);
long bpf_map_delete_elem(const void *name, const void *key);

long bpf_probe_read_user(void *to, unsigned int bytes, const void *from);
struct task_struct;
long bpf_copy_from_user_task(void *to, unsigned int bytes, const void *from,
	struct task_struct *task, unsigned long long flags);
long bpf_probe_read_user_str(void *to, unsigned int bytes, const void *from);
long bpf_probe_read_kernel(void *to, unsigned int bytes, const void *from);
long bpf_probe_read_kernel_str(void *to, unsigned int bytes, const void *from);

long bpf_ringbuf_output(
	void *map, void *record, unsigned long long bytes, unsigned long long flags);
void *bpf_ringbuf_reserve(void *map, unsigned long long bytes, unsigned long long flags);
void bpf_ringbuf_submit(void *bytes, unsigned long long flags);
void bpf_ringbuf_discard(void *bytes, unsigned long long flags);
unsigned long long bpf_ringbuf_query(void *map, unsigned long long what);

unsigned int bpf_get_smp_processor_id(void);
unsigned long long bpf_get_current_pid_tgid(void);
unsigned long long bpf_get_current_uid_gid(void);
unsigned long long bpf_get_current_task(void);
struct task_struct *bpf_get_current_task_btf(void);
long bpf_task_pt_regs(struct task_struct *task);
unsigned long long bpf_get_attach_cookie(void *context);
long bpf_get_current_comm(void *to, unsigned int bytes);
unsigned long long bpf_ktime_get_ns(void);
unsigned long long bpf_ktime_get_boot_ns(void);
unsigned int bpf_get_prandom_u32(void);
long bpf_perf_event_read_value(void *map, unsigned long long flags, void *to, unsigned int bytes);
long bpf_perf_event_output(
	void *context, void *map, unsigned long long flags, void *data, unsigned long long bytes);
struct seq_file;
long bpf_seq_write(struct seq_file *file, const void *bytes, unsigned int nr_bytes);
long bpf_get_task_stack(
	struct task_struct *task, void *to, unsigned int bytes, unsigned long long flags);
long bpf_get_stack(void *context, void *to, unsigned int bytes, unsigned long long flags);
long bpf_loop(unsigned int count, long (*body)(unsigned int, void *), void *context,
	unsigned long long flags);

/* Not 0: the program ran and ended in place of its caller. */
int emulate_tail_call(void *context, const void *programs, unsigned int index);
#define bpf_tail_call(context, programs, index) \
	do { \
		if (emulate_tail_call(context, programs, index)) \
			return 0; \
	} while (0)

#endif
