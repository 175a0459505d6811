#!/bin/sh
# Puts the page of `convert --html` together, for the compiler: its bytes in front of the data and
# behind it, as lists of numbers.
#   make_page.sh PAGE.html PAGE.css FOLDER SCRIPT...
# In the page a line @STYLE@, @SCRIPT@ or @DATA@ stands for what goes there; @STYLE_HASH@ and
# @SCRIPT_HASH@ for what Content-Security-Policy calls a hash source (CSP Level 3, section 2.3.1).
set -eu
page=$1 style=$2 out=$3
shift 3

cat "$@" >"$out/page.js"

hash_of() {
	digits=$(sha256sum <"$1")
	octal=$(printf '%s' "${digits%% *}" | sed 's/../0x& /g' | xargs -n 1 printf '\\%03o')
	printf "sha256-%s" "$(printf "$(printf '%s' "$octal" | tr -d '\n')" | base64)"
}

awk -v style="$style" -v script="$out/page.js" -v style_hash="$(hash_of "$style")" \
	-v script_hash="$(hash_of "$out/page.js")" -v head="$out/page_head" -v tail="$out/page_tail" '
	function put(text) { printf "%s", text >file }
	function put_file(name,    line) { while ((getline line <name) > 0) put(line "\n") }
	BEGIN { file = head }
	/^@STYLE@$/ { put("<style>"); put_file(style); put("</style>\n"); next }
	/^@SCRIPT@$/ { put("<script>"); put_file(script); put("</script>\n"); next }
	/^@DATA@$/ {
		put("<script id=\"data\" type=\"application/gzip;base64\">")
		file = tail
		put("</script>\n")
		next
	}
	{ gsub(/@STYLE_HASH@/, style_hash); gsub(/@SCRIPT_HASH@/, script_hash); put($0 "\n") }
' "$page"

for part in page_head page_tail; do
	od -An -v -tx1 "$out/$part" | sed 's/[0-9a-f][0-9a-f]/0x&,/g' >"$out/$part.inc"
done
