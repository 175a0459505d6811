/*
 * A flame graph as a picture: one SVG file that needs nothing beside it. What a box stands for is
 * its tooltip. In a browser it can be zoomed and searched (flame_svg.js); other viewers and those
 * that allow no scripts show the same picture.
 */
#ifndef EBPROF_FLAME_SVG_H
#define EBPROF_FLAME_SVG_H

#include "format/base/str.h"
#include "report/analyse/flame.h"
#include "report/write/export/flame_svg_diff.h"

struct flame_svg_options {
	const char *title; /* of foreign origin */
	const char *event; /* whose samples these are; NULL: that is not said */
	const char *note;  /* below the boxes; NULL: none */
	uint32_t root;     /* of the focus; its callers stand above it */
	enum flame_order order;
	const struct profile_object *objects;
	size_t nr_functions; /* of the focus */
	const struct profile_frame *frames;
	const bool *matches;               /* by function, these stand out; NULL: none */
	uint64_t whole;                    /* what percentages are of */
	const struct flame_svg_diff *diff; /* of the same focus; NULL: of one recording */
};

/* The same focus makes the same bytes. Expands it. */
void flame_svg_put(struct focus *focus, const struct flame_svg_options *options, struct str *out);

#endif
