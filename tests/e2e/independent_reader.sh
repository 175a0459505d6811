#!/bin/sh
# The file format is what man/ebprof-data.5 says: a reader that was written from
# the page alone finds in a real recording what `ebprof info` finds.
# Prints "ok NAME", "not ok NAME: reason", "skip NAME: reason". Needs root and $EBPROF.
# Beside others: what else the machine does changes nothing here.
here=$(cd "$(dirname "$0")" && pwd)

skip_all()
{
	echo "skip independent_reader: $1"
	exit 0
}

[ "$(id -u)" = 0 ] || skip_all "not root"
command -v python3 >/dev/null || skip_all "no python3"
[ -x "$EBPROF" ] || skip_all "\$EBPROF is not set"

# A second of several processes: shells that compute, and one that makes system calls.
cat >workload.sh <<'END'
spin() { i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; }
(spin; spin) &
dd if=/dev/zero of=/dev/null bs=512 count=300000 2>/dev/null &
spin
wait
END
if ! "$EBPROF" record -o it.data -- sh workload.sh >record.out 2>&1; then
	skip_all "cannot record: $(tail -n 1 record.out)"
fi
"$EBPROF" info --json it.data >info.json
# One of an event source beside the timer, which no recorder has yet.
values=$here/../fuzz/corpus/recording/values
"$EBPROF" info --json "$values" >values.json
python3 "$here/read_recording.py" "$values" >reader_values.json
if ! python3 "$here/read_recording.py" --samples it.data >reader.json 2>reader.err; then
	echo "not ok independent_reader: $(tail -n 1 reader.err)"
	exit 1
fi

cat >compare.py <<'END'
import json
info, mine = json.load(open("info.json")), json.load(open("reader.json"))


def check(name, ok, reason=""):
    print("ok " + name if ok else "not ok %s: %s" % (name, reason))


keys = ["samples", "ticks", "idle", "filtered", "lost", "processes", "threads", "mappings",
        "build_ids", "snapshots", "snapshot_bytes", "meta"]
if not mine["snapshots"]:  # else info has unwound them, which that reader does not
    keys += ["stacks", "truncated_by", "guessed_stacks", "frames"]
for key in keys:
    check("reader_" + key, info[key] == mine[key], "%r, not %r" % (mine[key], info[key]))
for name, value in info["counters"].items():
    check("reader_counter_" + name, mine["counters"].get(name) == value)
theirs, ours = json.load(open("values.json")), json.load(open("reader_values.json"))
for name, counters in ours["sources"].items():
    found = [it for it in theirs["sources"] if it.pop("name") == name]
    check("reader_source_" + name, [{key: [it["count"], it["sum"]] for key, it in one.items()}
                                    for one in found] == [counters], found)
check("reader_values", ours["samples"] == theirs["samples"] and ours["sources"])
check("reader_objects", [(it["path"], it["build_id"]) for it in info["objects"]] ==
      [(it["path"], it["build_id"]) for it in mine["objects"]])
check("reader_whole", mine["ended"] and not mine["damaged_bytes"] and info["damage"] == "")
check("reader_samples_there", mine["samples"] > 100, mine["samples"])
check("reader_stacks_there", all(it["stack"] for it in mine["all_samples"]))
total = sum(mine[key] for key in ("samples", "idle", "filtered", "lost"))
check("reader_accounting", total == mine["ticks"], "%d, not %d" % (total, mine["ticks"]))
END
python3 compare.py

# A prefix is a recording.
size=$(wc -c <it.data)
head -c $((size * 2 / 3)) it.data >cut.data
if python3 "$here/read_recording.py" cut.data >cut.json 2>reader.err &&
	"$EBPROF" info --json cut.data >cut_info.json 2>/dev/null &&
	python3 -c 'import json
a, b = json.load(open("cut.json")), json.load(open("cut_info.json"))
raise SystemExit(bool(a["samples"] != b["samples"] or a["ended"] or b["ended"]))'; then
	echo "ok reader_prefix"
else
	echo "not ok reader_prefix: $(tail -n 1 reader.err)"
fi
