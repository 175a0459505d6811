#!/bin/bash
# Everything `make lint` looks at. Each step prints one line; a broken one what it found.
# A tool that is missing, or of another version than the rules were written for, is skipped
# with the reason: versions disagree, and one of them has to be the judge.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${O:=build}" "${CC:=cc}" "${CLANG:=clang}" "${BPF_FLAGS:=-D__TARGET_ARCH_x86}"
read -ra bpf_flags <<<"$BPF_FLAGS"
JUDGE=14 # of clang-format and clang-tidy: that of Debian 12
failed=0
found=$(mktemp) || exit 1
trap 'rm -f "$found"' EXIT

step() { # NAME COMMAND...: prints nothing and is 0 when all is well
	local name=$1
	shift
	if "$@" >"$found" 2>&1; then
		echo "ok   $name"
	else
		echo "FAIL $name"
		sed 's/^/    /' "$found"
		failed=1
	fi
}
skip() { echo "skip $1: $2"; }

layers=(bpf format record report cmd)
# What tests compile to look at the result is not linted.
sources() { find "$@" -path tests/oracle/corpus -prune -o -name '*.[ch]' -type f -print | sort; }
mapfile -t product < <(sources "${layers[@]}")
mapfile -t headers < <(sources "${layers[@]}" tests | grep '\.h$')
mapfile -t user_c < <(sources "${layers[@]}" tests | grep '\.c$' | grep -v '\.bpf\.c$')

# ---- structure ----

law_bites() { tests/lint/layers_test.sh | grep '^not ok' && return 1; return 0; }

# Of what is built: calls that a header hides show there, too.
no_circles() {
	local objects
	read -ra objects <<<"${OBJECTS:?run it by make lint}"
	nm -A "${objects[@]}" | awk -f tests/lint/circles.awk
}
circles_bite() { tests/lint/circles_test.sh | grep '^not ok' && return 1; return 0; }

# Comments and strings do not count.
bare() { awk '
	{
		line = $0
		gsub(/\\["\\]/, "", line)
		gsub(/"[^"]*"/, "\"\"", line)
		out = ""
		while (line != "") {
			if (inside) {
				at = index(line, "*/")
				if (!at) break
				line = substr(line, at + 2); inside = 0
			} else {
				at = index(line, "/*")
				if (!at) { out = out line; break }
				out = out substr(line, 1, at - 1)
				line = substr(line, at + 2); inside = 1
			}
		}
		print FILENAME ":" FNR ": " out
	}' "$@"; }

no_exit_below_cmd() {
	for file in "${product[@]}"; do
		case $file in
		cmd/* | bpf/* | format/base/mem.c) ;; # out of memory ends the program there
		*) bare "$file" | grep -E '[^_[:alnum:]](exit|abort|assert|perror) *\(|[^_[:alnum:]](stderr|stdout)\b' ;;
		esac
	done >"$found.bad"
	cat "$found.bad"
	[[ ! -s $found.bad ]]
	local result=$?
	rm -f "$found.bad"
	return $result
}

no_long_file() { wc -l "${product[@]}" "${user_c[@]}" | awk '$2 != "total" && $1 > 1000 { print $2 ": " $1 " lines"; bad = 1 } END { exit bad }'; }

# One name is libbpf's: bpf_helpers.h, which the emulation stands for.
no_drawer() { ! find "${layers[@]}" tests | grep -v '/emulate/bpf/bpf_helpers\.h$' | grep -iE '(^|[/_.-])(util|utils|common|misc|helper|helpers)([/_.-]|$)'; }

top_level() {
	local name
	! git ls-files 2>/dev/null | cut -d/ -f1 | sort -u | while read -r name; do
		case $name in
		.* | LICENSE | Makefile | README.md | bpf | cmd | format | man | record | report | tests) ;;
		*) echo "$name" ;;
		esac
	done | grep .
}

# What differs from machine to machine stands in format/machine, in bpf/, and where code of a runtime
# is read. Beside those: a number of PE that becomes one of ELF, stubs in assembler, options of objdump.
machines_are_rows() {
	! grep -nE '\b(EM_(AARCH64|X86_64|386)|__(aarch64|x86_64)__|machine_(arm64|x86_64))\b|/(arm64|x86_64)_[a-z]+\.h"' \
		"${product[@]}" /dev/null | grep -vE '^[^:]*:[0-9]+:[[:space:]]*(/?\*|.*/\* EM_)' |
		grep -vE '^(format/(machine|unwind)/|bpf/|record/(runtime|preload)/|record/unwind/unwind_(go|ready|table|epilogue_arm64)\.c|record/event/heap_go\.c|format/elf/pe_headers\.c|report/name/listing/function_code\.c)'
}

# They show up in profiles, in debuggers and in searches. What BPF programs share is in their headers.
unique_statics() {
	local files=()
	mapfile -t files < <(printf '%s\n' "${product[@]}" | grep '\.c$' | grep -v '\.bpf\.c$')
	! grep -oE '^static [^=;]*\b[a-z_0-9]+\(' "${files[@]}" | sed -E 's/:.*\b([a-z_0-9]+)\($/ \1/' | sort -u |
		cut -d' ' -f2 | sort | uniq -d | grep .
}

unchecked_errors_bite() { tests/lint/unchecked_errors_test.sh | grep '^not ok' && return 1; return 0; }

unique_names() { ! printf '%s\n' "${product[@]##*/}" | sort | uniq -d | grep .; }

headers_alone() {
	local bad=0 header
	for header in "${headers[@]}"; do
		case $header in
		# A second time, so that a missing guard shows.
		*.bpf.h) printf '#include "bpf/kernel_types.bpf.h"\n#include "%s"\n#include "%s"\n' "$header" "$header" |
				"$CLANG" -target bpf "${bpf_flags[@]}" -I. -Wall -Wno-unused-function -fsyntax-only -Werror -x c - || bad=1 ;;
		*) printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
			$CC -std=gnu11 -D_GNU_SOURCE -I. -I"$O" -Itests/unit/emulate -Wall -Wextra -Wno-unused-function -Werror -fsyntax-only -x c - || bad=1 ;;
		esac
	done
	return $bad
}

stack_check_bites() { CLANG=$CLANG tests/lint/bpf_stack_test.sh | grep '^not ok' && return 1; return 0; }

bpf_stacks() {
	local bad=0 object arm64=$found.arm64.o
	# Only arm64's object has the programs that take the whole of a sample.
	"$CLANG" -target bpf -mcpu=v3 -O2 -g "${bpf_flags[@]/#-D__TARGET_ARCH_*/-D__TARGET_ARCH_arm64}" -I. \
		-c -o "$arm64" bpf/sample.bpf.c || bad=1
	for object in "$O"/bpf/*.bpf.o "$arm64"; do
		llvm-objdump -dr "$object" | awk -f tests/lint/bpf_stack.awk || bad=1
	done
	rm -f "$arm64"
	return $bad
}

# ---- tools ----

major() { "$1" --version 2>/dev/null | grep -oE 'version [0-9]+' | head -n 1 | grep -oE '[0-9]+'; }

# Runs COMMAND only where TOOL has the version that judges.
judged() { # NAME TOOL COMMAND...
	local name=$1 tool=$2 version
	shift 2
	version=$(major "$tool")
	if [[ -z $version ]]; then
		skip "$name" "no $tool here"
	elif [[ $version != "$JUDGE" ]]; then
		skip "$name" "$tool is version $version, version $JUDGE is the judge"
	else
		step "$name" "$@"
	fi
}

# The emulation's headers stand for libbpf's, and only BPF programs include those; its program.c
# is one itself, and so is what includes that.
tidy() {
	local flags=(-std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 "-DEBPROF_VERSION=\"\"" -I. "-I$O"
		-Itests/unit/emulate "${bpf_flags[@]}")
	local known=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/tidy
	mkdir -p "$known"
	find "$known" -type f -mtime +30 -delete
	# One call a file: with several, -- would take the files that follow for flags.
	printf '%s\n' "${user_c[@]}" | grep -vE '/(emulate/program|runtime_toy_walk)\.c$' |
		CLANG=$CLANG xargs -P 2 -I{} tests/lint/tidy_file.sh "$known" {} "${flags[@]}" 2>&1 |
		grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -header-filter' >"$found.tidy"
	cat "$found.tidy"
	local result=0
	grep -qE ' (warning|error): ' "$found.tidy" && result=1
	rm -f "$found.tidy"
	return $result
}

cppcheck_all() {
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --enable=warning,performance,portability \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
		--template='{file}:{line}: {id}: {message}' -j 2 -D__linux__ -D__x86_64__ -DEBPROF_VERSION='""' -DERR_MUST_CHECK= -I. \
		"${layers[@]:1}"
}

scripts_parse() {
	local bad=0 script
	while read -r script; do
		node --check "$script" || bad=1
	done < <(find report tests -name '*.js' -type f)
	return $bad
}

step "the layer law bites" law_bites
step "layer law" awk -f tests/lint/layers.awk "${product[@]}"
step "the check of circles bites" circles_bite
step "no files that call each other in circles" no_circles
step "no exit, abort, stdout, stderr below cmd/" no_exit_below_cmd
step "no file over 1000 lines" no_long_file
step "no util, common, misc, helpers" no_drawer
step "nothing new at the top level" top_level
step "file names are unique" unique_names
step "only rows of machines name one" machines_are_rows
step "static functions have names of their own" unique_statics
step "the check of unchecked errors bites" unchecked_errors_bite
step "errors of declared functions must be checked" awk -f tests/lint/unchecked_errors.awk "${headers[@]}"
step "headers compile alone" headers_alone
if command -v llvm-objdump >/dev/null; then
	step "the check of BPF stacks bites" stack_check_bites
	step "stacks of BPF programs" bpf_stacks
else
	skip "stacks of BPF programs" "no llvm-objdump here"
fi
judged "clang-format" clang-format clang-format --dry-run -Werror "${product[@]}" "${user_c[@]}"
judged "clang-tidy" clang-tidy tidy
if command -v node >/dev/null; then
	step "scripts parse" scripts_parse
else
	skip "scripts parse" "no node here"
fi
if command -v cppcheck >/dev/null; then
	step "cppcheck" cppcheck_all
else
	skip "cppcheck" "not installed"
fi
if command -v shellcheck >/dev/null; then
	mapfile -t scripts < <(find tests .ci report -type f -exec grep -lE "^#!/bin/(ba)?sh" {} +)
	step "shellcheck" shellcheck -x -S warning -e SC2154 "${scripts[@]}"
else
	skip "shellcheck" "not installed"
fi
exit $failed
