/* What the BPF programs have to know of a file with .NET's CoreCLR in it. */
#ifndef EBPROF_DOTNET_ROW_H
#define EBPROF_DOTNET_ROW_H

#include "bpf/runtime/runtime_row.h"

struct dotnet_row {
	/* Address of g_dacTable, by what the mapping's delta is taken from: what debuggers find
	 * their way by. Its first word leads to the map of the code that there is. */
	unsigned int dac_table;
	unsigned char version;       /* the major one */
	unsigned char has_map_links; /* words of maps of code may lead to where code begins */
	unsigned char zero[2];
};

/* Where the recorder finds the name and the lines of code: sent in place of lines. */
struct dotnet_code {
	unsigned long long start;  /* of the code */
	unsigned long long header; /* what stands ahead of it: of a method, where its header is */
	unsigned long long method; /* its MethodDesc; of DOTNET_READY its Module; 0: it is a stub */
	unsigned long long section; /* where the section begins that it lies in */
	struct dotnet_row row;
};

enum dotnet_stub {
	/* As they stand ahead of code: enum StubCodeBlockKind of src/coreclr/vm/codeman.h. */
	DOTNET_STUB_KINDS = 16, /* what is below is a kind, else it is a header's address */
	/* Others: */
	DOTNET_READY = 14,       /* none: a function of an image, compiled ahead of time */
	DOTNET_STUB_PRECODE = 0, /* in a range of stubs alone */
	DOTNET_STUB_HELPER = 15, /* in no known range */
};

static inline _Bool dotnet_is_stub(unsigned long long header)
{
	return header < DOTNET_STUB_KINDS && header != DOTNET_READY;
}

_Static_assert(sizeof(struct dotnet_code) <= RUNTIME_MAX_GIVEN_BYTES, "it is sent whole");
_Static_assert(sizeof(struct dotnet_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
