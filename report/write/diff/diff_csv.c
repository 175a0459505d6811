/* A line for each row (RFC 4180), the most changed first. Columns as the members of the JSON. */
#include <math.h>

#include "report/model/text/csv.h"
#include "report/write/diff/diff_writer.h"

/* What is no number is left empty. */
static void diff_csv_put_real(struct str *out, double value)
{
	str_putc(out, ',');
	if (isfinite(value))
		str_printf(out, "%.9g", value);
}

static void diff_csv_put_field(struct str *out, const char *text)
{
	str_putc(out, ',');
	csv_put_field(out, text ? text : "");
}

static void put_amounts(struct str *out, const struct diff_judgement *judgement)
{
	for (int side = 0; side < MATCH_SIDES; side++) {
		str_printf(out, ",%llu", (unsigned long long)judgement->sides[side].samples);
		diff_csv_put_real(out, judgement->sides[side].share);
		diff_csv_put_real(out, judgement->sides[side].value);
	}
}

static void diff_csv_put_row(struct str *out, const struct diff_row *row, const char *unit)
{
	const struct diff_judgement *self = &row->self;
	double none = NAN;
	str_puts(out, self->is_tested ? diff_verdict_word(self->verdict) : "");
	diff_csv_put_field(out, row->name);
	diff_csv_put_field(out, row->object);
	diff_csv_put_field(out, row->file);
	str_putc(out, ',');
	if (row->file && row->line && !row->is_edited)
		str_printf(out, "%u", row->line);
	put_amounts(out, self);
	diff_csv_put_real(out, self->is_tested ? self->effect : none);
	diff_csv_put_real(out, self->is_tested ? self->low : none);
	diff_csv_put_real(out, self->is_tested ? self->high : none);
	diff_csv_put_real(out, self->is_tested ? self->p : none);
	diff_csv_put_real(out, self->is_tested ? self->adjusted_p : none);
	diff_csv_put_real(out, self->is_tested ? self->detectable : none);
	put_amounts(out, &row->total);
	diff_csv_put_field(out, unit);
	str_puts(out, "\r\n");
}

struct err *diff_csv(const struct difference *diff, const struct diff_writer_options *options,
	struct byte_sink sink)
{
	(void)options;
	CLEANUP(str_deinit) struct str out = {0};
	str_puts(&out, "verdict,name,object,file,line,"
		       "base_samples,base_share,base_value,new_samples,new_share,new_value,"
		       "effect,low,high,p,adjusted_p,detectable,"
		       "base_total_samples,base_total_share,base_total_value,"
		       "new_total_samples,new_total_share,new_total_value,unit\r\n");
	vec_each(&diff->rows, row) {
		diff_csv_put_row(&out, row, diff->unit);
		if (out.len > BYTE_SINK_PIECE_BYTES) {
			try(sink.write(sink.context, out.data, out.len));
			str_truncate(&out, 0);
		}
	}
	return sink.write(sink.context, out.data, out.len);
}
