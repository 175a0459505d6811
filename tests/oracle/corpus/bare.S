	// A unit without functions: nothing but lines.
	.text
	.globl bare_code
	.type bare_code, %function
bare_code:
	nop
	nop
#ifdef __x86_64__
	xor %eax, %eax
#endif
	ret
	.size bare_code, . - bare_code
	.section .note.GNU-stack, "", %progbits
