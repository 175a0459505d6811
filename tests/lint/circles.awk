# Files that call each other in a circle, by what their objects define and need:
#   nm -A OBJECTS | awk -f tests/lint/circles.awk
# One line for each call that is part of a circle, or leads from one to another; exit status 1 when
# there was one. Headers cannot hide these: the caller has the other's symbol undefined.

{
	split($0, parts, ":")
	file = parts[1]
	type = NF == 3 ? $2 : $(NF - 1)
	symbol = $NF
	if (type ~ /^[TDBRC]$/)
		home[symbol] = file
	else if (type == "U") {
		needs[++nr_needs] = symbol
		needed_by[nr_needs] = file
	}
}

# Takes away, again and again, what calls nothing that is left, and what nothing left calls.
function prune(    edge, changed, out_degree, in_degree) {
	do {
		changed = 0
		delete out_degree
		delete in_degree
		for (edge in edges) {
			out_degree[from[edge]]++
			in_degree[to[edge]]++
		}
		for (edge in edges)
			if (!(to[edge] in out_degree) || !(from[edge] in in_degree)) {
				delete edges[edge]
				changed = 1
			}
	} while (changed)
}

END {
	for (i = 1; i <= nr_needs; i++) {
		target = home[needs[i]]
		if (!target || target == needed_by[i])
			continue
		edge = needed_by[i] " -> " target
		edges[edge] = 1
		from[edge] = needed_by[i]
		to[edge] = target
		if (!(edge in example))
			example[edge] = needs[i]
	}
	prune()
	for (edge in edges) {
		print edge " (" example[edge] ")"
		broken = 1
	}
	exit broken
}
