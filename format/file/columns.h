/*
 * What there is most of, as columns: the payloads of their chunks, as ebprof-data(5) has them.
 * Values of one kind stand together, which deflate likes.
 */
#ifndef EBPROF_COLUMNS_H
#define EBPROF_COLUMNS_H

#include "format/base/bytes.h"
#include "format/file/layout.h"

/* Two columns: objects, then offsets as differences from the last offset in the same object. */
void columns_put_frames(struct bytes_buf *payload, uint32_t first_id,
	const struct layout_frame *frames, size_t count);
/* Two columns: parents as the distance back (0: none), then frames as differences. */
void columns_put_nodes(struct bytes_buf *payload, uint32_t first_id,
	const struct layout_node *nodes, size_t count);
/* Samples of one event, at least one, in the order in which they came. */
void columns_put_samples(
	struct bytes_buf *payload, const struct layout_sample *samples, size_t count);

#endif
