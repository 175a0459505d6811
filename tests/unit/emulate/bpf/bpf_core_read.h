/*
 * Stands for libbpf's header of this name where BPF programs are compiled for
 * user space. The emulated kernel's types are those of kernel_types.bpf.h with
 * all their flavours one behind the other (flavours.bpf.h), and which fields it
 * has is what its release says.
 */
#ifndef EBPROF_EMULATE_BPF_CORE_READ_H
#define EBPROF_EMULATE_BPF_CORE_READ_H

#include <stddef.h>

#include <bpf/bpf_helpers.h>

_Bool emulate_has_field(const char *field);
_Bool emulate_has_helper(const char *helper);

/* Texts like "mm_6_4->mm_lock_seq", "BPF_FUNC_task_pt_regs___ours". */
#define bpf_core_field_exists(field)            emulate_has_field(#field)
#define bpf_core_enum_value_exists(type, value) emulate_has_helper(#value)

#define bpf_core_enum_value(type, value) (value)

#define bpf_core_field_offset(type, field) (FLAVOUR_OFFSET((type *)0) + offsetof(type, field))

#define bpf_core_type_size(type) sizeof(type)

#define bpf_core_read(to, bytes, from) bpf_probe_read_kernel(to, bytes, from)

/* Without forming the member's address by C's rules: pointers may be garbage. */
#define EMULATE_READ_1(from, a) \
	({ \
		__typeof__((from)->a) read_; \
		bpf_probe_read_kernel(&read_, sizeof(__typeof__((from)->a)), \
			(const void *)((unsigned long)(from) + FLAVOUR_OFFSET(from) + \
				       offsetof(__typeof__(*(from)), a))); \
		read_; \
	})
#define EMULATE_READ_2(from, a, b) \
	({ \
		__typeof__((from)->a) next_ = EMULATE_READ_1(from, a); \
		EMULATE_READ_1(next_, b); \
	})
#define EMULATE_THIRD(a, b, c, ...) c
#define BPF_CORE_READ(from, ...) \
	EMULATE_THIRD(__VA_ARGS__, EMULATE_READ_2, EMULATE_READ_1, 0)(from, __VA_ARGS__)

#endif
