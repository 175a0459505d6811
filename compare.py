import json
info, mine = json.load(open("info.json")), json.load(open("reader.json"))


def check(name, ok, reason=""):
    print("ok " + name if ok else "not ok %s: %s" % (name, reason))


for key in ("samples", "ticks", "idle", "filtered", "lost", "processes", "threads", "mappings",
            "build_ids", "stacks", "truncated_by", "meta"):
    check("reader_" + key, info[key] == mine[key], "%r, not %r" % (mine[key], info[key]))
for name, value in info["counters"].items():
    check("reader_counter_" + name, mine["counters"].get(name) == value)
check("reader_objects", [(it["path"], it["build_id"]) for it in info["objects"]] ==
      [(it["path"], it["build_id"]) for it in mine["objects"]])
check("reader_whole", mine["ended"] and not mine["damaged_bytes"] and info["damage"] == "")
check("reader_samples_there", mine["samples"] > 100, mine["samples"])
check("reader_stacks_there", all(it["stack"] for it in mine["all_samples"]))
total = sum(mine[key] for key in ("samples", "idle", "filtered", "lost"))
check("reader_accounting", total == mine["ticks"], "%d, not %d" % (total, mine["ticks"]))
