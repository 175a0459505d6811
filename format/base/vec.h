/*
 * Growable arrays of any type. `VEC(struct x) xs = {0};` is an empty one;
 * xs.data[i] for i < xs.len are its elements.
 */
#ifndef EBPROF_VEC_H
#define EBPROF_VEC_H

#include <stddef.h>
#include <string.h>

#include "format/base/mem.h"

#define VEC(type) \
	struct { \
		type *data; \
		size_t len, cap; \
	}

/* Makes room for `extra` more elements. */
#define vec_reserve(v, extra) \
	do { \
		size_t vec_need_ = (v)->len + (extra); \
		if (vec_need_ > (v)->cap) { \
			size_t vec_cap_ = (v)->cap ? (v)->cap * 2 : 8; \
			if (vec_cap_ < vec_need_) \
				vec_cap_ = vec_need_; \
			(v)->data = mem_realloc_array((v)->data, vec_cap_, sizeof(*(v)->data)); \
			(v)->cap = vec_cap_; \
		} \
	} while (0)

#define vec_push(v, ...) \
	do { \
		vec_reserve((v), 1); \
		(v)->data[(v)->len++] = (__VA_ARGS__); \
	} while (0)

/* Appends `count` elements that stand at `elements`. */
#define vec_append(v, elements, count) \
	do { \
		size_t vec_count_ = (count); \
		if (vec_count_) { \
			vec_reserve((v), vec_count_); \
			memcpy((v)->data + (v)->len, (elements), vec_count_ * sizeof(*(v)->data)); \
			(v)->len += vec_count_; \
		} \
	} while (0)

/* Grows with zeroed elements, or shrinks, to exactly `count`. */
#define vec_resize(v, count) \
	do { \
		size_t vec_len_ = (count); \
		if (vec_len_ > (v)->len) { \
			vec_reserve((v), vec_len_ - (v)->len); \
			memset((v)->data + (v)->len, 0, \
				(vec_len_ - (v)->len) * sizeof(*(v)->data)); \
		} \
		(v)->len = vec_len_; \
	} while (0)

/* An empty array has no memory, and NULL + 0 is undefined before C2y. */
#define vec_each(v, it) \
	for (__typeof__(*(v)->data) *it = (v)->data, \
				    *it##_end_ = (v)->len ? (v)->data + (v)->len : (v)->data; \
		it < it##_end_; it++)

#define vec_deinit(v) \
	do { \
		mem_free((v)->data); \
		(v)->data = NULL; \
		(v)->len = (v)->cap = 0; \
	} while (0)

#endif
