#!/bin/bash
# The zoo: real programs in many languages, each recorded cold for some seconds. Of each a line:
#   samples, whole stacks, stacks reached by guesses, cut ones, by what most of them are cut, and
#   the share of frames found by rules, by reading code, and guessed
#
# usage: zoo.sh EBPROF
# ZOO="ffmpeg mono"  only these; ZOO_SECONDS=3 of each
#
# A program that is not installed is a line that says which package has it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
EBPROF=$(realpath "$1")
SECONDS_EACH=${ZOO_SECONDS:-3}
WORK=$(mktemp -d /tmp/ebprof-zoo.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK" || exit 1
[[ $(id -u) == 0 ]] || { echo "zoo.sh: needs root to record"; exit 1; }

ran=0 whole_rows=0 languages=()

row() {
	local name=$1 language=$2 package=$3 tool=$4 command=$5
	if [[ -n ${ZOO:-} && " $ZOO " != *" $name "* ]]; then
		return
	fi
	if ! command -v "$tool" >/dev/null; then
		printf '%-14s %-12s not here: apt-get install %s\n' "$name" "$language" "$package"
		return
	fi
	mkdir -p "$name"
	(cd "$name" && prepare_"${6:-nothing}" >prepare.log 2>&1) || {
		printf '%-14s %-12s could not be prepared: %s\n' "$name" "$language" \
			"$(tail -n 1 "$name/prepare.log")"
		return
	}
	(cd "$name" && timeout -k 1 $((SECONDS_EACH + 20)) "$EBPROF" record -F 997 -o r.ebp \
		--unwind-cache cache --duration "$SECONDS_EACH" -- \
		timeout -k 1 $((SECONDS_EACH + 1)) bash -c "$command" </dev/null >out 2>err)
	(cd "$name" && timeout 30 "$EBPROF" info --json r.ebp >info.json 2>>err &&
		timeout 60 "$EBPROF" convert --folded r.ebp -o folded >/dev/null 2>>err) || {
		printf '%-14s %-12s no recording: %s\n' "$name" "$language" "$(tail -n 1 "$name/err")"
		return
	}
	ran=$((ran + 1))
	languages+=("$language")
	python3 - "$name" "$language" <<'PY' && whole_rows=$((whole_rows + 1))
import collections, json, sys
name, language = sys.argv[1:]
info = json.load(open(name + "/info.json"))
stacks, all_samples = info["stacks"], max(info["samples"], 1)
cut_in = collections.Counter()
for line in open(name + "/folded", errors="replace"):
    stack, count = line.rsplit(" ", 1)
    frames = stack.split(";")
    if len(frames) > 2 and frames[1].startswith("[truncated"):
        cut_in[frames[1][12:-1] + " under " + frames[2]] += int(count)
frames = info["frames"]
all_frames = max(sum(frames.values()), 1)
guessed = frames["frame_pointer"] + frames["scan"]
whole = 100 * (stacks["complete"] + stacks["kernel_only"]) / all_samples
print("%-14s %-12s %6d samples  whole %5.1f%%  guessed %5.1f%%  cut %5.1f%%   frames: "
      "rules %5.1f%% code %5.1f%% guessed %4.1f%%  %s" % (
          name, language, info["samples"], whole, 100 * stacks["by_guesses"] / all_samples,
          100 * stacks["truncated"] / all_samples, 100 * frames["rule"] / all_frames,
          100 * frames["code"] / all_frames, 100 * guessed / all_frames,
          cut_in.most_common(1)[0][0] if cut_in else ""))
sys.exit(whole < 99)
PY
	[[ -n ${ZOO_KEEP:-} ]] && cp "$name/r.ebp" "$ZOO_KEEP/$name.ebp"
	rm -rf "$name"
}

# shellcheck source=tests/bench/zoo_programs.bash
. "$here/zoo_programs.bash"

unique=$(printf '%s\n' "${languages[@]}" | sort -u | wc -l)
echo "$ran programs in $unique languages; at least 99 % of the stacks whole: $whole_rows"
