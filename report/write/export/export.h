/*
 * Foreign formats. An exporter turns a symbolized profile into the bytes of one
 * format and hands them to a sink; where they go is the caller's business.
 *
 * A new format is one file with one function, and one row of EXPORT_FORMATS:
 * the options of `ebprof convert`, its help and its --list come from the rows.
 */
#ifndef EBPROF_EXPORT_H
#define EBPROF_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "report/model/profile.h"
#include "report/model/text/byte_sink.h"
#include "report/name/demangle/demangle.h"

enum export_trait {
	EXPORT_BINARY = 1 << 0,    /* nothing for a terminal */
	EXPORT_ONE_EVENT = 1 << 1, /* has room for one only */
	EXPORT_COMPARES = 1 << 2,  /* with a baseline */
	EXPORT_HAS_CODE = 1 << 3,  /* of one recording, with lines and instructions */
};

/* X(enum, function, name, file suffix, traits, help) */
#define EXPORT_FORMATS(X) \
	X(EXPORT_PPROF, export_pprof, "pprof", ".pb.gz", EXPORT_BINARY, \
		"profile.proto, for pprof, Pyroscope, Parca, Grafana") \
	X(EXPORT_FOLDED, export_folded, "folded", ".folded", EXPORT_ONE_EVENT, \
		"a line a stack, for flamegraph.pl, inferno, speedscope") \
	X(EXPORT_HTML, export_html, "html", ".html", \
		EXPORT_BINARY | EXPORT_COMPARES | EXPORT_HAS_CODE, \
		"a page with a flame graph, tables and a time line, for any browser") \
	X(EXPORT_SPEEDSCOPE, export_speedscope, "speedscope", ".speedscope.json", 0, \
		"threads and the order of samples, for speedscope") \
	X(EXPORT_FIREFOX, export_firefox, "firefox", ".firefox.json", 0, \
		"threads, times and lines, for profiler.firefox.com") \
	X(EXPORT_CHROME, export_chrome, "chrome", ".trace.json", 0, \
		"a trace with CPU profiles, for Chrome's DevTools") \
	X(EXPORT_JSON, export_json, "json", ".json", 0, \
		"stacks, frames, labels and values, for scripts") \
	X(EXPORT_CSV, export_csv, "csv", ".csv", EXPORT_ONE_EVENT, \
		"a row a function, for spreadsheets") \
	X(EXPORT_PERF_SCRIPT, export_perf_script, "perf-script", ".perf", 0, \
		"each sample, as perf script prints it, for what reads that") \
	X(EXPORT_PERF_DATA, export_perf_data, "perf-data", ".perf.data", EXPORT_BINARY, \
		"each sample, for perf report, hotspot and what else reads perf.data") \
	X(EXPORT_CALLGRIND, export_callgrind, "callgrind", ".callgrind", EXPORT_ONE_EVENT, \
		"costs and calls, for kcachegrind, qcachegrind, callgrind_annotate") \
	X(EXPORT_SVG, export_svg, "svg", ".svg", \
		EXPORT_BINARY | EXPORT_ONE_EVENT | EXPORT_COMPARES, \
		"a flame graph to look at in any browser") \
	X(EXPORT_OTLP, export_otlp, "otlp", ".otlp", EXPORT_BINARY, \
		"OpenTelemetry profiles (v1development of opentelemetry-proto 1.11.0)") \
	X(EXPORT_ROWS, export_rows, "rows", ".rows.ndjson", 0, \
		"a JSON object a minute, stack and labels, for DuckDB, ClickHouse, BigQuery, " \
		"Spark") \
	X(EXPORT_ROWS_TSV, export_rows_tsv, "rows-tsv", ".rows.tsv", 0, \
		"the same with tabs, for COPY and what reads tables")

enum export_format {
#define X(format, function, name, suffix, traits, help) format,
	EXPORT_FORMATS(X)
#undef X
	EXPORT_FORMAT_COUNT,
};

/* What samples are told apart by, for formats that have labels: X(enum, bit, word) */
#define EXPORT_LABELS(X) \
	X(EXPORT_LABEL_COMM, 0, "comm")     /* name of the process */ \
	X(EXPORT_LABEL_THREAD, 1, "thread") /* name of a thread other than the first */ \
	X(EXPORT_LABEL_PID, 2, "pid") \
	X(EXPORT_LABEL_TID, 3, "tid") \
	X(EXPORT_LABEL_CONTAINER, 4, "container") \
	X(EXPORT_LABEL_CGROUP, 5, "cgroup") \
	X(EXPORT_LABEL_CPU, 6, "cpu")       /* multiplies the samples of most recordings */ \
	X(EXPORT_LABEL_ORIGIN, 7, "origin") /* of what was merged: the recording */ \
	X(EXPORT_LABEL_UNWIND, 8, "unwind") /* how sure the stack is: enum stack_proof */ \
	X(EXPORT_LABEL_SAMPLE, 9, "label")  /* those of the sample: of its goroutine, say */ \
	X(EXPORT_LABEL_UNIT, 10, "unit")    /* of systemd */ \
	X(EXPORT_LABEL_POD, 11, "pod")      /* of Kubernetes: its UID */

enum export_label {
#define X(label, bit, word) label = 1 << (bit),
	EXPORT_LABELS(X)
#undef X
};

/* What holds for the profile as a whole, for formats that have a place for it. */
struct export_attribute {
	const char *key, *value;
};

enum {
	EXPORT_ID_BYTES = 16,
};

struct debug_dirs;
struct diff_options;
struct symbol_file_options;

/* Where sources and binaries are, for formats that show lines and instructions. */
struct export_code {
	const struct symbol_file_options *files;
	const struct debug_dirs *source_dirs;
	enum demangle_mode demangle;
};

/* A recording that the profile is compared with, by formats that can. */
struct export_baseline {
	const struct profile *profile;      /* symbolized, too */
	const char *name, *profile_name;    /* of the files */
	const struct diff_options *judging; /* as compare_judge() has it */
};

struct export_options {
	uint32_t labels; /* enum export_label */
	const struct export_attribute *attributes;
	size_t nr_attributes;
	const struct export_baseline *baseline; /* NULL: none */
	const struct export_code *code;         /* NULL: none is shown */
	bool is_plain;                          /* a format that compresses itself does not */
	const uint8_t *id; /* EXPORT_ID_BYTES by which a reader knows the profile again, or NULL */
};

/* The profile must have been symbolized. Fails where the sink does, and
 * where the format has no room for what was recorded. */
typedef struct err *export_fn(const struct profile *profile, const struct export_options *options,
	struct byte_sink sink) ERR_MUST_CHECK;

struct exporter {
	const char *name; /* the option is --name */
	const char *suffix;
	const char *help;
	unsigned traits; /* enum export_trait */
	export_fn *write;
};

/* All of them, by enum export_format. */
const struct exporter *export_all(size_t *count);
/* The one whose files end so, by the longest suffix, also with ".gz" behind it; NULL: none. */
const struct exporter *export_of_name(const char *file_name);

/* ---- for exporters ---- */

#define X(format, function, name, suffix, traits, help) export_fn function;
EXPORT_FORMATS(X)
#undef X

#endif
