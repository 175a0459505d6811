/*
 * Images of .NET in the memory of processes, open from one method to the next: to open one, to find
 * its PDB and to read what there is of it takes longer than all else that a name needs, and a short
 * program is gone meanwhile. In a reader's worker.
 */
#ifndef EBPROF_DOTNET_IMAGES_H
#define EBPROF_DOTNET_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/clr/clr_image.h"
#include "format/clr/clr_ready.h"
#include "record/host/clr_source.h"

/* Where an image is. */
struct dotnet_image_place {
	uint32_t pid;
	uint32_t size;     /* bytes */
	uint64_t start_ns; /* when the process began */
	uint64_t base;
	bool is_mapped; /* as in clr_image.h */
};

enum {
	DOTNET_IMAGE_HEAD_BYTES = 512, /* with the stamp that tells images apart */
};

struct dotnet_image {
	struct dotnet_image_place place;
	struct clr_image image;
	/* private: */
	uint8_t head[DOTNET_IMAGE_HEAD_BYTES];
	struct clr_bytes bytes;
	bool has_ready, has_looked_for_source, has_source;
	struct clr_ready ready;
	struct clr_source source;
};

struct dotnet_images;

struct dotnet_images *dotnet_images_create(void);
void dotnet_images_destroy(struct dotnet_images *images);
/* Good until the next call. NULL: it is none, or cannot be read. */
struct dotnet_image *dotnet_images_open(
	struct dotnet_images *images, const struct dotnet_image_place *place);
/* Which method each of its functions is of that were compiled ahead of time. */
const struct clr_ready *dotnet_image_ready(struct dotnet_image *image);
/* The PDB of the image: in it, beside its file, or where it was built. NULL: there is none. */
const struct clr_source *dotnet_image_source(struct dotnet_image *image);

#endif
