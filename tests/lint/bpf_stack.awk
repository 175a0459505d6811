# The stack of BPF programs, from `llvm-objdump -dr` of their object: no chain of calls may take
# more than the verifier lets it. Prints the deepest chain of each program that takes too much, of
# every program with -v show=1; status 1 when there is one.
#
# The rule is that of check_max_stack_depth() in kernel/bpf/verifier.c (Linux 5.10 to 7.2): along a
# chain each function counts with the lowest place of its frame that it uses, rounded up to 32
# bytes, and with 32 if it uses none; together no more than MAX_BPF_STACK, in no more than
# MAX_CALL_FRAMES functions. A function whose address is taken is called back: it counts as called.

BEGIN {
	MAX_STACK = 512
	MAX_FRAMES = 8
	BYTES = 8 # of an instruction
	for (i = 0; i < 16; i++)
		digit[sprintf("%x", i)] = i
}

function hex(text,    value, i) {
	for (i = 1; i <= length(text); i++)
		value = value * 16 + digit[substr(text, i, 1)]
	return value + 0
}

# The number in the bytes from field `first` on, the lowest first; negative by two's complement.
function number(first, count,    value, i) {
	for (i = first + count - 1; i >= first; i--)
		value = value * 256 + hex($i)
	return value < 2 ^ (8 * count - 1) ? value : value - 2 ^ (8 * count)
}

function uses(offset) {
	if (-offset > used[name])
		used[name] = -offset
}

function calls(section_, address) {
	nr_calls[name]++
	callee[name, nr_calls[name]] = section_ ":" address
}

/^Disassembly of section / {
	section = $4
	sub(/:$/, "", section)
	next
}

# A function; labels within one are called so by the compiler.
/^[0-9a-f]+ <[^>]+>:$/ {
	label = substr($2, 2, length($2) - 3)
	if (label ~ /^LBB[0-9]+_[0-9]+$/)
		next
	name = label
	used[name] = nr_calls[name] = 0
	place[section ":" hex($1)] = name
	split("", from_frame)
	if (section != ".text")
		programs[++nr_programs] = name
	next
}

# A relocation of the instruction before: what it calls, or whose address it takes.
/R_BPF_64_(32|64)/ {
	target = $NF
	if ($2 == "R_BPF_64_32") {
		nr_calls[name]--
		calls(target == ".text" ? ".text" : "symbol", target == ".text" ? immediate * BYTES + BYTES : target)
	} else if (target == ".text") {
		calls(".text", immediate)
	}
	next
}

# index: eight bytes, sixteen of a 64-bit constant, text
/^ *[0-9]+:\t/ && name {
	at = $1 + 0
	operation = $2
	to = digit[substr($3, 2, 1)]
	from = digit[substr($3, 1, 1)]
	offset = number(4, 2)
	immediate = number(6, 4)
	class = hex(operation) % 8
	is_store = class == 2 || class == 3
	if (is_store && to == 10 || class == 1 && from == 10)
		uses(offset)
	if (operation == "07" && from_frame[to]) # rN += constant
		uses(immediate)
	if (operation == "85" && from == 1)
		calls(section, (at + 1 + immediate) * BYTES)
	if (!is_store)
		from_frame[to] = operation == "bf" && from == 10 # rN = r10
	next
}

function rounded(bytes) {
	return bytes ? int((bytes + 31) / 32) * 32 : 32
}

# The deepest chain from a function on, into deepest[] and chain[].
function walk(function_,    i, called, best, frames) {
	if (function_ in deepest)
		return
	deepest[function_] = 0 # of itself: the verifier refuses recursion
	best = frames = 0
	chain[function_] = ""
	for (i = 1; i <= nr_calls[function_]; i++) {
		called = callee[function_, i]
		sub(/^symbol:/, "", called)
		if (called ~ /:/) {
			if (!(called in place)) {
				print FILENAME ": " function_ " calls " called ", where no function begins"
				bad = 1
				continue
			}
			called = place[called]
		}
		walk(called)
		if (deepest[called] > best) {
			best = deepest[called]
			chain[function_] = chain[called]
		}
		if (height[called] > frames)
			frames = height[called]
	}
	deepest[function_] = rounded(used[function_]) + best
	height[function_] = frames + 1
	chain[function_] = function_ " " used[function_] (chain[function_] != "" ? ", " chain[function_] : "")
}

END {
	if (!nr_programs) {
		print "no BPF program in the input"
		exit 1
	}
	for (i = 1; i <= nr_programs; i++) {
		program = programs[i]
		walk(program)
		is_deep = deepest[program] > MAX_STACK || height[program] > MAX_FRAMES
		if (is_deep || show)
			printf "%s: %d bytes of stack (at most %d), %d calls deep (at most %d): %s\n", program,
				deepest[program], MAX_STACK, height[program], MAX_FRAMES, chain[program]
		bad = bad || is_deep
	}
	exit bad
}
