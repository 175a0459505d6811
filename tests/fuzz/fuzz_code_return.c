/*
 * Any bytes as code without rules that is read to its return: the reader takes bounded steps, asks
 * for nothing but code, and the rule of the frame it was asked for comes last and can be followed.
 * So can those that are read from where a call leads, or a function begins.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/machine/machine.h"
#include "format/unwind/unwind_step.h"
#include "tests/unit/code_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	ADDRESS = CODE_BYTES_ADDRESS,
	MAX_CALLS = 64,
	MAX_CALLS_READ = 12, /* one takes up to 3,000 steps */
	MAX_RULES = 3000,
};

struct code {
	struct code_bytes bytes;
	const struct machine *machine;
	unsigned rejects; /* bit n: the return that comes n-th is turned down */
	unsigned seen, nr_rules;
	uint64_t last;
};

static long read_word(void *context, unsigned long long address, unsigned long long *value)
{
	(void)context;
	*value = address;
	return address & 4;
}

static void follow(const struct code *code, const struct unwind_rule *rule)
{
	struct unwind_registers regs = {.ip = ADDRESS, .known = ~0ULL};
	_Bool is_outermost;
	if (rule->cfa != UNWIND_CFA_REGISTER && rule->cfa != UNWIND_CFA_DEREF)
		abort();
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
		regs.reg[i] = 0x7000 + 64 * i;
	unwind_step(code->machine->unwind, &regs, rule, read_word, NULL, &is_outermost);
}

static bool accept_return(void *context, const struct unwind_rule *rule, bool is_jump)
{
	struct code *code = context;
	(void)is_jump;
	follow(code, rule);
	unsigned number = code->seen++;
	return !(code->rejects >> (number < 31 ? number : 31) & 1);
}

static void on_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct code *code = context;
	follow(code, rule);
	code->last = address;
	if (++code->nr_rules > MAX_RULES)
		abort();
}

/* The rule of an address by the call that ends at one of the first bytes, and by how it begins. */
static void fuzz_find_from(
	struct code *code, const struct machine_code *machine_code, uint64_t address)
{
	struct unwind_rule rule;
	for (uint64_t at = 5; at < code->bytes.len && at < MAX_CALLS_READ; at++)
		if (code->machine->find_from_call(machine_code, ADDRESS + at, address, &rule))
			follow(code, &rule);
	if (code->machine->find_from_begin &&
		code->machine->find_from_begin(machine_code, address, &rule))
		follow(code, &rule);
	if (code->machine->keeps_own_stack)
		code->machine->keeps_own_stack(machine_code, address);
}

static void fuzz_machine(const struct machine *machine, struct code code)
{
	code.machine = machine;
	const struct machine_code machine_code = {.read = code_bytes_read,
		.accepts = accept_return,
		.on_rule = on_rule,
		.context = &code};
	bool is_found = machine->find_return(&machine_code, ADDRESS);
	if (is_found != (code.nr_rules != 0) || (is_found && code.last != ADDRESS))
		abort();
	if (code.bytes.len && machine->function_length)
		machine->function_length(code.bytes.data, code.bytes.len);
	for (uint64_t at = 5; at < code.bytes.len && at < MAX_CALLS; at++)
		machine->may_have_called(
			&machine_code, ADDRESS + at, ADDRESS + code.rejects % code.bytes.len);
	if (code.bytes.len)
		fuzz_find_from(&code, &machine_code, ADDRESS + code.rejects % code.bytes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct code code = {0};
	if (len < sizeof(code.rejects))
		return 0;
	memcpy(&code.rejects, bytes, sizeof(code.rejects));
	code.bytes = (struct code_bytes){bytes + sizeof(code.rejects), len - sizeof(code.rejects)};
	fuzz_machine(&machine_x86_64, code);
	fuzz_machine(&machine_arm64, code);
	return 0;
}
