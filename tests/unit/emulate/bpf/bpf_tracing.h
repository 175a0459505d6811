/*
 * Stands for libbpf's header of this name where BPF programs are compiled for
 * user space: there a tracing program's arguments are plain arguments.
 */
#ifndef EBPROF_EMULATE_BPF_TRACING_H
#define EBPROF_EMULATE_BPF_TRACING_H

#define BPF_PROG(name, ...) name(__VA_ARGS__)

#endif
