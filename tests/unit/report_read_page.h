/* The data of a page of HTML (html_data.h), read again as the page's scripts do, for tests. */
#ifndef EBPROF_REPORT_READ_PAGE_H
#define EBPROF_REPORT_READ_PAGE_H

#include "format/base/bytes.h"
#include "report/compare/diff_lists.h"
#include "report/compare/difference.h"
#include "report/write/diff/diff_words.h"

enum {
	READ_PAGE_MAX = 64, /* of everything that a page has several of */
};

struct page_node {
	uint32_t parent, depth, function;
	bool is_inlined;
	uint64_t weight; /* of its entries */
};

struct page {
	char texts[9][512];
	uint64_t period, begin_ms, span_ns, samples, other_samples, lost, folded, folded_weight;
	char objects[READ_PAGE_MAX][64], files[READ_PAGE_MAX][64], functions[READ_PAGE_MAX][64],
		comms[READ_PAGE_MAX][64], processes[READ_PAGE_MAX][64];
	uint32_t function_objects[READ_PAGE_MAX], tids[READ_PAGE_MAX];
	/* Of two columns, with this one as the new side: of functions self and total. */
	enum diff_verdict verdicts[READ_PAGE_MAX][2];
	uint64_t function_kinds[READ_PAGE_MAX], verdict;
	char verdict_text[512];
	uint64_t nr_lists, nr_rows[DIFF_LISTS], row_function[DIFF_LISTS];
	char row[DIFF_LISTS][5][64]; /* the texts of each list's last row */
	size_t nr_forms[READ_PAGE_MAX];
	char shortest[READ_PAGE_MAX][64];
	char cause[128]; /* the last one of those */
	uint64_t nr_causes, of_cause;
	uint64_t nr_objects, nr_functions, nr_threads, merged_threads, all_threads, nr_slices,
		slice_ns, nr_parts;
	char parts[READ_PAGE_MAX][64];
	bool is_wait[READ_PAGE_MAX];
	struct page_node nodes[READ_PAGE_MAX];
	uint64_t nr_nodes, nr_entries, weight;
	uint64_t slots[READ_PAGE_MAX],
		of_part[READ_PAGE_MAX]; /* of the entries; weights of each part */
	char waiting[64], wait[256];    /* the last of the longest waits: function, line */
	uint64_t nr_waits;
};

/* Of what a page says, what there is in a column; the baseline's is the second one. */
void read_page(const struct bytes_buf *data, size_t nr_columns, size_t column, struct page *page);

/* `want`: "main>work>leaf 3", the root left out, and the weight of its own entries. */
void read_page_check_node(const struct page *page, uint32_t node, const char *want);

#endif
