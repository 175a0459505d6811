#!/bin/bash
# Does the layer law bite? Each forbidden include must be found, each allowed one must pass.
set -u
law=$(cd "$(dirname "$0")" && pwd)/layers.awk
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

try() { # WANTED_STATUS FILE INCLUDE
	mkdir -p "$(dirname "$2")"
	printf '#include %s\n' "$3" >"$2"
	awk -f "$law" "$2" >said 2>&1
	if [[ $? == "$1" ]]; then
		echo "ok law: $2 with $3"
	else
		echo "not ok law: $2 with $3: status is not $1: $(cat said)"
		failed=1
	fi
	rm "$2"
}
forbidden() { try 1 "$@"; }
allowed() { try 0 "$@"; }

forbidden bpf/a.bpf.c '"format/base/str.h"'
forbidden bpf/a.bpf.c '"format/file/layout.h"'
forbidden bpf/a.bpf.c '<string.h>'
forbidden format/unwind/a.h '<stdint.h>'
forbidden format/unwind/a.h '"format/base/bytes.h"'
forbidden format/base/a.c '"format/file/layout.h"'
forbidden format/base/a.c '<zlib.h>'
forbidden format/elf/a.c '"format/file/reader.h"'
forbidden format/file/a.c '"format/elf/elf_file.h"'
forbidden format/file/a.c '"record/session.h"'
forbidden record/a.c '"report/model/profile.h"'
forbidden record/a.c '"bpf/unwind_fp.bpf.h"'
forbidden record/a.c '<zlib.h>'
forbidden record/host/a.c '"record/task/object.h"'
forbidden record/task/a.c '"record/unwind/table_store.h"'
forbidden record/unwind/a.c '"record/script/script_table.h"'
forbidden record/event/a.c '"record/source/sources.h"'
forbidden record/runtime/a.c '"record/unwind/unwind_table.h"'
forbidden record/source/a.c '"record/session.h"'
forbidden report/a.c '"format/base/str.h"'
forbidden report/model/a.c '"report/name/namesakes.h"'
forbidden report/name/a.c '"report/load/load.h"'
forbidden report/load/a.c '"report/analyse/tree.h"'
forbidden report/analyse/a.c '"report/compare/compare.h"'
forbidden report/compare/a.c '"report/write/text/text.h"'
forbidden report/write/a.c '"report/tui/tui.h"'
forbidden format/merge/a.c '"report/model/profile.h"'
forbidden report/model/a.c '<zlib.h>'
forbidden report/model/a.c '"record/session.h"'
forbidden report/model/a.c '"bpf/event.h"'
forbidden report/model/a.c '<bpf/libbpf.h>'
forbidden report/model/a.c '<linux/perf_event.h>'
forbidden report/model/a.c '<elfutils/libdw.h>'
forbidden report/model/a.c '<ncurses.h>'
forbidden report/model/a.c '<libiberty/demangle.h>'
forbidden report/name/symbol/symbolize.c '<libiberty/demangle.h>'
forbidden report/name/demangle/demangle.c '<libiberty/demangle.h>'
forbidden cmd/a.c '"format/file/layout.h"'
forbidden cmd/a.c '"bpf/event.h"'
forbidden cmd/a.c '<bpf/libbpf.h>'
forbidden cmd/a.c '<openssl/ssl.h>'
forbidden drawer/a.c '<string.h>'

allowed bpf/a.bpf.c '"bpf/event.h"'
allowed bpf/a.bpf.c '"format/file/script_failure.h"'
allowed bpf/a.bpf.c '<bpf/bpf_helpers.h>'
allowed format/base/a.c '<string.h>'
allowed format/elf/a.c '<elf.h>'
allowed format/file/a.c '<zlib.h>'
allowed report/write/export/gzip.c '<zlib.h>'
allowed record/a.c '"bpf/sample.skel.h"'
allowed record/a.c '"format/elf/elf_file.h"'
allowed record/a.c '<bpf/libbpf.h>'
allowed record/a.c '"record/script/script_table.h"'
allowed record/script/a.c '"record/unwind/table_store.h"'
allowed record/source/a.c '"record/session_options.h"'
allowed record/a.c '<linux/perf_event.h>'
allowed record/a.c '"format/unwind/unwind_step.h"'
allowed bpf/a.bpf.h '"format/unwind/unwind_step.h"'
allowed record/a.c '"bpf/runtime/runtime_row.h"'
forbidden record/a.c '"bpf/runtime/python/python.bpf.h"'
forbidden record/a.c '"bpf/ring.bpf.h"'
allowed report/model/a.c '"format/file/reader.h"'
allowed report/load/a.c '"report/name/namesakes.h"'
allowed report/write/a.c '"report/compare/compare.h"'
allowed report/tui/a.c '"report/model/profile.h"'
forbidden report/load/unwind/a.c '<elfutils/libdw.h>'
allowed report/name/demangle/demangle_libiberty.c '<libiberty/demangle.h>'
allowed report/tui/a.c '<ncurses.h>'
forbidden report/tui/view/a.c '<ncurses.h>'
allowed cmd/a.c '"record/session.h"'
allowed cmd/a.c '<sys/stat.h>'
exit $failed
