#include "cmd/bounded_export.h"

#include "cmd/console.h"

/*
 * Some formats write each stack in full again for each sample: what a real recording becomes by
 * that is at most some thousand times larger, a forged one of some KB many GB.
 */
struct bounded_sink {
	struct byte_sink to;
	const struct profile *profile;
	uint64_t left;
};

static uint64_t max_export_bytes(const struct profile *profile)
{
	enum {
		MAX_RATIO = 10000
	};
	static const uint64_t floor = 1ULL << 30;
	return floor + profile->file.file_bytes * MAX_RATIO;
}

static struct err *bounded_write(void *context, const void *bytes, size_t len)
{
	struct bounded_sink *sink = context;
	if (len > sink->left) {
		CLEANUP(str_deinit) struct str text = {0};
		console_put_bytes(&text, max_export_bytes(sink->profile));
		return err_new(ERR_UNSUPPORTED,
			"the recording becomes more than %s in this format; choose samples "
			"(--time, -S and their kin) or another format",
			str_text(&text));
	}
	sink->left -= len;
	return sink->to.write(sink->to.context, bytes, len);
}

struct err *bounded_export_write(const struct exporter *exporter, const struct profile *profile,
	const struct export_options *options, struct byte_sink to)
{
	struct bounded_sink sink = {to, profile, max_export_bytes(profile)};
	struct err *err =
		exporter->write(profile, options, (struct byte_sink){bounded_write, &sink});
	return err;
}
