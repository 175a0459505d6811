# The dependency law of the house: who may include what.
#   find bpf format record report cmd -name '*.[ch]' | xargs awk -f tests/lint/layers.awk
# One line for each include that breaks it; exit status 1 when there was one.
#
# A row: folder, the own headers it may include (prefixes), and the foreign ones beside libc.
# The row with the longest folder that holds a file is the one that counts.

BEGIN {
	row("bpf", "bpf/ format/unwind/ format/file/script_failure.h", "bpf/")
	row("format/base", "format/base/", "")
	row("format/unwind", "format/unwind/", "")
	row("format/machine", "format/base/ format/unwind/ format/machine/", "")
	row("format/elf", "format/base/ format/machine/ format/unwind/ format/elf/", "")
	row("format/base/mount_view.c", "format/base/", "linux/openat2.h")
	row("format/base/safe_folder.c", "format/base/", "linux/openat2.h")
	row("format/base/inflate.c", "format/base/", "zlib.h libdeflate.h")
	row("format/elf/elf_inflate.c", "format/base/ format/elf/", "zstd.h")
	row("format/clr", "format/base/ format/elf/ format/unwind/ format/clr/", "")
	row("format/dwarf", "format/base/ format/machine/ format/unwind/ format/elf/ format/dwarf/", "")
	row("format/file", "format/base/ format/unwind/ format/file/", "zlib.h")
	kernel = "bpf/ linux/ asm/"
	host = "record/host/ format/ bpf/event.h bpf/runtime/*_row.h bpf/runtime/dotnet/dotnet_code.h bpf/runtime/dotnet/dotnet_walk.h bpf/runtime/shadow_place.h bpf/*.skel.h"
	task = "record/task/ record/session_options.h " host
	event = "record/event/ " task
	unwind = "record/unwind/ record/runtime/ " task
	row("record", "record/ " host, kernel)
	row("record/host", host, kernel)
	row("record/runtime", "record/runtime/ " host, kernel)
	row("record/task", task, kernel)
	row("record/cgroup", "record/cgroup/ " host, kernel)
	row("record/label", "record/label/ record/cgroup/ " task, kernel)
	row("record/event", "record/preload/heap_sampler.inc " event, kernel)
	row("record/source", "record/source/ " event, kernel)
	row("record/unwind", unwind, kernel)
	row("record/generated", "record/generated/ " unwind, kernel)
	row("record/script", "record/script/ record/event/ " unwind, kernel)
	row("format/merge", "format/base/ format/file/ format/merge/", "")
	row("format/import", "format/base/ format/file/ format/import/", "")
	row("format/import/zstd_stream.c", "format/base/ format/import/", "zstd.h")
	model = "report/model/ format/"
	name = "report/name/ " model
	load = "report/load/ " name
	analyse = "report/analyse/ " load
	compare = "report/compare/ " analyse
	write = "report/write/ " compare
	tui = "report/tui/ " write
	row("report/model", model, "")
	row("report/name", name, "")
	row("report/load", load, "")
	row("report/analyse", analyse, "")
	row("report/compare", compare, "")
	row("report/write", write, "")
	row("report/tui", tui, "ncurses.h term.h")
	row("report/tui/view", tui, "")
	row("report/write/export/gzip.c", write, "zlib.h")
	row("report/name/demangle/demangle_libiberty.c", name, "libiberty/ demangle.h")
	row("report/name/debugfile/debug_link.c", name, "zlib.h")
	row("report/name/debugfile/minidebug.c", name, "lzma.h")
	row("report/name/debugfile/packed_file.c", name, "lzma.h zlib.h zstd.h")
	row("cmd", "cmd/ record/ report/ format/base/ format/import/ format/merge/", "")

	# ISO C11, POSIX and glibc.
	split("alloca argp arpa/inet assert byteswap complex cpio ctype dirent dlfcn elf endian err " \
		"errno error fcntl features fenv float fnmatch ftw getopt glob grp iconv inttypes " \
		"langinfo libgen limits link locale malloc math netdb netinet/in netinet/tcp obstack " \
		"paths poll pthread pty pwd regex sched search semaphore setjmp shadow signal spawn " \
		"stdalign stdarg stdatomic stdbool stddef stdint stdio stdio_ext stdlib stdnoreturn " \
		"string strings syslog tar termios threads time uchar unistd utime wchar wctype wordexp",
		names, " ")
	for (i in names)
		libc[names[i] ".h"] = 1
}

function row(folder, own, foreign) {
	rows[folder] = 1
	own_of[folder] = own
	foreign_of[folder] = foreign
}

# "dir/" is a prefix, "dir/*.skel.h" a pattern with one star, anything else a whole name.
function is_in(name, list,    words, count, i, star, word) {
	count = split(list, words, " ")
	for (i = 1; i <= count; i++) {
		word = words[i]
		star = index(word, "*")
		if (star && index(name, substr(word, 1, star - 1)) == 1 &&
		    substr(name, length(name) - length(word) + star + 1) == substr(word, star + 1))
			return 1
		if (name == word || (word ~ /\/$/ && index(name, word) == 1))
			return 1
	}
	return 0
}

function is_libc(name) {
	return folder != "bpf" && folder != "format/unwind" && (name in libc || name ~ /^sys\//)
}

function folder_of(file,    folder, best) {
	for (folder in rows)
		if ((file == folder || index(file, folder "/") == 1) && length(folder) > length(best))
			best = folder
	return best
}

function complain(what) {
	printf "%s:%d: %s\n", FILENAME, FNR, what
	broken = 1
}

FNR == 1 {
	file = FILENAME
	sub(/^\.\//, "", file)
	folder = folder_of(file)
	if (!folder)
		complain("no row of the dependency law holds this file")
}

/^[ \t]*#[ \t]*include/ {
	text = $0
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
	name = substr(text, 2)
	sub(/[>"].*/, "", name)
	if (substr(text, 1, 1) == "\"") {
		if (!is_in(name, own_of[folder]))
			complain(folder " may not include \"" name "\"")
	} else if (substr(text, 1, 1) == "<") {
		if (!is_libc(name) && !is_in(name, foreign_of[folder]))
			complain(folder " may not include <" name ">")
	} else {
		complain("an include that is computed: " text)
	}
}

END { exit broken }
