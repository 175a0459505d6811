#!/bin/bash
# A recording in the browser: ebprof open, and record --open. $BROWSER is a program of the test.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

# A browser that notes who runs it and what it opened.
make_browser() {
	mkdir -p runtime
	export XDG_RUNTIME_DIR=$PWD/runtime BROWSER=$PWD/browser
	unset DISPLAY WAYLAND_DISPLAY
	printf '#!/bin/sh\nexec >>"%s/opened"\nid -u\necho "$@"\n' "$PWD" >browser
	chmod +x browser
	touch opened
	chmod 666 opened
	ls "$shared_folder"/shape.data >/dev/null 2>&1 ||
		"$EBPROF" record -q -o "$shared_folder/shape.data" -- "$WORKLOADS/workload" 0.3 ||
		fail "record"
	cp "$shared_folder/shape.data" 'my run.data'
}

opened_page() { sed -n '2s,^file://,,p' opened; }

test_open() {
	make_browser
	run "$EBPROF" open --offline 'my run.data'
	want_status 0 open
	local page folder
	page=$(opened_page)
	[[ $page == "$PWD"/runtime/ebprof-??????/my%20run.html ]] || fail "opened \"$(cat opened)\""
	page=${page//%20/ } folder=${page%/*}
	[[ $(stat -c '%a %a' "$page" "$folder" | tr '\n' ' ') == '600 600 700 700 ' ]] || fail "$(stat "$page" "$folder")"
	grep -q '<html' "$page" || fail "no page"
	grep -q "samples\? -> $page (.*), opened by $BROWSER\$" err || fail "$(cat err)"
}

test_open_keeps_the_page() {
	make_browser
	run "$EBPROF" open --offline -o kept.html 'my run.data'
	want_status 0 '-o'
	[[ $(opened_page) == "$PWD/kept.html" && $(stat -c %a kept.html) == 644 ]] || fail "$(cat opened)"
	[[ -z $(ls runtime) ]] || fail "more files: $(ls runtime)"
	run "$EBPROF" open -o - 'my run.data'
	want_status 2 '-o -'
}

# The page's lines are the hottest functions', whose program is in its folder.
want_lines() { # PAGE
	command -v node >/dev/null && command -v "${CC:-cc}" >/dev/null || skip "no node or no compiler here"
	node -e '
		const zlib = require("zlib"), text = require("fs").readFileSync(process.argv[1], "latin1");
		const data = /<script[^>]*id="data"[^>]*>\s*([A-Za-z0-9+\/=]+)/.exec(text)[1];
		process.exit(zlib.gunzipSync(Buffer.from(data, "base64")).includes("sink += i;") ? 0 : 1);' "$1" || fail "no lines in $1"
}

test_open_with_source() {
	make_browser
	printf '#include <time.h>\nvolatile unsigned long sink;\nint main(void)\n{\n\twhile (clock() < CLOCKS_PER_SEC / 3)\n\t\tfor (int i = 0; i < 1000000; i++)\n\t\t\tsink += i;\n}\n' >lines.c
	"${CC:-cc}" -g -O1 -o lines lines.c || skip "the workload does not compile"
	run "$EBPROF" record -o lines.data --open --with-source -- ./lines
	want_status 0 "record --open --with-source"
	want_lines "$(sed -n 's/.* samples\? -> \(.*\.html\) (.*/\1/p' err)"
	run "$EBPROF" open --offline --with-source -o lines.html lines.data
	want_status 0 "open --with-source"
	want_lines lines.html
	run "$EBPROF" open --source-dir . lines.data
	want_status 2 "--source-dir alone"
	run "$EBPROF" record --with-source -- true
	want_status 125 "--with-source without --open"
}

test_open_chooses() {
	make_browser
	run env "BROWSER=/nowhere/to/be:$PWD/browser --new %s now" "$EBPROF" open --offline 'my run.data'
	want_status 0 open
	grep -q '^--new file:///.*html now$' opened || fail "$(cat opened)"
}

test_open_without_a_browser() {
	make_browser
	local why
	for why in 'BROWSER=:no display here' 'BROWSER=/nowhere:cannot be run: No such file' 'BROWSER=false:false failed, with status 1'; do
		run env "${why%%:*}" "$EBPROF" open --offline 'my run.data'
		want_status 0 "$why"
		grep -q "not opened: .*${why#*:}" err || fail "$why: $(cat err)"
		[[ -f $(sed -n 's/.* samples\? -> \(.*\) (.*/\1/p' err) ]] || fail "$why: no page: $(cat err)"
	done
}

# In a folder that anybody may enter, as those of tests are not.
test_open_below_sudo() {
	make_browser
	[[ $(id -u) == 0 ]] || skip "not root"
	local place runner owner
	place=$(mktemp -d /tmp/ebprof-open.XXXXXX) || fail "mktemp"
	chmod 755 "$place"
	mkdir -m 1777 "$place/tmp"
	printf '#!/bin/sh\nid -u >"%s/tmp/opened"\n' "$place" >"$place/browser"
	chmod 755 "$place/browser"
	run env SUDO_UID=65534 SUDO_GID=65534 TMPDIR="$place/tmp" BROWSER="$place/browser" \
		"$EBPROF" open --offline 'my run.data'
	runner=$(cat "$place/tmp/opened") owner=$(stat -c '%u %a' "$place"/tmp/*/*.html)
	rm -rf "$place"
	want_status 0 sudo
	[[ $runner == 65534 ]] || fail "run by \"$runner\": $(cat err)"
	[[ $owner == '65534 600' ]] || fail "whose and mode: $owner"
}

test_record_and_open() {
	make_browser
	run "$EBPROF" record --open -- "$WORKLOADS/workload" 0.2
	want_status 0 record
	[[ $(opened_page) == "$PWD"/runtime/*/ebprof.html ]] || fail "$(cat opened err)"
	run "$EBPROF" record --open -o - -- true
	want_status 125 '-o -'
	run "$EBPROF" record --open --switch-output=1s -- true
	want_status 125 '--switch-output'
}

run_tests
