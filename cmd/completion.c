/*
 * What may stand behind an option: the words of its row, or what the name of its argument says:
 * "FILE|-", "DIR", "PID".
 */
#include "cmd/completion.h"

#include <string.h>

#include "format/base/str.h"

enum value_kind {
	VALUE_NONE,  /* a flag */
	VALUE_OTHER, /* nothing that a shell could offer */
	VALUE_FILE,
	VALUE_FOLDER,
	VALUE_PROCESS,
	VALUE_USER,
	VALUE_WORDS,
};

struct value {
	enum value_kind kind;
	bool is_optional; /* then only behind "=" */
	struct str words; /* with blanks between them */
};

static void value_deinit(struct value *value)
{
	str_deinit(&value->words);
}

static void completion_put_words(const struct opt *row, struct str *out)
{
	for (const struct opt_word *word = row->words; word && word->word; word++)
		if (!word->is_unlisted)
			str_printf(out, "%s%s", out->len ? " " : "", word->word);
}

static struct value completion_value_of(const struct opt *row)
{
	static const struct {
		const char *word;
		enum value_kind kind;
	} kinds[] = {{"FILE", VALUE_FILE}, {"PATH", VALUE_FILE}, {"DIR", VALUE_FOLDER},
		{"PID", VALUE_PROCESS}, {"USER", VALUE_USER}};
	struct value value = {VALUE_OTHER, false, {0}};
	if (!row->argument) {
		value.kind = VALUE_NONE;
		return value;
	}
	value.is_optional = opt_has_optional_argument(row);
	completion_put_words(row, &value.words);
	if (value.words.len)
		value.kind = VALUE_WORDS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !value.words.len; i++)
		if (strncmp(row->argument + value.is_optional, kinds[i].word,
			    strlen(kinds[i].word)) == 0)
			value.kind = kinds[i].kind;
	return value;
}

/* ---- bash ---- */

static void put_bash_commands(const struct command *const *commands, size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%s", i ? " " : "", commands[i]->name);
}

/* What stands behind "--option": a case, where files are not what is wanted. */
static void put_bash_value(const struct command *command, const struct opt *row, FILE *out)
{
	static const char *const words[] = {
		[VALUE_NONE] = NULL,
		[VALUE_OTHER] = "",
		[VALUE_FILE] = NULL,
		[VALUE_FOLDER] = "-d",
		[VALUE_PROCESS] = "",
		[VALUE_USER] = "-u",
		[VALUE_WORDS] = "-W",
	};
	CLEANUP(value_deinit) struct value value = completion_value_of(row);
	if (!words[value.kind])
		return;
	fprintf(out, "\t%s/--%s%s", command->name, row->long_name, value.is_optional ? "=" : "");
	if (row->short_name && !value.is_optional)
		fprintf(out, " | %s/-%c", command->name, row->short_name);
	fputc(')', out);
	if (*words[value.kind])
		fprintf(out, " COMPREPLY=($(compgen %s", words[value.kind]);
	if (value.words.len)
		fprintf(out, " '%s'", str_text(&value.words));
	if (*words[value.kind])
		fputs(" -- \"$current\"));", out);
	fputs(" return ;;\n", out);
}

static void put_bash_options(const struct command *command, FILE *out)
{
	fprintf(out, "\t%s) COMPREPLY=($(compgen -W '--help", command->name);
	for (const struct opt *row = command->options; row && row->long_name; row++)
		fprintf(out, " --%s", row->long_name);
	fprintf(out, "' -- \"$current\")) ;;\n");
}

/* bash makes a word of "=". */
static void print_bash(const struct command *const *commands, size_t count, FILE *out)
{
	fputs("# bash completion for ebprof, made from its option rows\n"
	      "_ebprof() {\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} before i\n"
	      "\tCOMPREPLY=()\n"
	      "\tif ((COMP_CWORD == 1)) || [[ $command == help && $current != -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
		out);
	put_bash_commands(commands, count, out);
	fputs("' -- \"$current\"))\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	      "\t\t\tCOMPREPLY=($(compgen -c -f -- \"$current\"))\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n"
	      "\tdone\n"
	      "\tbefore=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tif [[ $current == = ]]; then\n"
	      "\t\tcurrent=\"\" before+==\n"
	      "\telif [[ $before == = ]]; then\n"
	      "\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}=\n"
	      "\tfi\n"
	      "\tcase $command/$before in\n",
		out);
	for (size_t i = 0; i < count; i++)
		for (const struct opt *row = commands[i]->options; row && row->long_name; row++)
			put_bash_value(commands[i], row, out);
	fputs("\tesac\n"
	      "\tif [[ $current != -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$current\"))\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcase $command in\n",
		out);
	for (size_t i = 0; i < count; i++)
		put_bash_options(commands[i], out);
	fputs("\tesac\n}\ncomplete -o filenames -F _ebprof ebprof\n", out);
}

/* ---- zsh ---- */

/* Within '...', and where `specials` stand for something else behind a backslash. */
static void put_quoted(const char *text, const char *specials, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fprintf(out, "%s%c", strchr(specials, *text) ? "\\" : "", *text);
	}
}

static void put_zsh_value(const struct opt *row, FILE *out)
{
	static const char *const actions[] = {
		[VALUE_OTHER] = " ",
		[VALUE_FILE] = "_files",
		[VALUE_FOLDER] = "_files -/",
		[VALUE_PROCESS] = "_pids",
		[VALUE_USER] = "_users",
	};
	CLEANUP(value_deinit) struct value value = completion_value_of(row);
	if (value.kind == VALUE_NONE)
		return;
	CLEANUP(str_deinit) struct str argument = {0};
	opt_put_argument(row, &argument);
	fputs(value.is_optional ? "::" : ":", out);
	put_quoted(str_text(&argument), ":\\[]", out);
	if (value.kind == VALUE_WORDS)
		fprintf(out, ":(%s)", str_text(&value.words));
	else
		fprintf(out, ":%s", actions[value.kind]);
}

/* '*'{-p+,--pid=}'[profile ...]:PID:_pids', as _arguments has it. */
static void put_zsh_option(const struct opt *row, FILE *out)
{
	CLEANUP(str_deinit) struct str help = {0};
	bool is_optional = opt_has_optional_argument(row);
	const char *behind_long = is_optional ? "=-" : row->argument ? "=" : "";
	fputs("\t\t\t", out);
	const char *behind_short = is_optional ? "-" : row->argument ? "+" : "";
	if (row->short_name && row->argument)
		fprintf(out, "'*'{-%c%s,--%s%s}'[", row->short_name, behind_short, row->long_name,
			behind_long);
	else if (row->short_name)
		fprintf(out, "'(-%c --%s)'{-%c,--%s}'[", row->short_name, row->long_name,
			row->short_name, row->long_name);
	else
		fprintf(out, "'%s--%s%s[", row->argument ? "*" : "", row->long_name, behind_long);
	opt_put_help(row, &help);
	put_quoted(str_text(&help), "[]\\", out);
	fputc(']', out);
	put_zsh_value(row, out);
	fputs("' \\\n", out);
}

static void put_zsh_command(const struct command *command, FILE *out)
{
	fprintf(out,
		"\t\t%s)\n\t\t_arguments -s -S \\\n\t\t\t'(- *)'{-h,--help}'[explain the "
		"command]' \\\n",
		command->name);
	for (const struct opt *row = command->options; row && row->long_name; row++)
		put_zsh_option(row, out);
	if (command->explains_commands)
		fputs("\t\t\t'1:command:->topic' && ret=0\n"
		      "\t\t[[ $state == topic ]] && _describe -t commands 'ebprof command' "
		      "ours && ret=0\n",
			out);
	else if (command->stops_at_operand)
		fputs("\t\t\t'(-)1: :_command_names -e' '*:: :_normal' && ret=0\n", out);
	else
		fputs("\t\t\t'*: :_files' && ret=0\n", out);
	fputs("\t\t;;\n", out);
}

static void print_zsh(const struct command *const *commands, size_t count, FILE *out)
{
	fputs("#compdef ebprof\n"
	      "# zsh completion for ebprof, made from its option rows\n"
	      "_ebprof() {\n"
	      "\tlocal curcontext=$curcontext state line ret=1\n"
	      "\tlocal -a ours\n"
	      "\ttypeset -A opt_args\n"
	      "\tours=(\n",
		out);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "\t\t'%s:", commands[i]->name);
		put_quoted(commands[i]->summary, "", out);
		fputs("'\n", out);
	}
	fputs("\t)\n"
	      "\t_arguments -C '(- *)'{-h,--help}'[list the commands]' \\\n"
	      "\t\t'(- *)'{-V,--version}'[print the version]' \\\n"
	      "\t\t'1:command:->command' '*::argument:->argument' && ret=0\n"
	      "\tif [[ $state == command ]]; then\n"
	      "\t\t_describe -t commands 'ebprof command' ours && ret=0\n"
	      "\telif [[ $state == argument ]]; then\n"
	      "\t\tcurcontext=${curcontext%:*:*}:ebprof-$words[1]:\n"
	      "\t\tcase $words[1] in\n",
		out);
	for (size_t i = 0; i < count; i++)
		put_zsh_command(commands[i], out);
	fputs("\t\tesac\n\tfi\n\treturn ret\n}\n"
	      "if [[ $funcstack[1] == _ebprof ]]; then _ebprof \"$@\"; else compdef _ebprof "
	      "ebprof; fi\n",
		out);
}

/* ---- fish ---- */

static void put_fish_value(const struct opt *row, FILE *out)
{
	CLEANUP(value_deinit) struct value value = completion_value_of(row);
	if (value.kind == VALUE_NONE || value.is_optional)
		return; /* fish has no arguments that may be left out */
	fputs(value.kind == VALUE_FILE ? " -r -F" : " -x", out);
	if (value.kind == VALUE_WORDS)
		fprintf(out, " -a '%s'", str_text(&value.words));
	else if (value.kind == VALUE_FOLDER)
		fputs(" -a '(__fish_complete_directories)'", out);
	else if (value.kind == VALUE_PROCESS)
		fputs(" -a '(__fish_complete_pids)'", out);
	else if (value.kind == VALUE_USER)
		fputs(" -a '(__fish_complete_users)'", out);
}

/* Within '...' fish knows \' and \\. */
static void put_fish_text(const char *text, FILE *out)
{
	fputs(" -d '", out);
	for (; *text; text++)
		fprintf(out, "%s%c", strchr("'\\", *text) ? "\\" : "", *text);
	fputc('\'', out);
}

static void put_fish_command(const struct command *command, FILE *out)
{
	static const char is_of[] = "complete -c ebprof -n '__ebprof_command_is";
	fprintf(out, "complete -c ebprof -n __ebprof_needs_command -f -a %s", command->name);
	put_fish_text(command->summary, out);
	fprintf(out, "\n%s %s' -s h -l help -d 'explain the command'\n", is_of, command->name);
	for (const struct opt *row = command->options; row && row->long_name; row++) {
		CLEANUP(str_deinit) struct str help = {0};
		opt_put_help(row, &help);
		fprintf(out, "%s %s'", is_of, command->name);
		if (row->short_name)
			fprintf(out, " -s %c", row->short_name);
		fprintf(out, " -l %s", row->long_name);
		put_fish_value(row, out);
		put_fish_text(str_text(&help), out);
		fputc('\n', out);
	}
	if (command->stops_at_operand)
		fprintf(out, "%s %s' -a '(__fish_complete_subcommand --fcs-skip=2)'\n", is_of,
			command->name);
}

static void print_fish(const struct command *const *commands, size_t count, FILE *out)
{
	fputs("# fish completion for ebprof, made from its option rows\n"
	      "function __ebprof_needs_command\n"
	      "\tset -l words (commandline -opc)\n"
	      "\ttest (count $words) -eq 1; or test \"$words[2]\" = help\n"
	      "end\n"
	      "function __ebprof_command_is\n"
	      "\tset -l words (commandline -opc)\n"
	      "\ttest (count $words) -ge 2; and test $words[2] = $argv[1]\n"
	      "end\n",
		out);
	for (size_t i = 0; i < count; i++)
		put_fish_command(commands[i], out);
}

const struct opt_word completion_shells[] = {
	{"bash", COMPLETION_BASH, false},
	{"zsh", COMPLETION_ZSH, false},
	{"fish", COMPLETION_FISH, false},
	{0},
};

void completion_print(
	enum completion_shell shell, const struct command *const *commands, size_t count, FILE *out)
{
	static void (*const print[])(
		const struct command *const *commands, size_t count, FILE *out) = {
		[COMPLETION_BASH] = print_bash,
		[COMPLETION_ZSH] = print_zsh,
		[COMPLETION_FISH] = print_fish,
	};
	print[shell](commands, count, out);
}
