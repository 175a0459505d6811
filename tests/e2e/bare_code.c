/*
 * Code made at run time that has no rules, with a chain of callers that is known:
 *   main, calls, (code of no file), spin_small or spin_large
 * The code keeps another frame each time it is written anew at the same address, uses the frame
 * pointer as a register of its own, and calls one of the two functions.
 *
 * usage: bare_code SECONDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "spin_functions.h"

/* push %rbp; mov $-8,%rbp; sub $bytes,%rsp; call *%rdi; add $bytes,%rsp; pop %rbp; ret */
static void write_code(uint8_t *code, uint32_t bytes)
{
	static const uint8_t begin[] = {
		0x55, 0x48, 0xc7, 0xc5, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x81, 0xec};
	static const uint8_t middle[] = {0xff, 0xd7, 0x48, 0x81, 0xc4};
	static const uint8_t end[] = {0x5d, 0xc3};
	memcpy(code, begin, sizeof(begin));
	code += sizeof(begin);
	memcpy(code, &bytes, sizeof(bytes));
	code += sizeof(bytes);
	memcpy(code, middle, sizeof(middle));
	code += sizeof(middle);
	memcpy(code, &bytes, sizeof(bytes));
	memcpy(code + sizeof(bytes), end, sizeof(end));
}

__attribute__((noinline)) void calls(void (*code)(void (*)(void)), void (*spin_it)(void))
{
	code(spin_it);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double until = cpu_seconds() + (argc > 1 ? atof(argv[1]) : 1);
	uint8_t *code = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	void (*function)(void (*)(void));
	memcpy(&function, &code, sizeof(function));
	while (cpu_seconds() < until) {
		write_code(code, 16);
		for (int i = 0; i < 500; i++)
			calls(function, spin_small);
		write_code(code, 4096 - 16);
		for (int i = 0; i < 500; i++)
			calls(function, spin_large);
	}
	return 0;
}
