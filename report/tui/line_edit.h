/* Typing a line: a cursor in it, and what was typed before. */
#ifndef EBPROF_LINE_EDIT_H
#define EBPROF_LINE_EDIT_H

#include <stdbool.h>

#include "format/base/str.h"

struct line_edit {
	size_t behind;       /* bytes behind the cursor: 0 is its end, also after text was put */
	VEC(char *) history; /* the newest last */
	size_t back;         /* how far back in it; 0: what is typed now */
	char *draft;         /* what was, when going back; NULL: nothing */
};

/* Goes to the line's end, with nothing taken back. */
void line_edit_begin(struct line_edit *edit);
/* True when the key changed the text. Keys without a meaning here are ignored. */
bool line_edit_key(struct line_edit *edit, struct str *text, uint32_t key);
/* Puts the text into the history. */
void line_edit_remember(struct line_edit *edit, const char *text);
void line_edit_deinit(struct line_edit *edit);

#endif
