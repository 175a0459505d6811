/* The terminal interface without a terminal: keys and the mouse go in, wishes are fulfilled at
 * once, text comes out. */
#ifndef EBPROF_REPORT_TUI_FIXTURE_H
#define EBPROF_REPORT_TUI_FIXTURE_H

#include "report/tui/app.h"
#include "tests/unit/report_export_fixture.h"

struct screen {
	struct profile *profile; /* owned */
	struct model_names *names;
	struct root_frames roots;
	struct app_options options;
	struct app app;
	unsigned fulfilled; /* serial of the newest wish */
	struct grid grid;   /* its cells are as a person saw them last */
	struct str text;    /* what was drawn last */
};

/* Takes over a symbolized profile. The first model is there; in ASCII, beginning with Top. */
void screen_init(struct screen *screen, struct profile *profile, int width, int height);
/* The same with options of the application, beginning in a view. */
void screen_init_with(struct screen *screen, struct profile *profile, int width, int height,
	struct app_options options, enum view_id view);
void screen_deinit(struct screen *screen);

/* Each a key; '\n' is Enter, '\x1b' Escape. */
void screen_type(struct screen *screen, const char *keys);
void screen_key(struct screen *screen, uint32_t key);
void screen_mouse(struct screen *screen, enum input_kind kind, int x, int y);
/* A new model by new names, as when symbols have come. */
void screen_rename(struct screen *screen);

/* The recording went on: takes over a newer state of it, as live.c does. */
void screen_renew(struct screen *screen, struct profile *profile);

/* A model of functions alone, as the first one is. */
void screen_flatten(struct screen *screen);

/* Draws it in another size. */
const char *screen_resize(struct screen *screen, int width, int height);
/* Draws. All of it, or `count` lines from line `first` on; valid until the next one. */
const char *screen_text(struct screen *screen);
const char *screen_lines(struct screen *screen, int first, int count);
/* Line `y` without its end. */
const char *screen_line(struct screen *screen, int y);
/* The line that is marked as selected in the view's body, -1: none. */
int screen_selected(struct screen *screen);
/* That of the first cell that shows `text` (ASCII). */
unsigned screen_style(struct screen *screen, const char *text);
unsigned screen_style_at(const struct screen *screen, int x, int y);

#endif
