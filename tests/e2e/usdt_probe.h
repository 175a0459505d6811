/* The note that <sys/sdt.h> of SystemTap makes; written out, so that its package is not needed. */
#ifndef EBPROF_USDT_PROBE_H
#define EBPROF_USDT_PROBE_H

/* All of them strings; what follows are input operands, which the arguments may name. */
#define USDT_PROBE(provider, name, semaphore, arguments, ...) \
	__asm__ volatile("990:	nop\n" \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n" \
			 ".balign 4\n" \
			 ".4byte 992f - 991f, 994f - 993f, 3\n" \
			 "991:	.asciz \"stapsdt\"\n" \
			 "992:	.balign 4\n" \
			 "993:	.8byte 990b, _.stapsdt.base, " semaphore "\n" \
			 ".asciz \"" provider "\"\n" \
			 ".asciz \"" name "\"\n" \
			 ".asciz \"" arguments "\"\n" \
			 "994:	.balign 4\n" \
			 ".popsection\n" \
			 ".ifndef _.stapsdt.base\n" \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 ".weak _.stapsdt.base\n" \
			 ".hidden _.stapsdt.base\n" \
			 "_.stapsdt.base: .space 1\n" \
			 ".size _.stapsdt.base, 1\n" \
			 ".popsection\n" \
			 ".endif\n" ::__VA_ARGS__ \
			 : "memory")

#endif
