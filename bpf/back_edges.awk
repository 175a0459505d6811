# Says where code that clang made for BPF, as llvm-objdump -d --no-show-raw-insn prints it, falls
# through into an instruction of the path that led there: a loop whose last instruction is no jump.
# Linux 5.10 and 6.1 refuse that ("back-edge from insn", check_cfg() of kernel/bpf/verifier.c), later
# ones do not. Walks each function in the kernel's order. Exit status 1: there is one.

function look_at_function(    i, first, next_one, top, at, edge, to, falls) {
	if (!count)
		return
	delete seen
	delete stack
	delete edges
	first = at_of[1]
	for (i = 1; i < count; i++)
		follower[at_of[i]] = at_of[i + 1]
	follower[at_of[count]] = ""
	seen[first] = 1
	stack[top = 1] = first
	while (top) {
		at = stack[top]
		edge = ++edges[at]
		falls = edge == 1 && !(at in ends) && !(at in jumps)
		to = ""
		if (edge == 1 && !(at in ends))
			to = follower[at]
		else if (edge == (at in ends ? 1 : 2) && at in target)
			to = target[at]
		else if (edge > 1 || at in ends) {
			seen[at] = 2
			top--
			continue
		}
		if (to == "")
			continue
		if (!(to in seen)) {
			seen[to] = 1
			stack[++top] = to
		} else if (seen[to] == 1 && falls) {
			printf "%s: insn %d falls through into a loop, which Linux 6.1 refuses\n", name, at
			status = 1
		}
	}
}

/^[0-9a-f]+ <.*>:/ {
	if ($2 ~ /^<LBB/)
		next
	look_at_function()
	name = substr($2, 2, length($2) - 3)
	count = 0
	delete ends
	delete jumps
	delete target
	next
}

$1 ~ /^[0-9]+:$/ {
	at = $1 + 0
	at_of[++count] = at
	if ($2 == "exit")
		ends[at]
	for (i = 2; i < NF; i++)
		if ($i == "goto") {
			target[at] = at + 1 + $(i + 1)
			jumps[at]
			if (i == 2)
				ends[at]
		}
}

END {
	look_at_function()
	exit status
}
