#include "report/write/diff/diff_programs.h"

#include <string.h>

/* Program and its runs; `run`: one of them. */
struct run_program {
	const char *name;
	const struct diff_run *run;
	size_t nr_runs;
};

typedef VEC(struct run_program) run_programs;

static void add_run(run_programs *programs, const struct diff_run *run)
{
	if (!run->program)
		return;
	vec_each(programs, program)
		if (strcmp(program->name, run->program) == 0) {
			program->nr_runs++;
			return;
		}
	vec_push(programs, (struct run_program){run->program, run, 1});
}

static void list_programs(const struct diff_side *side, run_programs *ret)
{
	*ret = (run_programs){0};
	vec_each(&side->runs, run)
		add_run(ret, run);
}

bool diff_programs_are_mixed(const struct difference *diff)
{
	bool are_mixed = false;
	for (int side = 0; side < MATCH_SIDES; side++) {
		run_programs programs;
		list_programs(&diff->sides[side], &programs);
		are_mixed |= programs.len > 1;
		vec_deinit(&programs);
	}
	return are_mixed;
}

typedef void put_text_fn(struct str *out, const char *text);

static void put_runs_of_program(
	struct str *out, const struct run_program *program, put_text_fn *put_text)
{
	str_printf(out, "%zu of ", program->nr_runs);
	put_text(out, program->name);
	if (program->nr_runs > 1 || !program->run->name[0])
		return;
	str_puts(out, " (");
	put_text(out, program->run->name);
	str_putc(out, ')');
}

static void put_mixed_programs(
	struct str *out, const run_programs sides[MATCH_SIDES], put_text_fn *put_text)
{
	str_puts(out, "Not all runs are of one program: base ");
	for (int side = 0; side < MATCH_SIDES; side++) {
		str_puts(out, side == MATCH_BASE ? "" : "; new ");
		for (size_t i = 0; i < sides[side].len; i++) {
			str_puts(out, i ? ", " : "");
			put_runs_of_program(out, &sides[side].data[i], put_text);
		}
	}
	str_puts(out, ". ");
}

static void put_two_programs(
	struct str *out, const run_programs sides[MATCH_SIDES], put_text_fn *put_text)
{
	const char *base = sides[MATCH_BASE].data[0].name, *new = sides[MATCH_NEW].data[0].name;
	if (strcmp(base, new) == 0)
		return;
	str_puts(out, "Base is of ");
	put_text(out, base);
	str_puts(out, ", new of ");
	put_text(out, new);
	str_puts(out, ". ");
}

void diff_put_programs(struct str *out, const struct difference *diff, put_text_fn *put_text)
{
	run_programs sides[MATCH_SIDES];
	for (int side = 0; side < MATCH_SIDES; side++)
		list_programs(&diff->sides[side], &sides[side]);
	if (diff_programs_are_mixed(diff))
		put_mixed_programs(out, sides, put_text);
	else if (sides[MATCH_BASE].len && sides[MATCH_NEW].len)
		put_two_programs(out, sides, put_text);
	vec_deinit(&sides[MATCH_BASE]);
	vec_deinit(&sides[MATCH_NEW]);
}
