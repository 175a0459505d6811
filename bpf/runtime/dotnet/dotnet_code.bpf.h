/* The walk at hand, for dotnet_code.h. */
#ifndef EBPROF_DOTNET_CODE_BPF_H
#define EBPROF_DOTNET_CODE_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/runtime_walk.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

#define DOTNET_HOOK     static __always_inline
#define DOTNET_FUNCTION __noinline
#include "bpf/runtime/dotnet/dotnet_code.h"

_Static_assert(sizeof(struct dotnet_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct dotnet_walk *dotnet_walk(const struct runtime_walk *runtime)
{
	return (struct dotnet_walk *)runtime->words;
}

static __always_inline const struct dotnet_row *dotnet_row(const struct runtime_walk *runtime)
{
	return (const struct dotnet_row *)runtime->row.words;
}

static __always_inline struct dotnet_walk *dotnet_at_hand(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	return scratch ? dotnet_walk(&scratch->walk.runtime) : 0;
}

static __always_inline unsigned long long dotnet_table(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	return dotnet_row(&scratch->walk.runtime)->dac_table - scratch->walk.runtime.delta;
}

static __always_inline _Bool dotnet_has_map_links(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	return scratch && dotnet_row(&scratch->walk.runtime)->has_map_links;
}

static __always_inline long dotnet_read(void *to, unsigned int bytes, unsigned long long address)
{
	return bpf_probe_read_user(to, bytes, (const void *)address);
}

#endif
