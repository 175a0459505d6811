/*
 * libiberty does the work; what is here keeps it in bounds.
 *
 * Output. Its C++ demangler prints through a callback that cannot refuse, and
 * goes on printing for hours where a name says so. The callback leaves it by
 * longjmp() instead, which is sound when the frames it drops own nothing. In
 * libiberty of binutils 2.40 (2023-01) that holds for cp-demangle.c: its
 * components, substitutions and scopes are in arrays on the stack or in a block
 * of ours; malloc and free occur only in the variants that return a string.
 *
 * Stack. The arrays and the recursion grow with the name. libiberty refuses
 * C++ names of more than 1,024 bytes for that, which templates exceed in
 * earnest; without its limit (DMGL_NO_RECURSE_LIMIT) we must have the room. Its
 * printer in addition takes (templates x references) entries. The need is
 * bounded from the text; up to STACK_DIRECT the caller's stack is used, up to
 * STACK_MAX a thread with a stack of that size, and above the name stays mangled.
 *
 * Time without output. In three places libiberty tries something, goes back and
 * reads the same part again, which nested n levels deep takes 2^n:
 * - C++, T_I... in the type of a conversion operator: whose arguments are they?
 *   84 bytes take 11 ms, and 4 more bytes twice as long. See conversions().
 * - C++, a pack expansion: the pack is sought in a tree in which every
 *   substitution is a branch of its own. 180 bytes take 0.9 s. See packs_are_cheap().
 * - D, what may be a function's type behind a name, and the length of a symbol
 *   among template arguments. 92 bytes take 3 s. See d_forks().
 * D has no callback either: dlang_demangle() returns a string. A back reference
 * makes it parse an earlier part again, so the steps it may take are counted first.
 */
#include "report/name/demangle/demangle_libiberty.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"

enum {
	STACK_DIRECT = 2 << 20, /* of the 8 MiB that threads have */
	STACK_MAX = 128 << 20,
	STACK_BASE = 512 << 10, /* printing stops at 1,024 levels of some 400 bytes */
	/*
	 * A byte of a C++ name costs two components of 32 bytes, a substitution of 8,
	 * and recursion: 145 bytes measured in the worst case (FFFF...).
	 */
	CPLUS_BYTES_PER_CHAR = 512,
	CPLUS_BYTES_PER_SCOPE = 64,
	CPLUS_CONVERSIONS_MAX = 8, /* 2^8 times the same few bytes */
	CPLUS_PACK_STEPS_MAX = 4096,
	CPLUS_COMPONENTS_PER_CHAR = 2, /* as libiberty counts on */
	D_BYTES_PER_STEP = 512,        /* 320 measured (also FFFF...) */
	D_STEPS_MAX = 32 << 10,
	D_FORKS_MAX = 16,
	D_INPUT_MAX = 8 << 10, /* it copies what it has at every level: quadratic */
};

/* One name being demangled. */
struct job {
	const char *mangled;
	struct demangle_sink *sink;
	bool (*run)(struct job *job);
	bool ok;
	jmp_buf abort;
};

/* ---- stack ---- */

static void *run_in_thread(void *opaque)
{
	struct job *job = opaque;
	job->ok = job->run(job);
	return NULL;
}

/* Runs the job with `stack` bytes of stack at least; false when there is none to be had. */
static bool run_with_stack(struct job *job, uint64_t stack)
{
	if (stack <= STACK_DIRECT)
		return job->run(job);
	if (stack > STACK_MAX)
		return false;
	pthread_attr_t attr;
	pthread_t thread;
	if (pthread_attr_init(&attr) != 0)
		return false;
	bool started = pthread_attr_setstacksize(&attr, (size_t)stack) == 0 &&
		       pthread_create(&thread, &attr, run_in_thread, job) == 0;
	pthread_attr_destroy(&attr);
	if (!started)
		return false;
	pthread_join(thread, NULL);
	return job->ok;
}

/* ---- C++ ---- */

/* libiberty's demangle_callbackref. */
static void demangle_libiberty_take_output(const char *text, size_t len, void *opaque)
{
	struct job *job = opaque;
	if (!demangle_sink_write(job->sink, text, len))
		longjmp(job->abort, 1);
}

/* The components of one name, and what seeking a pack below each would take. */
struct tree {
	const struct demangle_component *base;
	size_t count;
	uint32_t *steps; /* 0: not known yet */
	bool is_cheap;
};

/* The component's number, or `count` when it is none. */
static size_t component_number(const struct tree *tree, const struct demangle_component *component)
{
	uintptr_t offset = (uintptr_t)component - (uintptr_t)tree->base;
	size_t number = offset / sizeof(*component);
	return number < tree->count && offset % sizeof(*component) == 0 ? number : tree->count;
}

/* What a component refers to; for kinds that are no pair of components, what is one of them. */
static void component_parts(
	const struct demangle_component *component, const struct demangle_component *parts[2])
{
	parts[0] = parts[1] = NULL;
	switch (component->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
		break;
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		parts[0] = component->u.s_unary_num.sub;
		break;
	case DEMANGLE_COMPONENT_CTOR:
		parts[0] = component->u.s_ctor.name;
		break;
	case DEMANGLE_COMPONENT_DTOR:
		parts[0] = component->u.s_dtor.name;
		break;
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		parts[0] = component->u.s_extended_operator.name;
		break;
	default:
		parts[0] = component->u.s_binary.left;
		parts[1] = component->u.s_binary.right;
	}
}

static uint32_t pack_steps(struct tree *tree, const struct demangle_component *component)
{
	size_t number = component_number(tree, component);
	if (number == tree->count)
		return 0;
	if (tree->steps[number])
		return tree->steps[number];
	tree->steps[number] = 1; /* a circle, which there should be none of, ends here */
	const struct demangle_component *parts[2];
	component_parts(component, parts);
	uint64_t sum = 1 + (uint64_t)pack_steps(tree, parts[0]) + pack_steps(tree, parts[1]);
	/* A pack is sought below an expansion, and below the operand of sizeof...() */
	bool is_sought = component->type == DEMANGLE_COMPONENT_PACK_EXPANSION ||
			 component->type == DEMANGLE_COMPONENT_UNARY;
	if (is_sought && sum > CPLUS_PACK_STEPS_MAX)
		tree->is_cheap = false;
	if (component->type == DEMANGLE_COMPONENT_PACK_EXPANSION)
		sum = 1; /* seeking does not go into an inner one */
	tree->steps[number] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	return tree->steps[number];
}

static bool packs_are_cheap(
	const struct demangle_component *root, const void *components, size_t count)
{
	struct tree tree = {
		.base = components,
		.count = count,
		.steps = mem_zalloc_array(count, sizeof(*tree.steps)),
		.is_cheap = true,
	};
	pack_steps(&tree, root);
	mem_free(tree.steps);
	return tree.is_cheap;
}

/* False for the name of data, which has no type; true where that is not known. */
static bool demangle_libiberty_is_function(const char *mangled, int options)
{
	void *block = NULL;
	const struct demangle_component *root =
		cplus_demangle_v3_components(mangled, options, &block);
	bool ret = !root || root->type == DEMANGLE_COMPONENT_TYPED_NAME;
	free(block);
	return ret;
}

/*
 * Templates' own return types are noise. libiberty drops the first one that it prints: in the name
 * of data that of an argument, a pointer to a function (F) or the name of one (L_Z).
 */
static int cplus_options(const char *mangled)
{
	int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
	if (mangled[2] == 'T' || mangled[2] == 'G')
		return options;
	bool has_others = strchr(mangled + 2, 'F') || strstr(mangled, "L_Z");
	return has_others && !demangle_libiberty_is_function(mangled, options)
		       ? options
		       : options | DMGL_RET_DROP;
}

static bool print_tree(struct job *job, int options, struct demangle_component *root)
{
	if (setjmp(job->abort))
		return false;
	return cplus_demangle_print_callback(options, root, demangle_libiberty_take_output, job);
}

/* A name with pack expansions: read, looked at, printed. */
static bool run_cplus_with_packs(struct job *job)
{
	int options = cplus_options(job->mangled);
	void *components = NULL;
	struct demangle_component *root =
		cplus_demangle_v3_components(job->mangled, options, &components);
	size_t count = strlen(job->mangled) * CPLUS_COMPONENTS_PER_CHAR;
	bool ok =
		root && packs_are_cheap(root, components, count) && print_tree(job, options, root);
	free(components);
	return ok;
}

/* What may be an expansion of types (Dp), of an expression (sp), or a pack's length (sZ). */
static bool may_be_pack(const char *at)
{
	return (at[0] == 'D' && at[1] == 'p') || (at[0] == 's' && (at[1] == 'p' || at[1] == 'Z'));
}

/*
 * Whether there are no packs but parameters of a template (DpT_, DpOT0_), which are found at once.
 * Nearly all are such. Their names must not be read into components first: there libiberty has
 * no second try for what is ambiguous (sr3stdE..., the name of a member of a namespace).
 */
static bool packs_are_parameters(const char *mangled)
{
	for (const char *at = mangled; *at; at++) {
		if (!may_be_pack(at))
			continue;
		const char *operand = at + 2 + strspn(at + 2, "RKOPV");
		if (*operand != 'T')
			return false;
		operand += 1 + strspn(operand + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (operand[0] != '_' || operand[1] == 'I')
			return false;
	}
	return true;
}

static bool run_cplus(struct job *job)
{
	if (strncmp(job->mangled, "_Z", 2) == 0 && !packs_are_parameters(job->mangled))
		return run_cplus_with_packs(job);
	const int options = cplus_options(job->mangled); /* it allocates: before setjmp() */
	if (setjmp(job->abort))
		return false;
	return cplus_demangle_v3_callback(
		job->mangled, options, demangle_libiberty_take_output, job);
}

static uint64_t cplus_stack(const char *mangled, size_t len)
{
	/* Every template begins with an I, every reference that opens a scope with R or O. */
	uint64_t templates = 1, references = 1;
	for (size_t i = 0; i < len; i++) {
		templates += mangled[i] == 'I';
		references += mangled[i] == 'R' || mangled[i] == 'O';
	}
	return STACK_BASE + len * CPLUS_BYTES_PER_CHAR +
	       templates * references * CPLUS_BYTES_PER_SCOPE;
}

/* How many template parameters with arguments (T_I, T0_I) follow the first conversion operator. */
static size_t conversions(const char *mangled)
{
	size_t count = 0;
	const char *conversion = strstr(mangled, "cv");
	for (const char *at = conversion ? conversion : ""; *at; at++) {
		if (*at != 'T')
			continue;
		const char *end = at + 1 + strspn(at + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		count += end[0] == '_' && end[1] == 'I';
	}
	return count;
}

bool demangle_cplus(const char *mangled, struct demangle_sink *sink)
{
	if (strncmp(mangled, "_Z", 2) != 0 && strncmp(mangled, "_GLOBAL_", 8) != 0)
		return false;
	if (conversions(mangled) > CPLUS_CONVERSIONS_MAX)
		return false;
	struct job job = {.mangled = mangled, .sink = sink, .run = run_cplus};
	return run_with_stack(&job, cplus_stack(mangled, strlen(mangled)));
}

/* ---- D ---- */

static bool run_d(struct job *job)
{
	char *text = dlang_demangle(job->mangled, 0);
	bool ok = text && *text && demangle_sink_puts(job->sink, text);
	free(text);
	return ok;
}

/*
 * How many bytes of text the D demangler may read: those of the name, and for
 * each back reference (Q and a distance in base 26, the last digit in lower
 * case) to a type all that stands between its target and itself, with what that
 * took. One to an identifier, which begins with a digit, reads no more than that.
 * steps[i] is what reading up to byte i takes. D_STEPS_MAX when it is more.
 */
static uint64_t d_steps(const char *mangled, size_t len)
{
	CLEANUP_FREE uint32_t *steps = mem_zalloc_array(len + 1, sizeof(*steps));
	for (size_t i = 0; i < len; i++) {
		uint64_t sum = (uint64_t)steps[i] + 1;
		size_t distance = 0;
		if (mangled[i] == 'Q') {
			size_t digit = i + 1;
			while (digit < len && isupper((unsigned char)mangled[digit]) &&
				distance <= len)
				distance = distance * 26 + (size_t)(mangled[digit++] - 'A');
			if (digit < len && islower((unsigned char)mangled[digit]))
				distance = distance * 26 + (size_t)(mangled[digit] - 'a');
			bool is_type = distance > 0 && distance <= i &&
				       !isdigit((unsigned char)mangled[i - distance]);
			if (is_type)
				sum += steps[i] - steps[i - distance];
		}
		if (sum >= D_STEPS_MAX)
			return D_STEPS_MAX;
		steps[i + 1] = (uint32_t)sum;
	}
	return steps[len];
}

static bool is_call_convention(char c)
{
	return c && strchr("FUWVRY", c);
}

/* Whether a function's type may stand at `at`: `this` and its modifiers, then a calling convention.
 */
static bool may_be_function(const char *at)
{
	if (*at == 'M')
		at++;
	for (;;) {
		if (*at == 'x' || *at == 'y' || *at == 'O')
			at++;
		else if (at[0] == 'N' && at[1] == 'g')
			at += 2;
		else
			return is_call_convention(*at);
	}
}

/* Behind an identifier or a reference to one that begins at `at`; `at` when there is none. */
static const char *behind_identifier(const char *at)
{
	const char *end = at;
	if (*at == 'Q') {
		for (end++; isupper((unsigned char)*end);)
			end++;
		return islower((unsigned char)*end) ? end + 1 : at;
	}
	size_t len = 0;
	while (isdigit((unsigned char)*end) && len <= D_INPUT_MAX)
		len = len * 10 + (size_t)(*end++ - '0');
	if (end > at && !len)
		return end; /* anonymous */
	return len && strnlen(end, len) == len ? end + len : at;
}

static bool is_template(const char *at)
{
	return strncmp(at, "__T", 3) == 0 || strncmp(at, "__U", 3) == 0;
}

/* Whether a template's instance stands in the qualified name at *at, which is skipped otherwise. */
static bool has_template(const char **at)
{
	for (const char *end;; *at = end) {
		if (is_template(*at) || is_template(*at + strspn(*at, "0123456789")) ||
			strncmp(*at, "_D", 2) == 0)
			return true;
		end = behind_identifier(*at);
		if (end == *at)
			return false;
	}
}

/*
 * Whether the parameters at `at` go on up to another such choice. A failure or
 * the end of the parameters before that costs no more than what was read.
 */
static bool reaches_fork(const char *at)
{
	for (;;) {
		if (is_call_convention(*at) || (*at == 'M' && may_be_function(at)))
			return true;
		if (*at == 'C' || *at == 'S' || *at == 'E' || *at == 'T' || *at == 'I') {
			at++;
			if (has_template(&at))
				return true;
		} else if (*at == 'Q') {
			const char *end = behind_identifier(at);
			if (end == at)
				return false;
			at = end;
		} else if (*at == 'G' || *at == 'B') {
			at += 1 + strspn(at + 1, "0123456789");
		} else if (*at == 'N') {
			at += at[1] ? 2 : 1;
		} else if (islower((unsigned char)*at) || (*at && strchr("OPADHJKLM", *at))) {
			at++;
		} else {
			return false;
		}
	}
}

/* Whether what is taken for the type of a function, behind a name, may have to be read twice. */
static bool is_function_fork(const char *at)
{
	return may_be_function(at) && reaches_fork(at + strcspn(at, "FUWVRY") + 1);
}

/*
 * The length of a symbol, S and a number, may take any of the digits, the rest
 * being the symbol's: so many powers of two, where there is much to read again.
 */
static unsigned symbol_forks(const char *at)
{
	size_t digits = strspn(at + 1, "0123456789");
	bool again = false;
	for (size_t i = 0; i <= digits && !again; i++) {
		const char *symbol = at + 1 + i;
		again = has_template(&symbol);
	}
	if (!digits || !again)
		return 0;
	return digits < 2 ? 1 : digits < 4 ? 2 : 4;
}

/*
 * How often the demangler may have to choose between two ways to read what
 * follows, as a power of two. Counted generously: it is not known yet what is a
 * name and what is within one.
 */
static unsigned d_forks(const char *mangled, size_t len)
{
	CLEANUP_FREE bool *is_behind_name = mem_zalloc_array(len + 1, sizeof(bool));
	unsigned forks = 0;
	for (size_t i = 2; i < len && forks < D_FORKS_MAX; i++) {
		const char *at = mangled + i;
		/* Any digit may be the first of a number: an identifier may end in digits. */
		if (isdigit((unsigned char)*at) || *at == 'Q') {
			const char *end = behind_identifier(at);
			is_behind_name[end - mangled] = true;
			forks += end > at && is_function_fork(end);
		} else if (*at == 'Z') {
			forks += is_function_fork(at + 1);
		} else if (*at == 'S' && (is_behind_name[i] || !strchr("TVAPxyOF", at[-1]))) {
			forks += symbol_forks(at); /* else it is a struct */
		}
	}
	return forks;
}

bool demangle_d(const char *mangled, struct demangle_sink *sink)
{
	if (strncmp(mangled, "_D", 2) != 0 ||
		(!isdigit((unsigned char)mangled[2]) && strcmp(mangled, "_Dmain") != 0))
		return false;
	size_t len = strlen(mangled);
	if (len > D_INPUT_MAX)
		return false;
	uint64_t steps = d_steps(mangled, len);
	if (steps << d_forks(mangled, len) >= D_STEPS_MAX)
		return false;
	struct job job = {.mangled = mangled, .sink = sink, .run = run_d};
	return run_with_stack(&job, STACK_BASE + steps * D_BYTES_PER_STEP);
}
